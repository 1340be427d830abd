//! Runs `tests/cases/TOOL/NAME/`: `cmd` is a shell line, `in` its input; `out`, `err` and `code` are what
//! must come. Adding a test is adding a folder; `NUB_BLESS=1` writes what came: read the diff.

use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

use crate::scratch::{Scratch, finish, source};

/// What differs from run to run, and what stands for it in the expectations.
const VOLATILE: &[(&str, &str)] = &[
    (r"\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b", "ULID"),
    (r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z\b", "TIME"),
    (r#""duration_ms":\d+"#, r#""duration_ms":0"#),
];

fn steady(text: &str, scratch: &Scratch) -> String {
    let text = text
        .replace(scratch.work().to_str().unwrap(), "$WORK")
        .replace(scratch.home().to_str().unwrap(), "$HOME");
    VOLATILE.iter().fold(text, |text, (pattern, name)| {
        Regex::new(pattern).unwrap().replace_all(&text, *name).into_owned()
    })
}

fn cases() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(source().join("tests/cases"))
        .into_iter()
        .flatten()
        .flat_map(|tool| fs::read_dir(tool.unwrap().path()).unwrap())
        .map(|case| case.unwrap().path())
        .collect();
    found.sort();
    found
}

fn expect(case: &Path, name: &str, came: &str, faults: &mut Vec<String>) {
    let path = case.join(name);
    let wanted = fs::read_to_string(&path).unwrap_or_default();
    if wanted == came {
        return;
    }
    if std::env::var_os("NUB_BLESS").is_some() {
        fs::write(&path, came).unwrap();
        return;
    }
    faults.push(format!("{}\n--- expected\n{wanted}--- got\n{came}", path.display()));
}

#[test]
fn every_case_gives_what_it_gave() {
    let cases = cases();
    assert!(!cases.is_empty(), "tests/cases is empty");
    let mut faults = Vec::new();
    for case in cases {
        let scratch = Scratch::repo();
        let mut command = scratch.command("sh");
        command.arg("-c").arg(fs::read_to_string(case.join("cmd")).unwrap());
        let ran = finish(command, fs::read(case.join("in")).unwrap_or_default());
        expect(&case, "out", &steady(&ran.out, &scratch), &mut faults);
        expect(&case, "err", &steady(&ran.err, &scratch), &mut faults);
        expect(
            &case,
            "code",
            &if ran.code == 0 { String::new() } else { format!("{}\n", ran.code) },
            &mut faults,
        );
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}
