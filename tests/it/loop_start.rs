//! nub-loop from outside: what cannot begin, and what cannot be asked. Each prompt has its result.

use serde_json::{Value, json};

use crate::loop_stage::{Play, Running, calls, kinds, of, text};
use crate::scratch::Scratch;

const PROMPT: &str = "{\"v\":1,\"type\":\"input\",\"op\":\"prompt\",\"text\":\"x\"}\n";

#[test]
fn a_stage_that_cannot_begin_is_said_and_each_prompt_has_its_result() {
    let scratch = Scratch::repo();
    let missing = "cannot find the program 'no-such-program'";
    for (stage, code, words) in [
        ("ctx=exit 2;", 2, "stage ctx: ended (exit status: 2)"),
        ("ctx=exit 0;", 1, "stage ctx: ended (exit status: 0)"),
        ("session=exit 1;", 1, "stage session: ended (exit status: 1)"),
        ("session=exit 2;", 2, "stage session: ended (exit status: 2)"),
        ("tool=exit 1;", 1, "stage tool: ended (exit status: 1)"),
        ("tool=exit 2;", 2, "stage tool: ended (exit status: 2)"),
        ("tool=no-such-program", 2, missing),
        ("stream=no-such-program", 2, missing),
        ("session=no-such-program", 2, missing),
    ] {
        let ran = scratch.run("nub-loop", &["--new", "--stage", stage], PROMPT.repeat(2));
        let (records, said) = (ran.records(), ran.of("error"));
        let order: Vec<&str> =
            kinds(&records).into_iter().filter(|kind| !["tool", "session", "queue"].contains(kind)).collect();
        assert_eq!((ran.code, order), (code, vec!["error", "result", "result"]), "{stage}: {}", ran.err);
        assert!(said[0]["message"].as_str().unwrap().contains(words), "{stage}: {said:?}");
        for result in ran.of("result") {
            assert_eq!((&result["stop"], &result["exit"]), (&json!("error"), &json!(code)), "{stage}");
        }
        // a stage that is not content with how it was called says why itself
        assert_eq!(ran.err.contains(words), !stage.ends_with("exit 2;"), "{stage}: {}", ran.err);
    }
    let ran = scratch.run("nub-loop", &["--stage", "stram=cat"], "");
    assert!(ran.code == 2 && ran.err.contains("there is no stage 'stram=cat'"), "{}", ran.err);
}

#[test]
fn what_is_wrong_is_said_once() {
    let scratch = Scratch::repo();
    for (args, words) in [
        (&["--endpoint", "nope", "-p", "x"][..], "nub-ctx: there is no endpoint 'nope'\n"),
        (&["-s", "nope", "-p", "x"], "nub-session: no session 'nope'\n"),
        (&["resume", "nope"], "nub-session: no session 'nope'\n"),
    ] {
        let ran = scratch.run("nub", args, "");
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}: {}", ran.err);
        let lines: Vec<&str> = ran.err.lines().filter(|line| !line.starts_with("  ")).collect();
        assert_eq!(lines, [words.trim_end()], "{args:?}");
    }
}

#[test]
fn an_empty_prompt_is_refused_in_its_turn() {
    let play = Play::new().answers(&[&text("one")]);
    let mut run = play.start();
    run.prompt("a");
    run.say(&json!({"v":1,"type":"input","op":"prompt"}));
    run.say(&json!({"v":1,"type":"input","op":"follow_up","text":" \n"}));
    run.say(&json!({"v":1,"type":"input","op":"prompt","content":[]}));
    let (heard, code) = run.end();
    let exits: Vec<Value> = of(&heard, "result").into_iter().map(|result| result["exit"].clone()).collect();
    assert_eq!((code, exits), (2, vec![json!(0), json!(2), json!(2), json!(2)]));
    assert!(of(&heard, "warning").iter().all(|warning| warning["code"] == "empty_prompt"));
    assert_eq!((of(&heard, "warning").len(), play.asked().len(), play.stored().len()), (3, 1, 2));
}

#[test]
fn a_branch_to_an_unknown_node_changes_nothing() {
    let play = Play::new().answers(&[&text("one"), &text("two"), &text("three")]);
    let branch = |node: &str| json!({"v":1,"type":"control","op":"branch","node":node});
    let mut run = play.start();
    run.say(&branch("01M8NOPE"));
    run.prompt("a");
    assert_eq!(run.wait("result")["text"], "one");
    run.say(&branch("01M8NOPE"));
    run.prompt("b");
    assert_eq!(run.wait("result")["text"], "two");
    run.say(&branch(""));
    run.prompt("c");
    let (heard, code) = run.end();
    let codes: Vec<Value> =
        of(&heard, "warning").into_iter().map(|warning| warning["code"].clone()).collect();
    assert_eq!((code, codes), (0, vec![json!("unknown_node"), json!("unknown_node")]));
    let lengths: Vec<usize> =
        play.asked().iter().map(|asked| asked["messages"].as_array().unwrap().len()).collect();
    assert_eq!((lengths, of(&heard, "head").len()), (vec![1, 3, 1], 1));
}

/// With the real tools: a killed stage leaves nothing behind, and the run ends.
#[cfg(target_os = "linux")]
#[test]
fn what_a_killed_tool_stage_started_is_killed() {
    let command = "echo $$; setsid sleep 4711 & echo $!; sleep 4711";
    let play = Play::new().answers(&[&calls(&[("c1", command)]), &text("two")]);
    let mut start = play.command();
    start.args(["--stage", "tool=nub-tool"]);
    let mut run = Running::start(start);
    run.prompt("a");
    let mut said = String::new();
    while said.lines().count() < 2 {
        said.push_str(run.wait("tool_output")["text"].as_str().unwrap());
    }
    let shell = said.lines().next().unwrap();
    let status = std::fs::read_to_string(format!("/proc/{shell}/status")).unwrap();
    let tool = status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap().trim().parse().unwrap();
    let tool = rustix::process::Pid::from_raw(tool).unwrap();
    rustix::process::kill_process(tool, rustix::process::Signal::KILL).unwrap();
    let result = run.wait("result");
    assert_eq!((&result["stop"], &result["exit"]), (&json!("error"), &json!(1)));
    for pid in said.lines() {
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "{pid} lives");
    }
    run.prompt("b");
    let (heard, code) = run.end();
    assert_eq!((code, &of(&heard, "result")[1]["text"]), (0, &json!("two")));
}
