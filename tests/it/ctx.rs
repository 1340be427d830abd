//! Tests of nub-ctx, from outside. Its tools come from a fake nub-tool, so that they stand still.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::scratch::{Ran, Scratch, finish};

const READ: &str = r#"{"v":1,"type":"tool","name":"read","description":"Read","schema":{"type":"object", "b":1,"a":2},"source":"builtin","tokens":9}"#;
const BASH: &str = r#"{"v":1,"type":"tool","name":"bash","description":"Run","schema":{"type":"object"},"source":"builtin","tokens":9}"#;

/// A repository with a nub-tool that lists two tools.
pub fn repo() -> Scratch {
    let scratch = Scratch::repo();
    fake_tool(&scratch, &format!("cat <<'END'\n{READ}\n{BASH}\nEND\n"));
    scratch
}

fn fake_tool(scratch: &Scratch, script: &str) {
    let path = scratch.home().join("exec/nub-tool");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, format!("#!/bin/sh\n{script}")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

pub fn ctx(scratch: &Scratch, args: &[&str], input: impl AsRef<[u8]>) -> Ran {
    let mut command = scratch.nub("nub-ctx");
    command.args(args).env("NUB_EXEC_PATH", scratch.home().join("exec"));
    finish(command, input)
}

pub fn request(ran: &Ran) -> Value {
    assert_eq!(ran.code, 0, "{}", ran.err);
    let [request] = &ran.of("request")[..] else { panic!("no single request: {}", ran.out) };
    request.clone()
}

/// The text of the user's last message.
fn said(ran: &Ran) -> String {
    let request = request(ran);
    let last = request["messages"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["role"], "user");
    last["content"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn a_prompt_becomes_a_context_and_a_request() {
    let scratch = repo();
    scratch.endpoint("http://127.0.0.1:9/v1", "");
    let ran = ctx(&scratch, &["fix", "the bug", "--max-tokens", "9", "--temperature", "0.5"], "");
    let kinds: Vec<_> = ran.records().iter().map(|r| r["type"].as_str().unwrap().to_owned()).collect();
    assert_eq!(kinds, ["context", "request"]);
    let asked = request(&ran);
    assert_eq!(
        asked["messages"].to_string(),
        r#"[{"content":[{"kind":"text","text":"fix the bug"}],"role":"user"}]"#
    );
    assert_eq!((&asked["model"], &asked["endpoint"]), (&"m-1".into(), &"mock".into()));
    assert_eq!((&asked["max_tokens"], &asked["temperature"]), (&9.into(), &0.5.into()));
    let context = &ran.of("context")[0];
    assert_eq!(
        (&context["id"], &context["system"], &context["tools"]),
        (&asked["context"], &asked["system"], &asked["tools"])
    );
    let system = asked["system"].as_array().unwrap();
    assert!(system.last().unwrap()["cache_mark"] == true && system[0].get("cache_mark").is_none());
    // schemas keep their bytes
    assert!(ran.out.contains(r#""schema":{"type":"object", "b":1,"a":2}"#));
}

#[test]
fn nothing_configured_leaves_the_choice_to_the_stream() {
    let asked = request(&ctx(&repo(), &["hi"], ""));
    assert!(asked.get("model").is_none() && asked.get("endpoint").is_none());
}

#[test]
fn equal_inputs_give_equal_bytes() {
    let scratch = repo();
    scratch.file("AGENTS.md", "be nice");
    let first = ctx(&scratch, &["hi"], "");
    let mut command = scratch.nub("nub-ctx");
    command.arg("hi").env("NUB_EXEC_PATH", scratch.home().join("exec"));
    command.env("TZ", "Asia/Tokyo").env("LANG", "tr_TR.UTF-8").env("COLUMNS", "20").env("USER", "x");
    assert_eq!(finish(command, "").out, first.out);
    scratch.file("AGENTS.md", "be nicer");
    assert_ne!(ctx(&scratch, &["hi"], "").of("context")[0]["id"], first.of("context")[0]["id"]);
}

#[test]
fn text_is_attached_in_a_fence_it_cannot_close() {
    let scratch = repo();
    assert_eq!(said(&ctx(&scratch, &["why?"], "a\n````\nb")), "why?\n\n`````\na\n````\nb\n`````");
    assert_eq!(said(&ctx(&scratch, &[], "only text\n")), "```\nonly text\n```");
    // JSON that is no record is text
    assert!(said(&ctx(&scratch, &["q"], "{\"a\":1}\n")).contains("{\"a\":1}"));
    assert!(
        said(&ctx(&scratch, &["q", "--stdin", "text"], format!("{READ}\n"))).contains("\"name\":\"read\"")
    );
    assert_eq!(said(&ctx(&scratch, &["q", "--stdin", "none"], "not read")), "q");
    assert_eq!(said(&ctx(&scratch, &["q"], "  \n\n")), "q");
    assert_eq!(said(&ctx(&scratch, &["q"], b"caf\xe9")), "q\n\n```\ncaf\u{FFFD}\n```");
}

#[test]
fn files_are_attached_by_what_they_are() {
    let scratch = repo();
    scratch.file("a.rs", "fn a() {}\n");
    scratch.file("p.dat", b"\x89PNG\r\n\x1a\n123");
    scratch.file("b.bin", b"a\0b");
    scratch.file("bad\nname", "x");
    let ran = ctx(&scratch, &["q", "-f", "a.rs", "-f", "p.dat", "-f", "bad\nname", "-f", "-"], "piped");
    assert_eq!(
        said(&ran),
        "q\n\na.rs:\n```\nfn a() {}\n```\n\nbad\u{FFFD}name:\n```\nx\n```\n\n```\npiped\n```"
    );
    let picture = &request(&ran)["messages"][0]["content"][1];
    assert_eq!(
        (&picture["kind"], &picture["media_type"], &picture["data"]),
        (&"image".into(), &"image/png".into(), &"iVBORw0KGgoxMjM=".into())
    );
    for (args, reason) in [
        (&["-f", "b.bin"][..], "cannot attach 'b.bin': it is binary"),
        (&["-f", "none.txt"], "cannot read 'none.txt': No such file"),
        (&["-f", "."], "cannot read '.': Is a directory"),
        (&["-f", "/dev/zero"], "cannot read '/dev/zero': it is larger than 16 MiB"),
        (&["-f", "-", "-f", "-"], "stdin cannot be read twice"),
        (&["-f", "-", "--stdin", "records"], "stdin cannot be read twice"),
    ] {
        let ran = ctx(&scratch, args, "");
        assert!(ran.code == 2 && ran.out.is_empty() && ran.err.contains(reason), "{args:?}: {}", ran.err);
    }
}

#[test]
fn records_are_taken_or_passed() {
    let scratch = repo();
    let node = r#"{"v":1,"type":"node","id":"1","parent":"","kind":"message","message":{"role":"user","content":[{"kind":"text","text":"go"}]}}"#;
    let call = r#"{"v":1,"type":"message","message":{"role":"assistant","content":[{"kind":"tool_use","id":"c","name":"bash","input":{"command": "ls"}}]}}"#;
    let foreign = "{\"v\":1,\"type\":\"x\",  \"odd\":\"\\u0041\"}";
    let ran = ctx(&scratch, &["next"], format!("\n{node}\n{foreign}\n{call}\n{READ}\n"));
    assert_eq!(ran.out.lines().next(), Some(foreign));
    let asked = request(&ran);
    let messages = asked["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 3);
    assert_eq!(messages[2]["content"][0]["is_error"], true, "the lost result is repaired");
    assert_eq!(messages[2]["content"][1]["text"], "next");
    // announced tools are the only ones, and nub-tool is not asked
    assert_eq!(asked["tools"].as_array().unwrap().len(), 1);
    assert!(ran.out.contains(r#""input":{"command": "ls"}"#), "arguments keep their bytes");
}

#[test]
fn a_head_can_be_built_without_a_message() {
    let scratch = repo();
    for (args, input) in [(&["--stdin", "records"][..], ""), (&["--stdin", "records"], READ), (&[], READ)] {
        let asked = request(&ctx(&scratch, args, input));
        assert_eq!(asked["messages"], Value::Array(Vec::new()));
    }
    let ran = ctx(&scratch, &[], "");
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.starts_with("nub-ctx: nothing to ask: "), "{}", ran.err);
}

#[test]
fn records_that_are_none_are_refused_clearly() {
    let scratch = repo();
    for (input, reason) in [
        ("{\"v\":2,\"type\":\"node\"}", "input line 1 is a record of version 2"),
        ("{\"v\":1,\"type\":\"x\"}\nhello", "input line 2 is no record"),
        ("{\"v\":1,\"type\":\"node\",\"id\":1}", "input line 1: a node record that cannot be read"),
    ] {
        let ran = ctx(&scratch, &[], input);
        assert!(ran.code == 2 && ran.err.contains(reason) && ran.of("request").is_empty(), "{}", ran.err);
    }
}

#[test]
fn tools_are_chosen_by_name_or_file() {
    let scratch = repo();
    let names = |args: &[&str], input: &str| -> Vec<String> {
        let asked = request(&ctx(&scratch, args, input));
        asked["tools"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|t| t["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(&["hi"], ""), ["read", "bash"]);
    assert_eq!(names(&["hi", "--tools", "bash,read"], ""), ["read", "bash"]);
    assert_eq!(names(&["hi", "--tools", "bash"], ""), ["bash"]);
    assert!(names(&["hi", "--no-tools"], BASH).is_empty());
    scratch.file("tools.ndjson", format!("{BASH}\n"));
    assert_eq!(names(&["hi", "--tools", "tools.ndjson"], ""), ["bash"]);
    let ran = ctx(&scratch, &["hi", "--tools", "read,rm"], "");
    assert!(
        ran.code == 2 && ran.err.contains("there is no tool 'rm'\n  there are: read, bash"),
        "{}",
        ran.err
    );
    fake_tool(&scratch, "exit 2\n");
    assert_eq!(ctx(&scratch, &["hi"], "").code, 2);
    fake_tool(&scratch, "echo hello\n");
    assert!(ctx(&scratch, &["hi"], "").err.contains("'nub-tool list' holds no tool records"));
}

#[test]
fn a_schema_becomes_the_format() {
    let scratch = repo();
    scratch.file(
        "my answer.json",
        "{\n  \"type\": \"object\",\n  \"properties\": {\"z\": {\"const\": \"a \\\" b\"}, \"a\": {}}\n}\n",
    );
    let ran = ctx(&scratch, &["hi", "--schema", "my answer.json"], "");
    assert!(ran.out.contains(r#""format":{"name":"my_answer","schema":{"type":"object","properties":{"z":{"const":"a \" b"},"a":{}}}}"#), "{}", ran.out);
    for text in ["[1]", "{", "", "nonsense"] {
        scratch.file("s.json", text);
        assert_eq!(ctx(&scratch, &["hi", "--schema", "s.json"], "").code, 2, "{text}");
    }
}

#[test]
fn people_get_text() {
    let scratch = repo();
    scratch.file("AGENTS.md", "rules");
    let table = ctx(&scratch, &["--explain", "hi\u{1b}[2J"], "");
    let rows: Vec<Vec<&str>> = table.out.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["SOURCE", "KIND", "TOKENS"]);
    assert_eq!(rows[3][..2], ["AGENTS.md", "file"]);
    assert_eq!(rows.last().unwrap()[0], "total");
    assert!(!table.out.contains('\u{1b}'));
    let text = ctx(&scratch, &["--format", "text", "hi"], "");
    assert!(text.out.contains("--- user\nhi\n") && text.out.contains("tools: read, bash"), "{}", text.out);
    let records = ctx(&scratch, &["--explain", "--format", "ndjson"], "");
    assert_eq!((records.of("context").len(), records.of("request").len()), (1, 0));
}

#[test]
fn a_signal_ends_the_wait_for_stdin() {
    let scratch = repo();
    let mut command = scratch.nub("nub-ctx");
    let mut child = command
        .arg("hi")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let caught = || {
        let text = fs::read_to_string(&status).unwrap();
        let mask = text.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap().trim().to_owned();
        u64::from_str_radix(&mask, 16).unwrap() & 1 << 14 != 0
    };
    let start = Instant::now();
    while !caught() {
        assert!(start.elapsed() < Duration::from_secs(20));
        std::thread::yield_now();
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let scratch = repo();
    scratch.file("AGENTS.md", "rule\n".repeat(60_000));
    scratch.config("[context]\nmax_tokens = 200000");
    let mut shell = scratch.command("sh");
    shell.args(["-c", "(nub-ctx --no-tools hi; echo $? >&2) | true"]);
    let ran = finish(shell, "");
    assert_eq!((ran.err.as_str(), ran.out.as_str()), ("0\n", ""));
}
