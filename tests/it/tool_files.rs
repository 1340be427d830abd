//! The file tools of nub-tool: whole turns, accidents, limits.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::live::{Live, message};
use crate::scratch::{Ran, Scratch, bin_folder, finish};

fn call(scratch: &Scratch, tool: &str, arguments: &Value) -> Ran {
    scratch.run("nub-tool", &["call", tool, "-", "--format", "text"], arguments.to_string())
}

fn text(result: &Value) -> &str {
    result["result"][0]["text"].as_str().unwrap()
}

#[test]
fn a_turn_of_reads_and_edits() {
    let scratch = Scratch::repo();
    scratch.file("src/calc.py", "def add(a, b):\n    return a - b\n");
    scratch.file(".gitignore", "*.pyc\n");
    scratch.file("junk.pyc", "add");
    let calls = [
        ("glob", json!({ "pattern": "**/*.py*" })),
        ("grep", json!({ "pattern": "return", "path": null, "ignore_case": "false" })),
        ("read", json!({ "file_path": scratch.work().join("src/calc.py") })),
        ("edit", json!({ "path": "src/calc.py", "old": "a - b", "new": "a + b" })),
        ("write", json!({ "path": "doc/new.md", "content": "# new\n" })),
        ("read", json!({ "path": "../outside" })),
    ];
    let ran = scratch.run("nub-tool", &["run"], format!("{}\n", message(&calls)));
    assert_eq!(ran.code, 0, "{}", ran.err);
    let answers = &ran.of("message")[1]["message"]["content"];
    let said: Vec<&str> = answers.as_array().unwrap().iter().map(text).collect();
    assert_eq!(said[..2], ["src/calc.py", "src/calc.py:2:    return a - b"]);
    assert_eq!(said[2], "1\tdef add(a, b):\n2\t    return a - b");
    assert_eq!(said[3..5], ["wrote 'src/calc.py' (+1 -1 lines)", "created 'doc/new.md' (1 line)"]);
    assert!(said[5].contains("outside the repo"), "{}", said[5]);
    assert_eq!(scratch.read("src/calc.py"), "def add(a, b):\n    return a + b\n");
    let kinds: Vec<_> = ran.of("tool_end").iter().map(|end| end["ui"]["kind"].clone()).collect();
    for kind in ["paths", "matches", "file", "diff"] {
        assert!(kinds.contains(&json!(kind)), "{kinds:?}");
    }
}

#[test]
fn edits_of_one_message_all_land() {
    let scratch = Scratch::repo();
    let mut live = Live::start(&scratch);
    for round in 0..20 {
        scratch.file("f", (0..8).map(|n| format!("slot{n}\n")).collect::<String>());
        live.send(&message(&[("read", json!({ "path": "f" }))]));
        live.results();
        let edit =
            |n| ("edit", json!({ "path": "f", "old": format!("slot{n}\n"), "new": format!("done{n}\n") }));
        live.send(&message(&(0..8).map(edit).collect::<Vec<_>>()));
        assert!(live.results().iter().all(|result| result["is_error"] != true));
        let expected: String = (0..8).map(|n| format!("done{n}\n")).collect();
        assert_eq!(scratch.read("f"), expected, "round {round}");
    }
    assert_eq!(live.end(), 0);
}

#[test]
fn what_the_user_saved_meanwhile_survives() {
    let scratch = Scratch::repo();
    scratch.file("f", "old\n");
    let mut live = Live::start(&scratch);
    live.send(&message(&[("read", json!({ "path": "f" }))]));
    live.results();
    scratch.file("f", "the user's\n");
    for call in [
        ("write", json!({ "path": "f", "content": "mine\n" })),
        ("edit", json!({ "path": "f", "old": "user", "new": "model" })),
    ] {
        live.send(&message(std::slice::from_ref(&call)));
        let result = live.results().remove(0);
        if call.0 == "write" {
            assert!(
                text(&result).contains("changed on disk") && text(&result).contains("the user's"),
                "{result}"
            );
            assert_eq!(scratch.read("f"), "the user's\n");
        } else {
            // the model has been shown what is there now
            assert_eq!(scratch.read("f"), "the model's\n");
        }
    }
    assert_eq!(live.end(), 0);
}

/// Killed at whatever point: the file is old or new, and what was left is gone after the next write.
#[test]
fn a_killed_write_leaves_the_old_file_or_the_new_one() {
    let scratch = Scratch::repo();
    let (old, new) = ("old\n".repeat(1 << 16), "new line\n".repeat(1 << 18));
    let input = json!({ "path": "d/f", "content": new }).to_string();
    let mut killed_in_work = 0;
    for round in 0..16_u64 {
        scratch.file("d/f", &old);
        let mut command = scratch.nub("nub-tool");
        command
            .args(["call", "write", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        drop(std::io::Write::write_all(&mut stdin, input.as_bytes()));
        drop(stdin);
        let enough = round * new.len() as u64 / 14;
        while child.try_wait().unwrap().is_none() {
            if temporary(&scratch.work().join("d")).is_some_and(|size| size >= enough) {
                child.kill().unwrap();
                killed_in_work += 1;
                break;
            }
        }
        child.wait().unwrap();
        let now = scratch.read("d/f");
        assert!(now == old || now == new, "round {round}: {} bytes", now.len());
    }
    assert!(killed_in_work > 0, "no write was ever caught");
    assert_eq!(call(&scratch, "write", &json!({ "path": "d/f", "content": "last" })).code, 0);
    assert_eq!(fs::read_dir(scratch.work().join("d")).unwrap().count(), 1);
}

/// Size of the temporary file in a folder, while there is one.
fn temporary(folder: &Path) -> Option<u64> {
    let entries = fs::read_dir(folder).ok()?.filter_map(Result::ok);
    let mut temporary =
        entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(".nub-write-"));
    temporary.next()?.metadata().ok().map(|data| data.len())
}

#[test]
fn a_full_disk_leaves_the_old_file() {
    let scratch = Scratch::repo();
    let script = format!(
        "mount -t tmpfs -o size=64k none full && printf old > full/f && printf '%s' '{}' | {} call write - ; \
         echo; cat full/f; ls -A full",
        json!({ "path": "full/f", "content": "x".repeat(90_000) }),
        bin_folder().join("nub-tool").display(),
    );
    fs::create_dir(scratch.work().join("full")).unwrap();
    let mut command = scratch.command("unshare");
    command.args(["-Urm", "sh", "-c", "mount -t tmpfs none full"]);
    if finish(command, "").code != 0 {
        return; // no user namespaces here
    }
    let mut command = scratch.command("unshare");
    command.args(["-Urm", "sh", "-s"]);
    let ran = finish(command, script);
    assert!(ran.out.contains("no space left on device"), "{ran:?}");
    assert!(ran.out.ends_with("\noldf\n"), "{ran:?}");
}

#[test]
fn large_things_take_little_memory() {
    let scratch = Scratch::repo();
    let huge = scratch.file("huge", "line\n".repeat(10_000));
    fs::File::options().write(true).open(huge).unwrap().set_len(30 << 30).unwrap();
    scratch.file("flat", "x".repeat(80 << 20));
    scratch.file("bomb.txt", "a".repeat(1 << 20));
    for (tool, arguments, expected) in [
        ("read", json!({ "path": "huge" }), "go on with offset=2001"),
        ("read", json!({ "path": "flat" }), "more bytes]"),
        ("grep", json!({ "pattern": "y$" }), "could not be searched"),
        (
            "edit",
            json!({ "path": "bomb.txt", "old": "a", "new": "b".repeat(100_000), "replace_all": true }),
            "larger",
        ),
        ("edit", json!({ "path": "huge", "old": "a", "new": "b" }), "larger"),
        ("grep", json!({ "pattern": "(((a{900}){900}){900})" }), "no valid regular expression"),
        ("write", json!({ "path": "flat", "content": "small" }), "wrote 'flat'"),
    ] {
        let mut command = scratch.command("sh");
        let program = bin_folder().join("nub-tool");
        command.args([
            "-c",
            &format!("ulimit -v 700000; exec {} call {tool} - --format text", program.display()),
        ]);
        let ran = finish(command, arguments.to_string());
        assert!((ran.out.clone() + &ran.err).contains(expected), "{tool}: {ran:?}");
    }
}

/// Whatever the arguments are: one result each, no panic, and the program lives on.
#[test]
fn wrong_arguments_are_answered() {
    let scratch = Scratch::repo();
    scratch.file("a", "text\n");
    let odd = [
        json!(null),
        json!(true),
        json!(-1),
        json!(0),
        json!(1e300),
        json!(u64::MAX),
        json!(""),
        json!("a"),
        json!("."),
        json!("\0"),
        json!("a\u{fffd}\n"),
        json!([]),
        json!(["a"]),
        json!({}),
        json!("x".repeat(70_000)),
        json!("1"),
        json!("**"),
        json!("["),
        json!("(?P<"),
        json!("{a,"),
        json!("\\"),
    ];
    let names = [
        "path",
        "offset",
        "limit",
        "content",
        "old",
        "new",
        "replace_all",
        "pattern",
        "glob",
        "context",
        "more",
    ];
    let mut live = Live::start(&scratch);
    let mut seed = 1_usize;
    for tool in ["read", "write", "edit", "glob", "grep"] {
        for _ in 0..60 {
            let mut arguments = serde_json::Map::new();
            for name in names {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                if !(seed >> 33).is_multiple_of(3) {
                    arguments.insert(name.into(), odd[(seed >> 40) % odd.len()].clone());
                }
            }
            live.send(&message(&[(tool, Value::Object(arguments.clone()))]));
            assert_eq!(live.results().len(), 1, "{tool} {arguments:?}");
        }
    }
    assert_eq!(live.end(), 0);
}

#[test]
fn a_file_of_another_mode_keeps_it_under_any_umask() {
    let scratch = Scratch::repo();
    for umask in ["000", "022", "077"] {
        scratch.file("f", "old\n");
        fs::set_permissions(scratch.work().join("f"), fs::Permissions::from_mode(0o754)).unwrap();
        let program = bin_folder().join("nub-tool");
        let mut command = scratch.command("sh");
        command.args(["-c", &format!("umask {umask}; {0} call edit -; echo '{{\"path\":\"n{umask}\",\"content\":\"\"}}' | {0} call write -", program.display())]);
        let ran = finish(command, json!({ "path": "f", "old": "old", "new": umask }).to_string());
        assert_eq!(ran.code, 0, "{ran:?}");
        let mode =
            |name: &str| fs::metadata(scratch.work().join(name)).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode("f"), 0o754);
        assert_eq!(mode(&format!("n{umask}")), 0o666 & !u32::from_str_radix(umask, 8).unwrap());
    }
}

#[test]
fn edits_of_several_processes_all_land() {
    let scratch = Scratch::repo();
    for round in 0..5 {
        scratch.file("f", (0..6).map(|n| format!("slot{n}\n")).collect::<String>());
        std::thread::scope(|scope| {
            for n in 0..6 {
                let edit = json!({ "path": "f", "old": format!("slot{n}\n"), "new": format!("done{n}\n") });
                let scratch = &scratch;
                scope.spawn(move || assert_eq!(call(scratch, "edit", &edit).code, 0));
            }
        });
        let expected: String = (0..6).map(|n| format!("done{n}\n")).collect();
        assert_eq!(scratch.read("f"), expected, "round {round}");
    }
}

#[test]
fn a_limit_of_file_sizes_is_an_error() {
    let scratch = Scratch::repo();
    scratch.file("f", "old");
    let mut command = scratch.command("sh");
    let program = bin_folder().join("nub-tool");
    command.args(["-c", &format!("ulimit -f 10; exec {} call write - --format text", program.display())]);
    let ran = finish(command, json!({ "path": "f", "content": "x".repeat(100_000) }).to_string());
    assert!((ran.out + &ran.err).contains("file too large"));
    assert_eq!(scratch.read("f"), "old");
    assert_eq!(fs::read_dir(scratch.work()).unwrap().count(), 2, "a temporary file is left");
}
