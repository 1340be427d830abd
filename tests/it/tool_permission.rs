//! What nub-tool may run: auto, ask and deny.

use serde_json::{Value, json};

use crate::live::{Live, control, message, text};
use crate::scratch::Scratch;

fn ask(scratch: &Scratch) {
    scratch.config("version = 1\n[permissions]\nbash = \"ask\"\n");
}

fn permission(id: &str, allow: &str) -> Value {
    json!({ "v": 1, "type": "control", "op": "permission", "id": id, "allow": allow })
}

#[test]
fn deny_names_its_rule() {
    let scratch = Scratch::repo();
    scratch.config("version = 1\n[permissions]\nbash = \"deny\"\n");
    let ran = scratch.run("nub-tool", &["call", "bash", r#"{"command":"touch x"}"#, "--format", "text"], "");
    assert_eq!(ran.code, 1);
    assert_eq!(ran.out, "not run: the user's configuration says permissions.bash = \"deny\"\n");
    assert!(!scratch.work().join("x").exists());
}

#[test]
fn a_coprocess_asks_and_waits() {
    let scratch = Scratch::repo();
    ask(&scratch);
    let mut live = Live::start(&scratch);
    live.send(&message(&[
        ("bash", json!({ "command": "echo one" })),
        ("bash", json!({ "command": "echo two" })),
    ]));
    let request = live.until("permission_request");
    assert_eq!((&request["id"], &request["title"]), (&json!("c0"), &json!("bash: echo one")));
    assert_eq!((&request["ui"]["kind"], &request["ui"]["command"]), (&json!("command"), &json!("echo one")));
    live.send(&permission("other", "once"));
    live.send(&permission("c0", "once"));
    assert_eq!(live.until("permission_request")["id"], "c1");
    let mut no = permission("c1", "no");
    no["reason"] = json!("use make");
    live.send(&no);
    let results = live.results();
    assert_eq!(text(&results[0]), "one\n");
    assert_eq!(text(&results[1]), "not run: the user said no: use make");
    assert_eq!(
        (live.next().unwrap()["id"].clone(), live.next().unwrap()["id"].clone()),
        (json!("other"), json!("c0"))
    );
}

#[test]
fn always_holds_for_the_session() {
    let scratch = Scratch::repo();
    ask(&scratch);
    let mut live = Live::start(&scratch);
    live.send(&message(&[
        ("bash", json!({ "command": "echo one" })),
        ("bash", json!({ "command": "echo two" })),
    ]));
    live.until("permission_request");
    live.send(&permission("c0", "always"));
    let results = live.results();
    assert_eq!((text(&results[0]), text(&results[1])), ("one\n", "two\n"));
    assert_eq!(text(&live.bash("echo three")), "three\n");
}

#[test]
fn cancel_and_steer_end_the_waiting() {
    let scratch = Scratch::repo();
    ask(&scratch);
    let mut live = Live::start(&scratch);
    for (op, said) in [("cancel", "cancelled by the user"), ("steer", "not run: the user sent a new message")]
    {
        live.send(&message(&[("bash", json!({ "command": "touch x" }))]));
        live.until("permission_request");
        live.send(&control(op));
        assert_eq!(text(&live.results()[0]), said);
    }
    assert_eq!(live.end(), 0);
    assert!(!scratch.work().join("x").exists());
}

#[test]
fn where_nobody_can_be_asked_it_fails_hard() {
    let scratch = Scratch::repo();
    ask(&scratch);
    let call = message(&[("bash", json!({ "command": "touch x" })), ("todo", json!({ "items": [] }))]);
    let ran = scratch.run("nub-tool", &["run"], call.to_string());
    assert_eq!(ran.code, 2);
    let said = "nub-tool: bash needs permission, and nobody can be asked\n  set permissions.bash = \"auto\" in config.toml\n";
    assert_eq!(ran.err, said);
    let results = ran.of("message")[1]["message"]["content"].clone();
    assert_eq!(text(&results[0]), "not run: permissions.bash = \"ask\", and nobody can be asked");
    assert_eq!(text(&results[1]), "the list is empty");
    let error = &ran.of("error")[0];
    assert_eq!((&error["class"], &error["source"]), (&json!("config"), &json!("nub-tool")));
    let ran = scratch.run("nub-tool", &["call", "bash", r#"{"command":"touch x"}"#], "");
    assert_eq!((ran.code, ran.err.as_str()), (2, said));
    let mut command = scratch.nub("nub-tool");
    command.args(["run", "--no-ask"]);
    let mut live = Live::of(command);
    live.send(&call);
    assert_eq!(live.results().len(), 2);
    assert_eq!(live.until("error")["hint"], "set permissions.bash = \"auto\" in config.toml");
    assert_eq!(live.end(), 2);
    assert!(!scratch.work().join("x").exists());
}

#[test]
fn a_change_is_shown_as_a_diff_before_it_is_made() {
    let scratch = Scratch::repo();
    scratch.config("version = 1\n[permissions]\nwrite = \"ask\"\nedit = \"ask\"\n");
    scratch.file("a.txt", "one\ntwo\n");
    let mut live = Live::start(&scratch);
    live.send(&message(&[
        ("edit", json!({ "path": "a.txt", "old": "two", "new": "three" })),
        ("write", json!({ "path": "new.txt", "content": "x\n" })),
    ]));
    let request = live.until("permission_request");
    assert_eq!((&request["ui"]["kind"], &request["ui"]["added"]), (&json!("diff"), &json!(1)));
    assert!(request["ui"]["unified"].as_str().unwrap().contains("-two\n+three\n"), "{request}");
    assert_eq!(scratch.read("a.txt"), "one\ntwo\n");
    live.send(&permission("c0", "once"));
    let request = live.until("permission_request");
    assert_eq!((&request["ui"]["created"], &request["ui"]["path"]), (&json!(true), &json!("new.txt")));
    live.send(&permission("c1", "no"));
    live.results();
    assert_eq!(scratch.read("a.txt"), "one\nthree\n");
    assert!(!scratch.work().join("new.txt").exists());
}
