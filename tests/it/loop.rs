//! nub-loop from outside, with stages of the test's own choosing: turns, steering, limits.

use serde_json::{Value, json};

use crate::loop_stage::{Play, Running, calls, delta, done, kinds, of, results, start_text, text};

#[test]
fn a_run_of_two_turns_tells_everything_in_order() {
    let play = Play::new().answers(&[&calls(&[("c1", "ls")]), &text("done")]).results(&[&[
        json!({"v":1,"type":"tool_start","id":"c1","name":"bash","input":{},"title":"ls"}),
        results(&[("c1", "a.txt")]),
    ]]);
    let mut run = play.start();
    run.prompt("look");
    let (heard, code) = run.end();
    let order: Vec<&str> = kinds(&heard).into_iter().filter(|kind| *kind != "node").collect();
    let start = order.iter().position(|kind| *kind == "ready").unwrap();
    assert_eq!(
        order[start + 1..],
        [
            "message",
            "turn_start",
            "message",
            "tool_start",
            "message",
            "done",
            "turn_end",
            "turn_start",
            "block_start",
            "block_delta",
            "block_stop",
            "message",
            "done",
            "turn_end",
            "result"
        ]
    );
    let ready = &of(&heard, "ready")[0];
    let result = &of(&heard, "result")[0];
    assert_eq!((code, &result["stop"], &result["text"]), (0, &json!("end_turn"), &json!("done")));
    assert_eq!(
        (&result["turns"], &result["exit"], &result["session"]),
        (&json!(2), &json!(0), &ready["session"])
    );
    assert_eq!(result["usage"], json!({"input_tokens":20,"output_tokens":10}));
    assert_eq!(ready["tools"], json!(["bash"]));
    assert_eq!(of(&heard, "node").len(), 4);
    assert_eq!(play.stored().len(), 4);
}

/// What a provider's cache sees: the request of a turn begins as the one before it did.
#[test]
fn requests_grow_at_their_end_and_keep_their_bytes() {
    let odd = r#"{"v":1, "type":"message", "message": {"role":"assistant","content":[{"kind":"tool_use","id":"c1","name":"bash","input":{"command" : "l\u0073"}}]}}"#;
    let play = Play::new()
        .answers(&[&[json!(odd), done("tool_use")], &text("done")])
        .results(&[&[results(&[("c1", "x")])]]);
    let mut run = play.start();
    run.prompt("look");
    run.end();
    let asked = play.scratch.read("play/asked");
    let [first, second] = asked.lines().collect::<Vec<_>>()[..] else { panic!("{asked}") };
    let (front, back) = first.split_at(first.find("],\"tools\":").unwrap());
    assert!(second.starts_with(front), "{first}\n{second}");
    assert!(second.ends_with(back));
    assert!(second.contains(r#"{"command" : "l\u0073"}"#));
    assert_eq!(play.asked()[1]["messages"].as_array().unwrap().len(), 3);
}

#[test]
fn a_steer_reaches_the_model_before_its_next_request() {
    let play = Play::new().answers(&[&calls(&[("c1", "a"), ("c2", "b")]), &text("done")]).results(&[&[
        json!({"v":1,"type":"tool_start","id":"c1","name":"bash","input":{},"title":"a"}),
        json!("@control steer"),
        results(&[("c1", "x"), ("c2", "not run")]),
    ]]);
    let mut run = play.start();
    run.prompt("look");
    run.wait("tool_start");
    run.say(&json!({"v":1,"type":"input","op":"steer","text":"only in src"}));
    let (heard, code) = run.end();
    let queues: Vec<Value> = of(&heard, "queue").into_iter().map(|queue| queue["steer"].clone()).collect();
    assert_eq!(queues, [json!(["only in src"]), json!([])]);
    let second = &play.asked()[1]["messages"];
    assert_eq!(second[3]["content"][0]["text"], "only in src");
    assert_eq!((code, of(&heard, "result").len()), (0, 1));
    assert_eq!(play.stored().len(), 5);
}

/// A message that came while the model was answering meets calls that have not started.
#[test]
fn a_steer_during_the_answer_follows_its_calls_to_the_tools() {
    let answer = [vec![start_text(), json!("@gate")], calls(&[("c1", "a")])].concat();
    let play = Play::new()
        .answers(&[&answer, &text("done")])
        .results(&[&[json!("@control steer"), results(&[("c1", "not run")])]]);
    let mut run = play.start();
    run.prompt("look");
    run.wait("block_start");
    run.say(&json!({"v":1,"type":"input","op":"steer","text":"stop"}));
    run.wait("queue");
    play.open();
    let (_, code) = run.end();
    assert_eq!(code, 0);
    assert_eq!(play.asked()[1]["messages"][3]["content"][0]["text"], "stop");
}

#[test]
fn with_batch_the_calls_are_left_alone() {
    let play = Play::new().answers(&[&calls(&[("c1", "a")]), &text("done")]).results(&[&[
        json!({"v":1,"type":"tool_start","id":"c1","name":"bash","input":{},"title":"a"}),
        json!("@control permission"),
        results(&[("c1", "x")]),
    ]]);
    play.scratch.config("version = 1\n[loop]\nsteer = \"batch\"\n");
    let mut run = play.start();
    run.prompt("look");
    run.wait("tool_start");
    run.say(&json!({"v":1,"type":"input","op":"steer","text":"wait"}));
    run.wait("queue");
    run.say(&json!({"v":1,"type":"control","op":"permission","id":"c1","allow":"once"}));
    let (_, code) = run.end();
    assert_eq!(code, 0);
    assert!(play.told().iter().all(|line| line["op"] != "steer"));
    assert_eq!(play.asked()[1]["messages"][3]["content"][0]["text"], "wait");
}

#[test]
fn a_steer_after_an_answer_without_calls_goes_on_in_the_same_run() {
    let first = [vec![json!("@gate")], text("one")].concat();
    let play = Play::new().answers(&[&first, &text("two")]);
    let mut run = play.start();
    run.prompt("look");
    run.say(&json!({"v":1,"type":"input","op":"steer","text":"and then"}));
    run.wait("queue");
    play.open();
    let (heard, _) = run.end();
    let [result] = &of(&heard, "result")[..] else { panic!("{heard:#?}") };
    assert_eq!((&result["text"], &result["turns"]), (&json!("two"), &json!(2)));
    assert_eq!(
        play.asked()[1]["messages"].as_array().unwrap().last().unwrap()["content"][0]["text"],
        "and then"
    );
}

#[test]
fn a_follow_up_waits_and_has_its_own_result() {
    let play = Play::new()
        .answers(&[&calls(&[("c1", "a")]), &text("one"), &text("two")])
        .results(&[&[json!("@control permission"), results(&[("c1", "x")])]]);
    let mut run = play.start();
    run.prompt("look");
    run.wait_for(|record| record["message"]["role"] == "assistant");
    run.say(&json!({"v":1,"type":"input","op":"follow_up","text":"then this"}));
    assert_eq!(run.wait("queue")["follow_up"], json!(["then this"]));
    run.say(&json!({"v":1,"type":"control","op":"permission","id":"c1","allow":"once"}));
    let (heard, code) = run.end();
    let texts: Vec<Value> = of(&heard, "result").into_iter().map(|result| result["text"].clone()).collect();
    assert_eq!((texts, code), (vec![json!("one"), json!("two")], 0));
    assert_eq!(of(&heard, "queue").last().unwrap()["follow_up"], json!([]));
    assert_eq!(play.asked()[1]["messages"].as_array().unwrap().len(), 3);
    assert_eq!(play.asked()[2]["messages"].as_array().unwrap().len(), 5);
}

#[test]
fn max_turns_ends_a_run() {
    let turns: Vec<Vec<Value>> = (1..=3).map(|n| calls(&[("c", &format!("true {n}"))])).collect();
    let turns: Vec<&[Value]> = turns.iter().map(Vec::as_slice).collect();
    let result = [results(&[("c", "")])];
    let play = Play::new().answers(&turns).results(&[&result, &result, &result]);
    let mut command = play.command();
    command.args(["--max-turns", "2"]);
    let mut run = Running::start(command);
    run.prompt("go");
    let (heard, code) = run.end();
    let result = &of(&heard, "result")[0];
    assert_eq!(
        (code, &result["stop"], &result["turns"], &result["exit"]),
        (4, &json!("limit"), &json!(2), &json!(4))
    );
    assert_eq!(of(&heard, "warning")[0]["code"], "max_turns");
    assert_eq!(play.stored().len(), 5, "the last calls have their results");
}

#[test]
fn the_same_calls_again_and_again_end_a_run() {
    let same = calls(&[("c", "true")]);
    let result = [results(&[("c", "")])];
    let play = Play::new()
        .answers(&[&same, &calls(&[("c", "ls")]), &same, &same, &same])
        .results(&[&result, &result, &result, &result, &result]);
    let mut run = play.start();
    run.prompt("go");
    let (heard, code) = run.end();
    let result = &of(&heard, "result")[0];
    assert_eq!((code, &result["stop"], &result["turns"]), (4, &json!("limit"), &json!(5)));
    assert_eq!(of(&heard, "warning")[0]["code"], "repeat_calls");
}

#[test]
fn other_stops_end_a_run_as_they_are() {
    for stop in ["max_tokens", "refusal"] {
        let mut answer = text("half");
        *answer.last_mut().unwrap() = done(stop);
        let play = Play::new().answers(&[&answer]);
        let mut run = play.start();
        run.prompt("go");
        let (heard, code) = run.end();
        assert_eq!((code, &of(&heard, "result")[0]["stop"]), (0, &json!(stop)));
    }
}

#[test]
fn a_flow_of_two_hundred_thousand_deltas_passes() {
    let mut answer = vec![start_text()];
    answer.extend(std::iter::repeat_n(delta("twenty characters ok"), 200_000));
    answer.extend_from_slice(&text("all of it")[2..]);
    let play = Play::new();
    let lines: String = answer.iter().map(|line| format!("{line}\n")).collect();
    let file = play.scratch.file("play/flow", lines);
    let mut command = play.scratch.nub("nub-loop");
    command.args([
        "--new",
        "--no-tools",
        "--stage",
        &format!("stream=read -r request; cat {}; cat", file.display()),
    ]);
    let mut run = Running::start(command);
    run.prompt("go");
    let (heard, code) = run.end();
    assert_eq!((code, of(&heard, "block_delta").len()), (0, 200_000));
    assert_eq!(of(&heard, "result")[0]["text"], "all of it");
}

#[test]
fn a_model_can_be_changed() {
    let play = Play::new().answers(&[&text("one"), &text("two")]);
    let mut run = play.start();
    run.prompt("a");
    run.wait("result");
    run.say(&json!({"v":1,"type":"control","op":"model","model":"other","endpoint":"there"}));
    run.prompt("b");
    let (_, code) = run.end();
    let asked = play.asked();
    assert_eq!((code, &asked[1]["model"], &asked[1]["endpoint"]), (0, &json!("other"), &json!("there")));
    assert_eq!(asked[1]["system"], asked[0]["system"]);
}

#[test]
fn a_branch_goes_on_from_its_node() {
    let play = Play::new().answers(&[&text("one"), &text("two")]);
    let mut run = play.start();
    run.prompt("a");
    run.wait("result");
    let first = of(&run.heard, "node")[0]["id"].clone();
    run.say(&json!({"v":1,"type":"control","op":"branch","node":first}));
    run.prompt("b");
    let (heard, code) = run.end();
    assert_eq!((code, &of(&heard, "head")[0]["head"]), (0, &first));
    let texts = |messages: &Value| -> Vec<Value> {
        messages.as_array().unwrap().iter().map(|message| message["content"][0]["text"].clone()).collect()
    };
    assert_eq!(texts(&play.asked()[1]["messages"]), [json!("a"), json!("b")]);
    assert_eq!(texts(&Value::from(play.stored())), [json!("a"), json!("b"), json!("two")]);
}

#[test]
fn a_session_goes_on_where_it_was() {
    let play = Play::new().answers(&[&text("one"), &text("two")]);
    let mut run = play.start();
    run.prompt("a");
    let (heard, _) = run.end();
    let session = of(&heard, "ready")[0]["session"].as_str().unwrap().to_owned();
    for selection in [vec!["-s", session.as_str()], vec![]] {
        play.scratch.file("play/count", "1");
        let mut command = play.command();
        let stages: Vec<String> =
            command.get_args().skip(1).map(|arg| arg.to_str().unwrap().to_owned()).collect();
        command = play.scratch.nub("nub-loop");
        command.args(selection).args(stages);
        let mut run = Running::start(command);
        run.prompt("b");
        let (heard, code) = run.end();
        assert_eq!((code, of(&heard, "ready")[0]["session"].as_str().unwrap()), (0, session.as_str()));
        assert_eq!(of(&heard, "result")[0]["text"], "two");
    }
    let asked = play.asked();
    assert_eq!(asked[1]["messages"].as_array().unwrap().len(), 3);
    assert_eq!(asked[2]["messages"].as_array().unwrap().len(), 5);
    assert_eq!(play.stored().len(), 6);
}

/// Stage commands may be pipelines, with our own programs found by name.
#[test]
fn a_stage_may_be_a_pipeline() {
    let play = Play::new().answers(&[&text("one")]);
    let command = play.command();
    let stream = command.get_args().nth(2).unwrap().to_str().unwrap().to_owned();
    let mut command = play.scratch.nub("nub-loop");
    command.args([
        "--new",
        "--no-tools",
        "--stage",
        &format!("{stream} | cat"),
        "--stage",
        "session=nub-session",
    ]);
    let mut run = Running::start(command);
    run.prompt("a");
    let (heard, code) = run.end();
    assert_eq!((code, &of(&heard, "result")[0]["text"]), (0, &json!("one")));
}

#[test]
fn without_tools_calls_are_answered_all_the_same() {
    let play = Play::new().answers(&[&calls(&[("c1", "ls")]), &text("well")]);
    let mut command = play.command();
    command.arg("--no-tools");
    let mut run = Running::start(command);
    run.prompt("a");
    let (heard, code) = run.end();
    assert_eq!((code, &of(&heard, "ready")[0]["tools"]), (0, &json!([])));
    assert_eq!(play.asked()[1]["messages"][2]["content"][0]["is_error"], true);
    assert!(play.asked()[0]["tools"].is_null());
}
