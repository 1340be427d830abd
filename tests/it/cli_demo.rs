//! Tests of `nub demo`: the real programs, a recorded model.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::cli_fake::Fake;
use crate::scratch::{Scratch, finish, source};

/// Without a home, a git identity or a place for configuration.
fn demo(scratch: &Scratch, args: &[&str]) -> Command {
    let mut command = scratch.nub("nub");
    for name in ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"] {
        command.env_remove(name);
    }
    command.env("TMPDIR", scratch.work()).arg("demo").args(args);
    command
}

fn folders(scratch: &Scratch) -> Vec<PathBuf> {
    fs::read_dir(scratch.work()).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn the_demo_ends_green_and_says_what_was_real() {
    let scratch = Scratch::new();
    let ran = finish(demo(&scratch, &[]), "");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
    for piece in ["FAILED  1900", "→ edit: leap.sh", "+1 -1", "ok      1900 no", "was a recording"] {
        assert!(ran.out.contains(piece), "{piece:?} is not in {}", ran.out);
    }
    let [base] = folders(&scratch).try_into().unwrap();
    let repo = base.join("leap");
    assert!(ran.out.contains(repo.to_str().unwrap()));
    let mut test = scratch.command("sh");
    test.arg("test.sh").current_dir(&repo);
    assert_eq!(finish(test, "").code, 0);
    let mut list = scratch.nub("nub");
    list.args(["session", "path", "-s", "latest"]).current_dir(&repo);
    let path = finish(list, "");
    assert_eq!(path.of("node").len(), 8, "{}", path.out);
}

/// Lines in an order of their own: calls of one answer end as they like.
fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn what_the_readme_shows_is_what_the_demo_says() {
    let scratch = Scratch::new();
    let said = finish(demo(&scratch, &[]), "").out;
    let [base] = folders(&scratch).try_into().unwrap();
    let said = said.replace(base.to_str().unwrap(), "/tmp/nub-demo-4242");
    let path = source().join("examples/demo/capture.txt");
    if std::env::var_os("NUB_BLESS").is_some() {
        fs::write(&path, &said).unwrap();
    }
    assert_eq!(sorted(&said), sorted(&fs::read_to_string(path).unwrap()));
}

#[test]
fn the_demo_cleans_up_when_asked() {
    let scratch = Scratch::new();
    assert_eq!(finish(demo(&scratch, &["--rm"]), "").code, 0);
    assert_eq!(folders(&scratch), Vec::<PathBuf>::new());
}

#[test]
fn the_demo_takes_no_notice_of_the_users_settings() {
    let scratch = Scratch::repo();
    scratch.config("nonsense = 1");
    let mut command = demo(&scratch, &["--rm"]);
    command.env("HOME", scratch.home()).env("XDG_CONFIG_HOME", scratch.home().join("config"));
    command.env("NUB_MODEL", "other").env("NUB_SESSION", "none").env("GIT_DIR", scratch.work().join(".git"));
    let ran = finish(command, "");
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
}

#[test]
fn a_demo_that_is_not_green_does_not_end_well() {
    let fake = Fake::new("nub-stream", "exit 1");
    let mut command = fake.nub(&["demo"]);
    command.env("TMPDIR", fake.scratch.work());
    let ran = finish(command, "");
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("the demo did not end well"), "{}", ran.err);
}
