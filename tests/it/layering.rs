//! Who may depend on whom. Cargo proves that a crate cannot name what its manifest lacks; this test
//! reads the manifests and compares them with the table of ARCHITECTURE.md.

use std::process::Command;

use serde_json::Value;

use crate::scratch::source;

/// The bottom: crates that know no program.
const BOTTOM: &[&str] = &["nub-proto", "nub-sys", "nub-conf", "nub-tokens", "nub-render"];

/// What each crate may use of ours.
const MAY: &[(&str, &[&str])] = &[
    ("nub-proto", &[]),
    ("nub-sys", &[]),
    ("nub-conf", &[]),
    ("nub-tokens", &["nub-proto"]),
    ("nub-render", &["nub-proto"]),
    ("nub-ctx", &["nub-proto", "nub-sys", "nub-conf", "nub-tokens"]),
    ("nub-stream", &["nub-proto", "nub-sys", "nub-conf", "nub-tokens"]),
    ("nub-tool", &["nub-proto", "nub-sys", "nub-conf", "nub-tokens"]),
    ("nub-session", &["nub-proto", "nub-sys", "nub-conf", "nub-tokens", "nub-render"]),
    ("nub-loop", &["nub-proto", "nub-sys", "nub-conf", "nub-tokens"]),
    ("nub-porcelain", &["nub-proto", "nub-sys", "nub-conf", "nub-render"]),
];

/// Crates from elsewhere that only these of ours may use.
const ONLY: &[(&str, &[&str])] = &[
    ("ureq", &["nub-stream"]),
    ("toml", &["nub-conf"]),
    ("rustix", &["nub-sys", "nub-conf", "nub-tool", "nub-session"]),
    ("signal-hook", &["nub-sys"]),
    ("tokio", &[]),
    ("rmcp", &[]),
    ("tree-sitter", &["nub-map"]),
    ("ulid", &["nub-session", "nub-stream", "nub-loop"]),
];

/// The packages of the workspace: name and direct dependencies that end up in a program.
fn packages() -> Vec<(String, Vec<String>)> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(source())
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let name = |value: &Value| value["name"].as_str().unwrap().to_owned();
    let direct = |package: &Value| {
        let all = package["dependencies"].as_array().unwrap().iter();
        all.filter(|dependency| dependency["kind"].is_null()).map(name).collect()
    };
    metadata["packages"].as_array().unwrap().iter().map(|package| (name(package), direct(package))).collect()
}

#[test]
fn crates_know_only_what_the_table_allows() {
    let mut faults = Vec::new();
    for (package, dependencies) in packages().iter().filter(|(name, _)| name != "nub") {
        let Some((_, may)) = MAY.iter().find(|(name, _)| name == package) else {
            faults.push(format!("{package} is not in the table of layers"));
            continue;
        };
        for dependency in dependencies.iter().filter(|name| name.starts_with("nub-")) {
            if !may.contains(&dependency.as_str()) {
                faults.push(format!("{package} must not depend on {dependency}"));
            }
        }
        for (foreign, owners) in ONLY {
            if dependencies.iter().any(|name| name == foreign) && !owners.contains(&package.as_str()) {
                faults.push(format!("{package} must not use {foreign}: it belongs to {owners:?}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_root_names_programs_only() {
    let packages = packages();
    let (_, dependencies) = packages.iter().find(|(name, _)| name == "nub").unwrap();
    for dependency in dependencies {
        assert!(
            !BOTTOM.contains(&dependency.as_str()),
            "bins/ must not reach past a program into {dependency}"
        );
    }
}

/// Each file of bins/ calls the one library of its program.
#[test]
fn an_entry_point_calls_its_library() {
    for entry in std::fs::read_dir(source().join("bins")).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let library = if stem == "nub" { "nub_porcelain".into() } else { stem.replace('-', "_") };
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(
            text.contains(&format!("{library}::main(")),
            "{} does not call {library}::main",
            path.display()
        );
    }
}

/// The symbols of a program hold nothing of what it must not link.
#[test]
fn programs_link_what_they_own() {
    for (program, foreign) in
        [("nub-ctx", "ureq"), ("nub-loop", "ureq"), ("nub-session", "rustls"), ("nub", "ureq")]
    {
        let mut walk = vec![program.to_owned()];
        let mut seen = Vec::new();
        let packages = packages();
        while let Some(name) = walk.pop() {
            let library = if name == "nub" { "nub-porcelain".to_owned() } else { name };
            if let Some((_, dependencies)) = packages.iter().find(|(package, _)| *package == library) {
                walk.extend(dependencies.iter().filter(|d| d.starts_with("nub-")).cloned());
                seen.extend(dependencies.clone());
            }
        }
        assert!(!seen.iter().any(|name| name == foreign), "{program} links {foreign}");
    }
}
