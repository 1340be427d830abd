//! nub-session and files that are no sessions, folders that lead out of a repository, and disks without room.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use serde_json::Value;

use crate::http::{Reply, Server};
use crate::scratch::{Ran, Scratch, finish};
use crate::session::{file, message, node, session, texts, write};
use crate::session_durable::mounting;

const SESSION: &str = r#"{"v":1,"type":"session","id":"01ARZ3NDEKTSV4RRFFQ69G5FAV","created_at":"2026-01-01T00:00:00Z","cwd":"/x"}"#;

#[test]
fn a_file_that_is_no_session_is_left_alone() {
    let scratch = Scratch::repo();
    let last = scratch.file("markdown", format!("# notes\n\nas in\n{SESSION}\nlast line, precious"));
    for (name, text) in [
        ("notes", "# my notes\nlast line without newline, precious"),
        ("one", "precious"),
        ("json", "{\"a\":1}\n{\"b\":"),
        ("other", "{\"v\":1,\"type\":\"request\",\"messages\":[]}\n{\"v\":1"),
        ("blank", "\n\n  "),
    ] {
        let path = scratch.file(name, text);
        for args in [
            &["append", "--user", "x"][..],
            &["append"],
            &["path"],
            &["tree"],
            &["check"],
            &["check", "--repair"],
            &["branch", "root"],
            &["export"],
        ] {
            let ran =
                session(&scratch, &[&["-s", path.to_str().unwrap()], args].concat(), message("user", "y"));
            assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{name} {args:?}: {}", ran.err);
            assert!(ran.err.contains("is no session file"), "{}", ran.err);
        }
        assert_eq!(session(&scratch, &["rm", path.to_str().unwrap()], "").code, 2);
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    let ran = session(&scratch, &["-s", last.to_str().unwrap(), "append", "--user", "x"], "");
    assert_eq!(ran.code, 2, "a session somewhere inside makes it none");
    assert!(fs::read_to_string(&last).unwrap().ends_with("precious"));
    assert_eq!(session(&scratch, &["-s", "/etc/passwd", "path"], "").code, 2);
}

#[test]
fn a_new_path_gets_its_session_line_with_the_first_message() {
    let scratch = Scratch::repo();
    let path = scratch.work().join("a.jsonl");
    assert_eq!(session(&scratch, &["-s", "a.jsonl", "append"], "").code, 0);
    assert!(!path.exists(), "nothing was said");
    assert_eq!(session(&scratch, &["-s", "a.jsonl", "append", "--user", "hi"], "").code, 0);
    let first: Value =
        serde_json::from_str(fs::read_to_string(&path).unwrap().lines().next().unwrap()).unwrap();
    assert_eq!(first["type"], "session");
    assert!(!scratch.work().join(".nub").exists(), "the folder is not needed");
    // a first line that was torn, and an empty file, are the beginnings of sessions
    for text in ["", "{\"v\":1,\"type\":\"sess"] {
        fs::write(&path, text).unwrap();
        assert_eq!(session(&scratch, &["-s", "a.jsonl", "append", "--user", "hi"], "").code, 0);
        assert_eq!(texts(&session(&scratch, &["-s", "a.jsonl", "path"], "")), ["hi"]);
    }
}

/// What a repository brings never leads out of it.
#[test]
fn links_below_dot_nub_are_refused() {
    let said = message("user", "secret");
    for link in [".nub", ".nub/sessions"] {
        let scratch = Scratch::repo();
        let out = scratch.home().join("out");
        fs::create_dir_all(out.join("sessions")).unwrap();
        let theirs = out.join("sessions/01ARZ3NDEKTSV4RRFFQ69G5FAV.jsonl");
        fs::write(&theirs, format!("{SESSION}\n")).unwrap();
        fs::write(out.join("01ARZ3NDEKTSV4RRFFQ69G5FAV.jsonl"), format!("{SESSION}\n")).unwrap();
        if link != ".nub" {
            fs::create_dir(scratch.work().join(".nub")).unwrap();
        }
        symlink(&out, scratch.work().join(link)).unwrap();
        for args in [&["append"][..], &["append", "--new"], &["append", "-s", "01ARZ3"], &["new"]] {
            let ran = session(&scratch, args, &said);
            assert_eq!(ran.code, 1, "{link} {args:?}: {}", ran.out);
            assert!(ran.err.contains("it is a link"), "{link}: {}", ran.err);
        }
        assert_eq!(fs::read_dir(out.join("sessions")).unwrap().count(), 1);
        assert_eq!(fs::read_to_string(theirs).unwrap(), format!("{SESSION}\n"));
    }
    let scratch = Scratch::repo();
    let out = scratch.home().join("out");
    fs::write(&out, format!("{SESSION}\n")).unwrap();
    fs::create_dir_all(scratch.work().join(".nub/sessions")).unwrap();
    symlink(&out, scratch.work().join(".nub/sessions/01ARZ3NDEKTSV4RRFFQ69G5FAV.jsonl")).unwrap();
    let ran = session(&scratch, &["append", "-s", "01ARZ3"], &said);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("is a link"), "{}", ran.err);
    assert_eq!(fs::read_to_string(out).unwrap(), format!("{SESSION}\n"));
}

#[test]
fn damage_is_told_once_also_to_those_who_read_records() {
    let scratch = Scratch::repo();
    write(&scratch, &[SESSION.into(), node("A", ""), "what?".into(), node("B", "A")]);
    let ran = session(&scratch, &["append", "--announce"], message("user", "more"));
    assert_eq!(ran.err.matches("nub-session check says more").count(), 1, "{}", ran.err);
    assert!(ran.of("warning").is_empty());
    let mut command = scratch.nub("nub-session");
    command.args(["append", "--announce"]).env("NUB_COPROCESS", "1");
    let ran = finish(command, message("user", "more"));
    let kinds: Vec<Value> = ran.records().iter().map(|record| record["type"].clone()).collect();
    assert_eq!((kinds, ran.err.as_str()), (vec!["session".into(), "warning".into(), "node".into()], ""));
    assert_eq!(texts(&session(&scratch, &["path"], "")), ["A", "B", "more", "more"]);
}

/// The messages in the rescue file that a failure names.
fn rescued(ran: &Ran) -> Vec<String> {
    let path = ran.err.split('\'').find(|word| word.contains("/rescue/")).map(PathBuf::from).unwrap();
    let text = fs::read_to_string(path).unwrap();
    let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let texts =
        records.filter_map(|record| record["message"]["content"][0]["text"].as_str().map(str::to_owned));
    texts.collect()
}

#[test]
fn everything_that_cannot_be_stored_is_rescued_to_the_end() {
    let input =
        [message("user", &"z".repeat(3 << 20)), message("assistant", "two"), message("user", "three")]
            .concat();
    let scratch = Scratch::repo();
    session(&scratch, &["append", "--user", "before"], "");
    let mut command = scratch.command("sh");
    command.args(["-c", "ulimit -f 4000; exec nub-session append"]);
    let ran = finish(command, &input);
    assert_eq!((ran.code, ran.of("error").len(), ran.of("node").len()), (1, 3, 0), "{}", ran.err);
    assert!(ran.err.contains("not all of it"), "one file more is no larger: {}", ran.err);
    assert_eq!(rescued(&ran), ["two", "three"]);
    assert_eq!(texts(&session(&scratch, &["path"], "")), ["before"]);
    let scratch = Scratch::repo();
    scratch.file(".nub", "a file");
    let ran = session(&scratch, &["append"], [message("user", "one"), message("assistant", "two")].concat());
    assert_eq!((ran.code, ran.of("error").len()), (1, 2), "{}", ran.err);
    assert_eq!(rescued(&ran), ["one", "two"]);
}

#[test]
fn a_full_disk_leaves_no_empty_session() {
    let scratch = Scratch::repo();
    fs::create_dir_all(scratch.work().join(".nub/sessions")).unwrap();
    fs::create_dir_all(scratch.work().join("full")).unwrap();
    let script = "mount -t tmpfs -o size=16k,mode=700 none .nub/sessions
        head -c 65536 /dev/zero >.nub/sessions/fill 2>/dev/null
        nub-session append --user one >out; echo $? >code
        ls .nub/sessions; nub-session list";
    let Some(command) = mounting(&scratch, script) else { return };
    let ran = finish(command, "");
    assert_eq!((scratch.read("code").as_str(), ran.out.as_str()), ("1\n", "fill\n"), "{}", ran.err);
    assert_eq!(rescued(&ran), ["one"]);
    scratch.file(".nub/sessions/01ARZ3NDEKTSV4RRFFQ69G5FAV.jsonl", "");
    assert_eq!(session(&scratch, &["list"], "").out, "");
    session(&scratch, &["append", "--user", "x"], "");
    assert_eq!(session(&scratch, &["list"], "").records().len(), 1);
    fs::remove_file(scratch.work().join(".nub/sessions/01ARZ3NDEKTSV4RRFFQ69G5FAV.jsonl")).unwrap();
    assert!(file(&scratch).exists());
}

/// The result says so whenever the disk said no: also when the model had answered long before.
#[test]
fn a_run_on_a_full_disk_fails_and_nothing_of_it_is_lost() {
    let server = Server::start(vec![Reply::text("an answer"); 4]);
    let scratch = Scratch::repo();
    scratch.endpoint(&server.url, "retries = 0");
    fs::create_dir_all(scratch.work().join("full")).unwrap();
    let script = "mount -t tmpfs -o size=64k none full; cd full; mkdir .git; echo 'ref: refs/heads/main' >.git/HEAD
        mkdir .git/objects .git/refs; head -c 70000 /dev/zero >fill 2>/dev/null
        for i in 1 2 3 4; do nub -p --mode json \"prompt $i\" </dev/null; echo \"{\\\"code\\\":$?}\"; done; ls -A .nub/sessions >&2";
    let Some(command) = mounting(&scratch, script) else { return };
    let ran = finish(command, "");
    let codes: Vec<Value> = ran.records().into_iter().filter(|record| record["code"].is_u64()).collect();
    assert!(codes.iter().all(|record| record["code"] == 1) && codes.len() == 4, "{codes:?}\n{}", ran.err);
    let results = ran.of("result");
    assert!(results.iter().all(|result| result["exit"] == 1 && result["stop"] == "error"), "{results:#?}");
    assert!(!ran.err.contains(".jsonl\n"), "no empty session: {}", ran.err);
    let said: Vec<Value> = ran.of("message").iter().map(|record| record["message"].clone()).collect();
    let rescue = fs::read_dir(scratch.home().join("state/nub/rescue")).unwrap();
    let kept: String = rescue.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap()).collect();
    let kept: Vec<Value> =
        kept.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["message"].clone()).collect();
    assert!(said.len() >= 4 && said.iter().all(|message| kept.contains(message)), "{said:#?}\n{kept:#?}");
}
