//! nub-tool as a filter, a coprocess and a command: records in, records out.

use serde_json::{Value, json};

use crate::live::{Live, control, fifo, message, text};
use crate::scratch::{Scratch, finish};

pub fn bash(scratch: &Scratch, command: &str) -> Value {
    let ran =
        scratch.run("nub-tool", &["run"], message(&[("bash", json!({ "command": command }))]).to_string());
    assert_eq!(ran.code, 0, "{}", ran.err);
    ran.of("message")[1]["message"]["content"][0].clone()
}

#[test]
fn everything_passes_and_results_follow_their_calls() {
    let scratch = Scratch::repo();
    let odd = r#"{"v":1,  "type":"something_new","x":"\u00e9"}"#;
    let call =
        message(&[("bash", json!({ "command": "echo one" })), ("bash", json!({ "command": "exit 3" }))]);
    let done = r#"{"v":1,"type":"done","stop":"tool_use"}"#;
    let talk = r#"{"v":1,"type":"message","message":{"role":"assistant","content":[{"kind":"text","text":"tool_use"}]}}"#;
    let ran = scratch.run("nub-tool", &["run"], format!("{odd}\r\n\n{talk}\n{call}\n{done}\n"));
    assert_eq!(ran.code, 0, "{}", ran.err);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!((lines[0], lines[1], lines[2]), (odd, talk, call.to_string().as_str()));
    assert_eq!(*lines.last().unwrap(), done);
    let kinds: Vec<Value> = ran.records().iter().skip(3).map(|record| record["type"].clone()).collect();
    assert_eq!(kinds, ["tool_start", "tool_output", "tool_end", "tool_start", "tool_end", "message", "done"]);
    let answer = &ran.of("message")[2];
    assert_eq!(answer["message"]["role"], "user");
    let results = answer["message"]["content"].as_array().unwrap();
    assert_eq!((&results[0]["tool_use_id"], text(&results[0])), (&json!("c0"), "one\n"));
    assert_eq!((&results[1]["tool_use_id"], text(&results[1])), (&json!("c1"), "[exit code 3]"));
    assert_eq!((results[0].get("is_error"), &results[1]["is_error"]), (None, &json!(true)));
}

#[test]
fn a_wrong_call_is_answered_and_never_run() {
    let scratch = Scratch::repo();
    let mut record = message(&[
        ("launch", json!({})),
        ("bash", json!({})),
        ("bash", json!({ "command": ["ls"] })),
        ("bash", json!({ "command": "ls", "timeout": "soon" })),
        ("bash", json!({ "command": "ls", "when": 1 })),
        ("bash", json!({ "command": "true", "timeout": -1 })),
        ("bash", json!({ "command": "echo \u{0}" })),
    ]);
    record["message"]["content"].as_array_mut().unwrap().push(
        json!({ "kind": "tool_use", "id": "raw", "name": "bash", "input_raw": "{\"command\": \"touch oops" }),
    );
    let ran = scratch.run("nub-tool", &["run"], record.to_string());
    let results = ran.of("message")[1]["message"]["content"].clone();
    let texts: Vec<&str> = results.as_array().unwrap().iter().map(text).collect();
    assert_eq!(texts[0], "there is no tool 'launch'; there are read, write, edit, bash, glob, grep, todo");
    assert_eq!(texts[1], "bash: argument 'command' is missing, expected a string");
    assert_eq!(texts[2], "bash: argument 'command': expected a string, got the array [\"ls\"]");
    assert_eq!(texts[3], "bash: argument 'timeout': expected a number, got the string \"soon\"");
    assert_eq!(texts[4], "bash: there is no argument 'when' (got 1); expected command, timeout");
    assert_eq!(texts[5], "bash: argument 'timeout': expected seconds above 0, got -1");
    assert_eq!(texts[6], "bash: argument 'command': it holds a NUL character");
    assert!(texts[7].ends_with("no JSON object; this came: {\"command\": \"touch oops"), "{}", texts[7]);
    assert!(results.as_array().unwrap().iter().all(|result| result["is_error"] == true));
    assert_eq!(ran.of("tool_end").len(), 8);
    assert!(!scratch.work().join("oops").exists());
}

#[test]
fn tolerated_arguments_just_work() {
    let scratch = Scratch::repo();
    scratch.file("a.txt", "hello\n");
    let absolute = scratch.work().join("a.txt");
    let ran = scratch.run(
        "nub-tool",
        &["run"],
        message(&[
            ("bash", json!({ "command": "true", "timeout": "5" })),
            ("bash", json!({ "command": "true", "timeout": null })),
            ("read", json!({ "file_path": "a.txt", "limit": "1", "offset": 1.0 })),
            ("read", json!({ "path": absolute })),
        ])
        .to_string(),
    );
    let ends = ran.of("tool_end");
    assert!(ends.iter().all(|end| end["is_error"] == false), "{ends:?}");
}

#[test]
fn what_is_no_record_ends_it_with_two() {
    let scratch = Scratch::repo();
    for (input, said) in [
        ("what\n", "input line 1 is no record"),
        ("{\"v\":2,\"type\":\"message\"}\n", "version 2"),
        (
            "{\"v\":1,\"type\":\"message\",\"message\":{\"role\":\"tool_use\"}}\n",
            "message record that cannot be read",
        ),
    ] {
        let ran = scratch.run("nub-tool", &["run"], input);
        assert_eq!(ran.code, 2, "{input}");
        assert!(ran.err.starts_with("nub-tool: ") && ran.err.contains(said), "{}", ran.err);
    }
}

#[test]
fn announced_and_listed_tools_are_the_same_and_small() {
    let scratch = Scratch::repo();
    let listed = scratch.run("nub-tool", &["list"], "");
    let announced = scratch.run("nub-tool", &["run", "--announce"], "");
    assert_eq!(listed.out, announced.out);
    let records = listed.of("tool");
    let names: Vec<&str> = records.iter().map(|record| record["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["read", "write", "edit", "bash", "glob", "grep", "todo"]);
    let cost = |name| records.iter().find(|r| r["name"] == name).unwrap()["tokens"].as_u64().unwrap();
    assert!(cost("bash") + cost("todo") <= 125, "{} + {}", cost("bash"), cost("todo"));
    assert!(records.iter().all(|record| record["schema"]["type"] == "object"));
    let text = scratch.run("nub-tool", &["list", "--format", "text"], "");
    assert!(text.out.contains("bash") && text.out.contains(" tokens "), "{}", text.out);
}

#[test]
fn one_call_from_a_shell() {
    let scratch = Scratch::repo();
    let ran = scratch.run("nub-tool", &["call", "bash", r#"{"command":"echo hi"}"#, "--format", "text"], "");
    assert_eq!((ran.code, ran.out.as_str()), (0, "hi\n"));
    let ran = scratch.run("nub-tool", &["call", "bash", "-"], r#" {"command":"exit 7"} "#);
    assert_eq!((ran.code, &ran.of("tool_end")[0]["ui"]["exit_code"]), (1, &json!(7)));
    let ran = scratch.run("nub-tool", &["call", "bash", "[1]"], "");
    assert_eq!(ran.code, 2);
    assert!(ran.err.starts_with("nub-tool: the arguments are no JSON object\n  such as: "), "{}", ran.err);
    let ran = scratch.run("nub-tool", &["call", "bash", "{"], "");
    assert!(ran.code == 2 && ran.err.starts_with("nub-tool: the arguments are no JSON: "), "{}", ran.err);
    let ran = scratch.run("nub-tool", &["call", "nothing"], "");
    assert!(ran.code == 2 && ran.err.starts_with("nub-tool: there is no tool 'nothing'; "), "{}", ran.err);
}

#[test]
fn todo_echoes_its_list() {
    let scratch = Scratch::repo();
    let items =
        json!([{ "text": "a", "status": "done" }, { "text": "b", "status": "active" }, { "text": "c" }]);
    let mut live = Live::start(&scratch);
    live.send(&message(&[("todo", json!({ "items": items }))]));
    let end = live.until("tool_end");
    assert_eq!(end["for_model"], "[x] a\n[>] b\n[ ] c");
    assert_eq!((&end["ui"]["kind"], &end["ui"]["items"][1]["status"]), (&json!("todo"), &json!("active")));
    live.send(&message(&[("todo", json!({ "items": [{ "text": "a", "status": "finished" }] }))]));
    live.results();
    let result = live.results();
    assert_eq!(
        text(&result[0]),
        "todo: argument 'items[0].status': expected one of pending, active, done, got the string \"finished\""
    );
}

#[test]
fn a_steer_lets_what_runs_finish_and_answers_the_rest() {
    let scratch = Scratch::repo();
    let mut live = Live::start(&scratch);
    fifo(&scratch, "go");
    let wait = "read line < go; echo finished";
    live.send(&message(&[
        ("bash", json!({ "command": wait })),
        ("bash", json!({ "command": "echo second" })),
        ("write", json!({ "path": "third", "content": "x" })),
    ]));
    assert_eq!(live.until("tool_start")["id"], "c0");
    live.send(&control("steer"));
    let steered = live.until("tool_end");
    assert_eq!(
        (&steered["id"], &steered["for_model"]),
        (&json!("c1"), &json!("not run: the user sent a new message"))
    );
    scratch.file("go", "");
    let results = live.results();
    let texts: Vec<&str> = results.iter().map(text).collect();
    assert_eq!(texts[0], "finished\n");
    assert_eq!(texts[1..], ["not run: the user sent a new message"; 2]);
    assert_eq!(live.next().unwrap()["op"], "steer");
    assert!(!scratch.work().join("third").exists());
}

#[test]
fn a_cancel_answers_every_call_and_the_coprocess_lives_on() {
    let scratch = Scratch::repo();
    let mut live = Live::start(&scratch);
    live.send(&control("cancel"));
    assert_eq!(live.next().unwrap()["op"], "cancel");
    live.send(&message(&[
        ("bash", json!({ "command": "echo begun; sleep 1000" })),
        ("bash", json!({ "command": "echo second" })),
    ]));
    live.until("tool_output");
    live.send(&control("cancel"));
    let results = live.results();
    assert_eq!(text(&results[0]), "begun\n[cancelled by the user; everything it started was ended]");
    assert_eq!(text(&results[1]), "cancelled by the user");
    assert_eq!(live.next().unwrap()["op"], "cancel");
    assert_eq!(text(&live.bash("echo again")), "again\n");
    assert_eq!(live.end(), 0);
}

#[test]
fn a_cancel_that_comes_with_its_message_is_seen() {
    let scratch = Scratch::repo();
    let call = message(&[("bash", json!({ "command": "sleep 1000" }))]);
    let ran = scratch.run(
        "nub-tool",
        &["run"],
        format!("{call}\n{}\n{call}\n{}", control("cancel"), control("cancel")),
    );
    let ends: Vec<_> = ran.of("tool_end").iter().map(|end| end["is_error"].clone()).collect();
    assert_eq!(ends, [true, true]);
    assert_eq!(ran.code, 0);
}

#[test]
fn reads_run_beside_a_command_and_writers_keep_their_order() {
    let scratch = Scratch::repo();
    scratch.file("a.txt", "old\n");
    fifo(&scratch, "go");
    let mut live = Live::start(&scratch);
    live.send(&message(&[
        ("bash", json!({ "command": "read line < go; cat b.txt" })),
        ("read", json!({ "path": "a.txt" })),
        ("write", json!({ "path": "b.txt", "content": "late" })),
        ("bash", json!({ "command": "cat b.txt" })),
    ]));
    let first = live.until("tool_end");
    assert_eq!(first["id"], "c1", "{first}");
    scratch.file("go", "");
    let results = live.results();
    assert!(text(&results[0]).contains("No such file"), "{}", text(&results[0]));
    assert_eq!(text(&results[3]), "late");
    assert!(results.iter().zip(0..).all(|(r, n)| r["tool_use_id"] == format!("c{n}")));
}

#[test]
fn a_reader_that_goes_away_is_success() {
    let scratch = Scratch::repo();
    let big = message(&[("bash", json!({ "command": "seq 1 200000" }))]);
    let script = format!("printf '%s\\n' '{big}' | nub-tool run | head -n 1; echo ${{PIPESTATUS[1]}}");
    let mut command = scratch.command("bash");
    command.args(["-c", &script]);
    let ran = finish(command, "");
    assert_eq!((ran.out.lines().last(), ran.err.as_str()), (Some("0"), ""));
}

#[test]
fn random_calls_all_have_their_results() {
    let scratch = Scratch::repo();
    scratch.file("a.txt", "one\ntwo\n");
    let mut seed: u64 = 88_172_645_463_325_252;
    let mut below = |limit: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed >> 11).unwrap() % limit
    };
    let tools = ["read", "write", "edit", "glob", "grep", "todo", "bash", "", "no such tool"];
    let names = [
        "path",
        "file_path",
        "pattern",
        "content",
        "old",
        "new",
        "offset",
        "limit",
        "items",
        "glob",
        "timeout",
    ];
    let values = [
        json!(null),
        json!(true),
        json!(-1),
        json!(1e300),
        json!(""),
        json!("a.txt"),
        json!("../x"),
        json!("/etc/passwd"),
        json!("(a{1000}){1000}"),
        json!("\u{0}"),
        json!("[["),
        json!([{ "text": 1 }]),
        json!({ "a": [] }),
        json!("**"),
        json!("x".repeat(5000)),
        json!("é\u{202e}"),
        json!("3"),
    ];
    let mut calls = Vec::new();
    for _ in 0..400 {
        let mut input = serde_json::Map::new();
        for _ in 0..below(5) {
            input.insert(names[below(names.len())].into(), values[below(values.len())].clone());
        }
        calls.push((tools[below(tools.len())], Value::Object(input)));
    }
    all_answered(&scratch, &calls);
}

fn all_answered(scratch: &Scratch, calls: &[(&str, Value)]) {
    let mut live = Live::start(scratch);
    for some in calls.chunks(40) {
        live.send(&message(some));
        let results = live.results();
        assert_eq!(results.len(), some.len());
        for (n, result) in results.iter().enumerate() {
            assert_eq!(result["tool_use_id"], format!("c{n}"));
            assert!(!text(result).contains("internal error"), "{:?}: {result}", some[n]);
        }
    }
    assert_eq!(live.end(), 0);
}
