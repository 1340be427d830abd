//! nub-loop from outside: what is cancelled, what dies, and what is no record.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::loop_stage::{Play, Running, calls, delta, done, error, kinds, of, results, start_text, text};

fn start_of_call(id: &str) -> Value {
    json!({"v":1,"type":"tool_start","id":id,"name":"bash","input":{},"title":"x"})
}

fn result(records: &[Value]) -> Value {
    let [result] = &of(records, "result")[..] else { panic!("{records:#?}") };
    result.clone()
}

/// Every call on the path has its result, in the message after it.
fn assert_valid(messages: &[Value]) {
    for (at, message) in messages.iter().enumerate() {
        let blocks = message["content"].as_array().unwrap();
        let calls: Vec<&Value> =
            blocks.iter().filter(|b| b["kind"] == "tool_use").map(|block| &block["id"]).collect();
        if calls.is_empty() {
            continue;
        }
        let answers = messages[at + 1]["content"].as_array().unwrap();
        let answers: Vec<&Value> = answers.iter().map(|block| &block["tool_use_id"]).collect();
        assert_eq!(calls, answers);
    }
}

#[test]
fn a_cancel_keeps_the_text_that_was_shown_and_the_loop_lives_on() {
    let first = [start_text(), delta("as far "), delta("as this"), json!("@cancel"), error("cancelled")];
    let play = Play::new().answers(&[&first, &text("two")]);
    let mut run = play.start();
    run.prompt("a");
    run.wait_for(|record| record["text"] == "as this");
    run.order("cancel");
    let cancelled = run.wait("result");
    assert_eq!((&cancelled["stop"], &cancelled["exit"]), (&json!("cancelled"), &json!(3)));
    assert_eq!(cancelled["text"], "as far as this");
    run.prompt("b");
    let (heard, code) = run.end();
    assert_eq!((code, &of(&heard, "result")[1]["text"]), (0, &json!("two")));
    let stored = play.stored();
    assert_eq!(stored[1], json!({"role":"assistant","content":[{"kind":"text","text":"as far as this"}]}));
    assert_eq!(of(&heard, "node")[1]["meta"]["stop"], "cancelled");
    assert_eq!(play.asked()[1]["messages"].as_array().unwrap().len(), 3);
}

#[test]
fn a_cancel_before_anything_was_shown_stores_nothing() {
    let thinking = json!({"v":1,"type":"block_start","index":0,"block":{"kind":"thinking","text":""}});
    let first = [thinking, delta("hm"), json!("@cancel"), error("cancelled")];
    let play = Play::new().answers(&[&first]);
    let mut run = play.start();
    run.prompt("a");
    run.wait("block_delta");
    run.order("cancel");
    let (heard, code) = run.end();
    assert_eq!((code, play.stored().len(), &result(&heard)["text"]), (3, 1, &json!("")));
}

#[test]
fn a_stream_stage_that_obeys_no_cancel_is_replaced() {
    let play = Play::new().answers(&[&[start_text(), delta("x"), json!("@deaf")], &text("two")]);
    let mut run = play.start();
    run.prompt("a");
    run.wait("block_delta");
    let before = Instant::now();
    run.order("cancel");
    let cancelled = run.wait("result");
    assert!(before.elapsed() < Duration::from_secs(5));
    assert_eq!((&cancelled["stop"], &cancelled["text"]), (&json!("cancelled"), &json!("x")));
    assert_eq!(cancelled["exit"], 3);
    let error = &of(&run.heard, "error")[0];
    assert_eq!((&error["class"], &error["message"]), (&json!("cancelled"), &json!("cancelled")));
    run.prompt("b");
    let (heard, code) = run.end();
    assert_eq!((code, &of(&heard, "result")[1]["text"]), (0, &json!("two")));
}

#[test]
fn a_cancel_during_a_call_gives_every_call_its_result() {
    let play = Play::new().answers(&[&calls(&[("c1", "a"), ("c2", "b")]), &text("two")]).results(&[&[
        start_of_call("c1"),
        json!("@control cancel"),
        results(&[("c1", "partly"), ("c2", "cancelled")]),
    ]]);
    let mut run = play.start();
    run.prompt("a");
    run.wait("tool_start");
    run.order("cancel");
    assert_eq!(run.wait("result")["stop"], "cancelled");
    run.prompt("b");
    let (heard, code) = run.end();
    assert_eq!((code, &of(&heard, "result")[1]["text"]), (0, &json!("two")));
    assert_valid(&play.stored());
    assert_eq!(play.asked()[1]["messages"].as_array().unwrap().len(), 4);
}

#[test]
fn a_cancel_with_nothing_in_hand_changes_nothing() {
    let play = Play::new().answers(&[&text("one")]);
    let mut run = play.start();
    run.order("cancel");
    run.prompt("a");
    let (heard, code) = run.end();
    assert_eq!((code, &result(&heard)["text"]), (0, &json!("one")));
}

#[test]
fn a_broken_stream_is_kept_as_truncated() {
    let play = Play::new().answers(&[&[start_text(), delta("half"), error("truncated")]]);
    let mut run = play.start();
    run.prompt("a");
    let (heard, code) = run.end();
    let result = result(&heard);
    assert_eq!((code, &result["stop"], &result["text"]), (1, &json!("truncated"), &json!("half")));
    assert_eq!((play.stored().len(), &of(&heard, "node")[1]["meta"]["stop"]), (2, &json!("truncated")));
}

#[test]
fn errors_have_their_exit_codes() {
    for (class, stop, exit) in
        [("auth", "error", 1), ("config", "error", 2), ("cancelled", "cancelled", 3), ("limit", "limit", 4)]
    {
        let play = Play::new().answers(&[&[error(class)]]);
        let mut run = play.start();
        run.prompt("a");
        let (heard, code) = run.end();
        let result = result(&heard);
        assert_eq!((code, &result["stop"], &result["exit"]), (exit, &json!(stop), &json!(exit)), "{class}");
        assert_eq!(of(&heard, "error").len(), 1);
        let order = kinds(&heard);
        let end = order.iter().position(|kind| *kind == "error").unwrap();
        assert_eq!(order[end + 1], "turn_end", "{class}");
    }
}

#[test]
fn a_stream_stage_that_dies_or_talks_nonsense_ends_the_run() {
    let nonsense = json!("I am no record");
    let silent = [start_text(), delta("half"), done("end_turn")];
    let scripts: [&[Value]; 5] = [
        &[json!("@end 7")],
        &[start_text(), delta("half"), json!("@end 0")],
        &[nonsense],
        &[json!(r#"{"v":2,"type":"done","stop":"end_turn"}"#)],
        &silent,
    ];
    for script in scripts {
        let play = Play::new().answers(&[script, &text("two")]);
        let mut run = play.start();
        run.prompt("a");
        let failed = run.wait("result");
        assert_eq!((&failed["stop"], &failed["exit"]), (&json!("error"), &json!(1)), "{script:?}");
        let errors = of(&run.heard, "error");
        assert!(errors[0]["message"].as_str().unwrap().starts_with("stage stream: "), "{errors:?}");
        run.prompt("b");
        let (heard, code) = run.end();
        assert_eq!((code, &of(&heard, "result")[1]["text"]), (0, &json!("two")), "{script:?}");
    }
}

#[test]
fn a_tool_stage_that_dies_leaves_a_valid_session() {
    for script in [[start_of_call("c1"), json!("@end 1")], [start_of_call("c1"), json!("what?")]] {
        let play = Play::new()
            .answers(&[&calls(&[("c1", "a"), ("c2", "b")]), &calls(&[("c3", "c")]), &text("two")])
            .results(&[&script, &[results(&[("c3", "fine")])]]);
        let mut run = play.start();
        run.prompt("a");
        let failed = run.wait("result");
        assert_eq!((&failed["stop"], &failed["exit"]), (&json!("error"), &json!(1)));
        assert!(of(&run.heard, "error")[0]["message"].as_str().unwrap().starts_with("stage tool: "));
        assert_valid(&play.stored());
        run.prompt("b");
        let (heard, code) = run.end();
        assert_eq!((code, &of(&heard, "result")[1]["text"]), (0, &json!("two")));
        assert_eq!(of(&heard, "tool").len(), 1, "tools are announced once");
    }
}

#[test]
fn results_that_are_missing_are_made_up_for() {
    let play = Play::new()
        .answers(&[&calls(&[("c1", "a"), ("c2", "b")]), &text("two")])
        .results(&[&[results(&[("c1", "x")])]]);
    let mut run = play.start();
    run.prompt("a");
    let (_, code) = run.end();
    assert_eq!(code, 0);
    assert_valid(&play.stored());
    assert_valid(play.asked()[1]["messages"].as_array().unwrap());
}

/// What could not be stored is not built upon.
#[test]
fn a_session_stage_that_ends_ends_the_program() {
    for session in [
        r#"[ "$1" = append ] && { nub-session "$@" | head -n 1; exit 1; }; nub-session"#,
        r#"printf '%s\n' '{"v":1,"type":"session","id":"S","created_at":"x","cwd":"/"}'; read -r line; exit 1;"#,
    ] {
        let play = Play::new().answers(&[&text("one"), &text("two")]);
        let mut command = play.command();
        command.args(["--stage", &format!("session={session}")]);
        let mut run = Running::start(command);
        run.prompt("a");
        run.prompt("b");
        let (heard, code) = run.finish();
        assert_eq!(code, 1);
        let results = of(&heard, "result");
        assert_eq!(results.len(), 2, "{heard:#?}");
        assert_eq!((&results[0]["stop"], &results[0]["exit"]), (&json!("error"), &json!(1)));
        assert!(of(&heard, "error")[0]["message"].as_str().unwrap().starts_with("stage session: "));
    }
}

#[test]
fn input_that_is_no_record_ends_the_program() {
    for (line, words) in [
        ("hello", "input line 2 is no record"),
        (r#"{"v":2,"type":"input"}"#, "version 2"),
        (r#"{"v":1,"type":"input","op":"shout","text":"x"}"#, "an input record that cannot be read"),
    ] {
        let play = Play::new().answers(&[&[start_text(), delta("x"), json!("@cancel"), error("cancelled")]]);
        let mut command = play.command();
        command.stderr(std::process::Stdio::null());
        let mut run = Running::start(command);
        run.prompt("a");
        run.wait("block_delta");
        run.say_line(line);
        let (heard, code) = run.finish();
        assert_eq!((code, &result(&heard)["stop"]), (2, &json!("cancelled")), "{line}");
        let error = &of(&heard, "error")[0];
        assert_eq!(error["class"], "protocol");
        assert!(error["message"].as_str().unwrap().contains(words), "{error}");
    }
}

#[test]
fn records_of_another_kind_pass() {
    let play = Play::new().answers(&[&text("one")]);
    let mut run = play.start();
    run.say(&json!({"v":1,"type":"later","x":[1]}));
    run.prompt("a");
    let (heard, code) = run.end();
    assert_eq!((code, of(&heard, "later").len()), (0, 1));
}

#[test]
fn a_signal_ends_the_work_and_the_program() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let play = Play::new().answers(&[&calls(&[("c1", "a")])]).results(&[&[
            start_of_call("c1"),
            json!("@control cancel"),
            results(&[("c1", "cancelled")]),
        ]]);
        let mut run = play.start();
        run.prompt("a");
        run.prompt("b");
        run.wait("tool_start");
        run.signal(signal);
        let (heard, code) = run.finish();
        let results = of(&heard, "result");
        assert_eq!((code, results.len()), (3, 2));
        assert!(results.iter().all(|result| result["stop"] == "cancelled" && result["exit"] == 3));
        assert_valid(&play.stored());
    }
}

/// With the real tools: the command and what it started are gone.
#[test]
fn a_signal_during_a_command_ends_its_whole_tree() {
    let play = Play::new().answers(&[&calls(&[("c1", "echo $$; sleep 600 & sleep 600")])]);
    let mut command = play.command();
    command.args(["--stage", "tool=nub-tool"]);
    let mut run = Running::start(command);
    run.prompt("a");
    let shell = run.wait("tool_output")["text"].as_str().unwrap().trim().to_owned();
    run.signal(Signal::INT);
    let (_, code) = run.finish();
    assert_eq!(code, 3);
    assert!(!std::path::Path::new(&format!("/proc/{shell}")).exists());
    let stored = play.stored();
    assert_valid(&stored);
    assert_eq!(stored.len(), 3);
}

/// nub is gone: everything that nub-loop started ends with it.
#[test]
fn as_a_coprocess_the_end_of_input_ends_the_work() {
    let answer = [start_text(), delta("x"), json!("@cancel"), error("cancelled")];
    let play = Play::new().answers(&[&answer]);
    let mut command = play.command();
    command.env("NUB_COPROCESS", "1");
    let mut run = Running::start(command);
    run.prompt("a");
    run.wait("block_delta");
    let (heard, code) = run.end();
    assert_eq!((code, &result(&heard)["stop"]), (3, &json!("cancelled")));

    let play = Play::new().answers(&[&[vec![json!("@gate")], text("one")].concat()]);
    let mut command = play.command();
    command.env("NUB_COPROCESS", "1");
    let mut run = Running::start(command);
    run.prompt("a");
    run.order("end");
    run.wait("turn_start");
    let run = std::thread::spawn(move || run.end());
    play.open();
    let (heard, code) = run.join().unwrap();
    assert_eq!((code, &result(&heard)["text"]), (0, &json!("one")), "what was ordered is done");
}

#[test]
fn a_reader_that_went_away_ends_it_quietly() {
    let play = Play::new().answers(&[&text("one")]);
    let mut command = play.command();
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    command.stderr(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}

/// A question that nobody can answer any more is no reason to wait.
#[test]
fn a_permission_that_nobody_can_give_ends_the_run() {
    let play = Play::new().answers(&[&calls(&[("c1", "true")]), &text("two")]);
    play.scratch.config("version = 1\n[permissions]\nbash = \"ask\"\n");
    let mut command = play.command();
    command.args(["--stage", "tool=nub-tool"]);
    let mut run = Running::start(command);
    run.prompt("a");
    run.wait("permission_request");
    let (heard, code) = run.end();
    assert_eq!((code, &result(&heard)["stop"]), (2, &json!("error")));
    let error = &of(&heard, "error")[0];
    assert!(error["hint"].as_str().unwrap().contains("permissions.bash"), "{error}");
    assert_valid(&play.stored());
}

/// Whatever holds it up: here nobody reads what it says.
#[test]
fn a_signal_ends_it_also_in_a_full_pipe() {
    let play = Play::new();
    let flow = format!("{}\n", delta(&"x".repeat(1000))).repeat(100);
    let flow = play.scratch.file("play/flow", flow);
    let mut command = play.command();
    command.args(["--stage", &format!("stream=read -r x; while cat {}; do :; done", flow.display())]);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    let prompt = json!({"v":1,"type":"input","op":"prompt","text":"a"});
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), format!("{prompt}\n").as_bytes()).unwrap();
    let mut line = String::new();
    while !line.contains("block_delta") {
        line.clear();
        std::io::BufRead::read_line(&mut out, &mut line).unwrap();
    }
    let pid = rustix::process::Pid::from_raw(child.id().try_into().unwrap()).unwrap();
    rustix::process::kill_process(pid, Signal::TERM).unwrap();
    let (sender, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(child.wait()));
    let status = ended.recv_timeout(Duration::from_secs(20)).unwrap().unwrap();
    assert!(!status.success());
}
