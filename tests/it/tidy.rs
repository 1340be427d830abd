//! Properties of the source tree that must hold at every commit.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::scratch::{Scratch, source};

/// The longest source file, in lines. A table may be long: the ones that are say so here.
const LONGEST: usize = 400;
const TABLES: &[&str] = &["lib/nub-conf/src/schema.rs"];
/// The longest entry point, in lines.
const LONGEST_ENTRY: usize = 30;
/// nub-loop moves records and keeps limits, nothing else: its size, in lines without tests.
const LONGEST_LOOP: usize = 600;
/// Names that say nothing about what a file holds.
const EMPTY_NAMES: &[&str] = &["util", "utils", "helper", "helpers", "common", "misc", "manager"];
/// What every page has, in this order (mandoc's own).
const SECTIONS: &[&str] =
    &["NAME", "SYNOPSIS", "DESCRIPTION", "ENVIRONMENT", "FILES", "EXIT STATUS", "EXAMPLES", "SEE ALSO"];

fn files_below(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            found.extend(files_below(&path, extension));
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn sources() -> Vec<(String, String)> {
    let folders = ["bins", "lib", "tests/it", "tests/bench"];
    let paths = folders.iter().flat_map(|folder| files_below(&source().join(folder), "rs"));
    paths
        .map(|path| {
            let name = path.strip_prefix(source()).unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect()
}

fn programs() -> Vec<String> {
    let paths = files_below(&source().join("bins"), "rs");
    paths.iter().map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
}

fn page(name: &str) -> String {
    let path = source().join("man").join(name);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn check(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn files_are_small_and_say_what_they_are_for() {
    let mut faults = Vec::new();
    for (name, text) in sources() {
        let lines = text.lines().count();
        let limit = if name.starts_with("bins/") { LONGEST_ENTRY } else { LONGEST };
        if lines > limit && !TABLES.contains(&name.as_str()) {
            faults.push(format!("{name} has {lines} lines (at most {limit}): split it by noun"));
        }
        if !text.starts_with("//!") {
            faults.push(format!("{name} does not begin with a //! line that says what it is for"));
        }
        let stem = Path::new(&name).file_stem().unwrap().to_str().unwrap();
        if EMPTY_NAMES.contains(&stem) {
            faults.push(format!("{name} has a name that says nothing"));
        }
        if text.lines().any(|line| line != line.trim_end()) {
            faults.push(format!("{name} has blanks at a line's end"));
        }
        for mark in [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")] {
            if name.starts_with("lib/") && text.contains(mark) {
                faults.push(format!("{name} leaves something open ({mark})"));
            }
        }
    }
    check(&faults);
}

#[test]
fn the_loop_is_small() {
    let all = sources();
    let own =
        all.iter().filter(|(name, _)| name.starts_with("lib/nub-loop/src/") && !name.ends_with("tests.rs"));
    let lines: usize = own.map(|(_, text)| text.lines().count()).sum();
    assert!(lines <= LONGEST_LOOP, "nub-loop has {lines} lines, at most {LONGEST_LOOP}");
}

#[test]
fn every_test_file_is_listed() {
    let main = fs::read_to_string(source().join("tests/it/main.rs")).unwrap();
    for path in files_below(&source().join("tests/it"), "rs") {
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let listed = [format!("mod {stem};"), format!("mod r#{stem};")]
            .iter()
            .any(|line| main.contains(line.as_str()));
        let nested = path.parent().is_some_and(|p| !p.ends_with("it"));
        assert!(stem == "main" || nested || listed, "tests/it/{stem}.rs is not in main.rs: it never runs");
    }
}

#[test]
fn every_program_has_its_page_and_its_line_in_the_readme() {
    let readme = fs::read_to_string(source().join("README.md")).unwrap();
    let overview = page("nub.7");
    let mut faults = Vec::new();
    for program in programs() {
        let text = page(&format!("{program}.1"));
        let mut from = 0;
        for section in SECTIONS {
            match text[from..].find(&format!("\n.Sh {section}\n")) {
                Some(at) => from += at,
                None => {
                    faults.push(format!("man/{program}.1 lacks '.Sh {section}' (or has it out of order)"))
                }
            }
        }
        if !readme.contains(&format!("`{program}`")) {
            faults.push(format!("README.md does not name `{program}`"));
        }
        if !overview.contains(&format!("Xr {program} 1")) {
            faults.push(format!("man/nub.7 does not refer to {program}(1)"));
        }
    }
    check(&faults);
}

/// Every long option that a program's help prints stands in its page.
#[test]
fn options_stand_in_the_pages() {
    let scratch = Scratch::new();
    let mut faults = Vec::new();
    for program in programs() {
        let text = page(&format!("{program}.1")).replace("\\-", "-");
        let mut helps = vec![scratch.run(&program, &["--help"], "").out];
        let commands = subcommands(&helps[0]);
        helps.extend(
            commands.iter().map(|command| scratch.run(&program, &[command.as_str(), "--help"], "").out),
        );
        for word in helps.iter().flat_map(|help| help.split(|c: char| !(c.is_alphanumeric() || c == '-'))) {
            let flag = word.trim_start_matches('-');
            let forms = [format!("Fl -{flag}"), format!("Fl Fl {flag}"), format!("--{flag}")];
            let known = forms.iter().any(|form| text.contains(form.as_str()));
            if word.starts_with("--") && !flag.is_empty() && !known {
                faults.push(format!("man/{program}.1 does not describe --{flag}"));
            }
        }
    }
    faults.sort();
    faults.dedup();
    check(&faults);
}

/// The names under "Commands:" of a help text.
fn subcommands(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| !line.starts_with("Commands:")).skip(1);
    let names = lines.take_while(|line| line.starts_with("  ")).filter(|line| !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next().map(String::from)).collect()
}

/// The protocol's page names exactly the records that the code knows.
#[test]
fn the_protocol_page_names_every_record() {
    let text = page("nub-protocol.7");
    let named: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix(".It Cm ")).collect();
    for name in nub_proto::NAMES {
        assert!(named.contains(name), "man/nub-protocol.7 does not describe the record {name}");
    }
    for name in named {
        assert!(
            nub_proto::NAMES.contains(&name),
            "man/nub-protocol.7 describes {name}, which does not exist"
        );
    }
}

#[test]
fn pages_are_clean() {
    if Command::new("mandoc").arg("-V").output().is_err() {
        eprintln!("skipped: mandoc is not installed");
        return;
    }
    let mut faults = Vec::new();
    for entry in fs::read_dir(source().join("man")).unwrap() {
        let path = entry.unwrap().path();
        let output =
            Command::new("mandoc").args(["-T", "lint", "-W", "warning"]).arg(&path).output().unwrap();
        if !output.status.success() {
            faults.push(String::from_utf8_lossy(&output.stdout).into_owned());
        }
    }
    check(&faults);
}

/// Shell examples and fakes pass shellcheck where it is installed.
#[test]
fn shell_is_clean() {
    if Command::new("shellcheck").arg("--version").output().is_err() {
        eprintln!("skipped: shellcheck is not installed");
        return;
    }
    let scripts = ["examples", "tests/fake", "tests/real", ".ci"]
        .map(|folder| files_below(&source().join(folder), "sh"));
    let mut scripts = scripts.concat();
    scripts.push(source().join(".ci/run"));
    let output = Command::new("shellcheck").args(&scripts).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
