//! nub-stream as a filter: order, terminal records, exit codes, cancel.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::http::{Reply, Server};
use crate::scratch::{Ran, Scratch};

/// A request of one user message.
pub fn request(said: &str) -> String {
    let request = json!({"v": 1, "type": "request", "model": "m-1", "endpoint": "mock",
        "messages": [{"role": "user", "content": [{"kind": "text", "text": said}]}]});
    format!("{request}\n")
}

/// Runs nub-stream against a server that gives these replies, with more lines for its `[[endpoint]]`.
pub fn ask(replies: Vec<Reply>, more: &str, args: &[&str], input: &str) -> (Ran, Server) {
    let scratch = Scratch::new();
    let server = Server::start(replies);
    scratch.endpoint(&server.url, more);
    (scratch.run("nub-stream", args, input), server)
}

/// The types of the records, in order.
pub fn kinds(ran: &Ran) -> Vec<String> {
    ran.records().iter().map(|record| record["type"].as_str().unwrap().to_owned()).collect()
}

/// A server that takes a request and never answers.
pub fn silent() -> Reply {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream".into();
    Reply { head, parts: Vec::new(), stall: true }
}

/// nub-stream while it runs.
pub struct Live {
    pub child: Child,
    pub stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Live {
    pub fn start(mut command: Command) -> Live {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Live { stdin: child.stdin.take(), stdout, child }
    }

    pub fn say(&mut self, line: &str) {
        self.stdin.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
    }

    /// The next record, or null at the end.
    pub fn record(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        if line.is_empty() { Value::Null } else { serde_json::from_str(&line).unwrap() }
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    pub fn code(mut self) -> i32 {
        drop(self.stdin.take());
        self.child.wait().unwrap().code().unwrap()
    }
}

const CANCEL: &str = "{\"v\":1,\"type\":\"control\",\"op\":\"cancel\"}\n";

#[test]
fn a_request_becomes_events_a_message_and_done() {
    let (ran, server) = ask(vec![Reply::text("Hello")], "", &[], &request("hi"));
    assert_eq!(kinds(&ran), ["block_start", "block_delta", "block_stop", "message", "done"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let message = &ran.of("message")[0];
    assert_eq!(message["message"]["content"][0]["text"], "Hello");
    let meta = &message["meta"];
    assert_eq!(
        (&meta["endpoint"], &meta["model"], &meta["stop"]),
        (&json!("mock"), &json!("m-1"), &json!("end_turn"))
    );
    assert_eq!(meta["usage"], json!({"input_tokens": 10, "output_tokens": 5}));
    assert!(meta["created_at"].as_str().unwrap().ends_with('Z'));
    assert_eq!(ran.of("done")[0]["usage"]["input_tokens"], 10);
    assert!(server.asked()[0].head.starts_with("POST /v1/chat/completions HTTP/1.1"));
}

#[test]
fn other_records_pass_byte_for_byte_and_in_order() {
    let odd = "{\"v\":1, \"type\":\"later\",  \"x\":[1,2.50]}";
    let input = format!("{odd}\n{}{odd}\n{}{odd}", request("a"), request("b"));
    let (ran, _) = ask(vec![Reply::text("1"), Reply::text("2")], "", &[], &input);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!((lines[0], lines[6], lines[12]), (odd, odd, odd));
    assert_eq!(lines.len(), 13);
    assert_eq!(ran.of("message")[1]["message"]["content"][0]["text"], "2");
}

#[test]
fn each_request_has_one_terminal_record_and_goes_on() {
    let bad = "{\"v\":1,\"type\":\"request\",\"messages\":7}\n";
    let input = format!("{bad}{}{}", request("a"), request("b"));
    let (ran, _) = ask(vec![Reply::status(400, "", "no"), Reply::text("fine")], "", &[], &input);
    assert_eq!(
        kinds(&ran),
        ["error", "error", "block_start", "block_delta", "block_stop", "message", "done"]
    );
    assert_eq!(
        (&ran.of("error")[0]["class"], &ran.of("error")[1]["class"]),
        (&json!("protocol"), &json!("bad_request"))
    );
    assert_eq!(ran.code, 1);
}

#[test]
fn what_is_no_record_ends_the_program() {
    for (line, said) in [
        ("hello\n", "nub-stream: input line 2 is no record"),
        ("{\"v\":2,\"type\":\"request\"}\n", "record of version 2"),
    ] {
        let (ran, _) = ask(vec![Reply::text("a")], "", &[], &format!("{}{line}", request("hi")));
        assert_eq!(ran.code, 2);
        assert!(ran.err.contains(said), "{}", ran.err);
        assert_eq!(kinds(&ran).last().unwrap(), "done");
    }
}

#[test]
fn exit_codes_of_terminal_errors() {
    for (reply, code) in [
        (Reply::status(401, "", ""), 1),
        (Reply::status(200, "", "<html>sign in</html>"), 2),
        (Reply::status(429, "\r\nRetry-After: 100", ""), 1),
    ] {
        let (ran, _) = ask(vec![reply], "", &[], &request("hi"));
        assert_eq!(ran.code, code, "{}", ran.out);
    }
    let unknown = request("hi").replace("mock", "nowhere");
    let (ran, _) = ask(vec![Reply::text("")], "", &[], &unknown);
    assert_eq!((ran.code, &ran.of("error")[0]["class"]), (2, &json!("config")));
}

#[test]
fn events_come_as_they_arrive() {
    let scratch = Scratch::new();
    let mut reply = Reply::sse(&[r#"{"choices":[{"index":0,"delta":{"content":"Hello"}}]}"#]);
    reply.stall = true;
    let server = Server::start(vec![reply]);
    scratch.endpoint(&server.url, "");
    let mut live = Live::start(scratch.nub("nub-stream"));
    live.say(&request("hi"));
    assert_eq!(live.record()["type"], "block_start");
    assert_eq!(live.record()["text"], "Hello");
    live.say(CANCEL);
    let error = live.record();
    assert_eq!((&error["class"], &error["partial"]), (&json!("cancelled"), &json!("Hello")));
    assert_eq!(live.record()["op"], "cancel");
    assert_eq!(live.code(), 3);
}

#[test]
fn a_cancel_ends_the_request_but_not_the_program() {
    let scratch = Scratch::new();
    let server = Server::start(vec![silent(), Reply::text("again")]);
    scratch.endpoint(&server.url, "");
    let mut live = Live::start(scratch.nub("nub-stream"));
    live.say(CANCEL);
    assert_eq!(live.record()["op"], "cancel");
    live.say(&request("hi"));
    server.wait(1);
    let began = Instant::now();
    live.say(CANCEL);
    assert_eq!(live.record()["class"], "cancelled");
    assert!(began.elapsed() < Duration::from_millis(500), "{:?}", began.elapsed());
    assert_eq!(live.record()["op"], "cancel");
    live.say(&request("hi"));
    let kinds: Vec<Value> = (0..5).map(|_| live.record()["type"].clone()).collect();
    assert_eq!(kinds[4], "done");
    drop(live.stdin.take());
    assert_eq!(live.record(), Value::Null);
    assert_eq!(live.code(), 3);
}

#[test]
fn a_cancel_right_behind_its_request_is_not_lost() {
    let (ran, server) = ask(vec![silent()], "", &[], &format!("{}{CANCEL}", request("hi")));
    assert_eq!(kinds(&ran), ["error", "control"]);
    assert_eq!(ran.code, 3);
    drop(server);
}

#[test]
fn a_signal_ends_request_and_program() {
    use rustix::process::Signal;
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let scratch = Scratch::new();
        let server = Server::start(vec![silent()]);
        scratch.endpoint(&server.url, "");
        let mut live = Live::start(scratch.nub("nub-stream"));
        live.say(&request("hi"));
        server.wait(1);
        let began = Instant::now();
        live.signal(signal);
        assert_eq!(live.record()["class"], "cancelled");
        assert_eq!(live.record(), Value::Null);
        assert_eq!(live.child.wait().unwrap().code(), Some(3));
        assert!(began.elapsed() < Duration::from_millis(500), "{:?}", began.elapsed());
    }
}

#[test]
fn the_end_of_a_coprocess_input_ends_its_work() {
    let scratch = Scratch::new();
    let server = Server::start(vec![silent()]);
    scratch.endpoint(&server.url, "");
    let mut command = scratch.nub("nub-stream");
    command.env("NUB_COPROCESS", "1");
    let mut live = Live::start(command);
    live.say(&request("hi"));
    server.wait(1);
    drop(live.stdin.take());
    assert_eq!(live.record()["class"], "cancelled");
    assert_eq!(live.record(), Value::Null);
    assert_eq!(live.code(), 3);
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let scratch = Scratch::new();
    let server = Server::start(vec![Reply::text("a")]);
    scratch.endpoint(&server.url, "");
    let mut command = scratch.nub("nub-stream");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    child.stdin.take().unwrap().write_all(request("hi").as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn text_for_people() {
    let (ran, _) = ask(vec![Reply::text("Hel\u{1b}lo")], "", &["--format", "text"], &request("hi"));
    assert_eq!((ran.out.as_str(), ran.code), ("Hel\u{fffd}lo\n", 0));
    let (ran, _) = ask(vec![Reply::status(404, "", "no such model")], "", &["--format=text"], &request("hi"));
    assert_eq!((ran.out.as_str(), ran.code), ("", 1));
    assert!(ran.err.starts_with("nub-stream: no such model\n  "), "{}", ran.err);
}

#[test]
fn flags_win_over_the_request() {
    let (ran, server) = ask(
        vec![Reply::text("a")],
        "",
        &["-m", "m-2", "--endpoint", "mock"],
        &request("hi").replace("mock", ""),
    );
    assert_eq!(server.asked()[0].json()["model"], "m-2");
    assert_eq!(ran.of("message")[0]["meta"]["model"], "m-2");
}

#[test]
fn tokens_are_estimated_where_the_server_counts_none() {
    let reply = Reply::sse(&[
        r#"{"choices":[{"index":0,"delta":{"content":"Hello there"},"finish_reason":"stop"}]}"#,
        "[DONE]",
    ]);
    let (ran, _) = ask(vec![reply], "", &[], &request("hi"));
    let usage = &ran.of("done")[0]["usage"];
    assert_eq!(usage["estimated"], true);
    assert!(usage["input_tokens"].as_u64().unwrap() > 0 && usage["output_tokens"].as_u64().unwrap() > 0);
}

#[test]
fn tool_names_are_made_plain_on_the_wire_alone() {
    let input = request("hi").replace(
        "\"messages\"",
        r#""tools":[{"name":"mcp.x/list","description":"d","schema":{"type":"object","properties":{}}}],"messages""#,
    );
    let (ran, server) = ask(vec![Reply::call("c1", "mcp_x_list", &json!({}))], "", &[], &input);
    assert_eq!(server.asked()[0].json()["tools"][0]["function"]["name"], "mcp_x_list");
    assert_eq!(ran.of("block_start")[0]["block"]["name"], "mcp.x/list");
    assert_eq!(ran.of("message")[0]["message"]["content"][0]["name"], "mcp.x/list");
}

#[test]
fn ballast_keeps_its_bytes() {
    let odd = r#"{"b":-0,"a":0.10000000000000000055,"c":18446744073709551616,"b":9007199254740993}"#;
    let event = format!(
        r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{{"index":0,"id":"c1","type":"function","extra_content":{odd},"function":{{"name":"read","arguments":"{{}}"}}}}]}}}}]}}"#
    );
    let done = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#;
    let (ran, _) = ask(vec![Reply::sse(&[&event, done, "[DONE]"])], "", &[], &request("hi"));
    let line = ran.out.lines().find(|line| line.contains("\"type\":\"message\"")).unwrap();
    let (_, rest) = line.split_once("\"message\":{\"role\"").unwrap();
    let (message, _) = rest.split_once(",\"meta\"").unwrap();
    let asked = format!(
        r#"{{"v":1,"type":"request","model":"m-1","endpoint":"mock","messages":[{{"role"{message},{{"role":"user","content":[{{"kind":"tool_result","tool_use_id":"c1","result":[]}}]}}]}}"#
    );
    let (again, server) = ask(vec![Reply::text("a")], "", &[], &format!("{asked}\n"));
    assert_eq!(again.code, 0, "{}\n{asked}", again.out);
    assert!(server.asked()[0].body.contains(odd), "{}", server.asked()[0].body);
}

#[test]
fn ballast_goes_back_to_its_issuer_alone() {
    let signed = Reply::sse(&[
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","extra_content":{"google":{"thought_signature":"c2ln"}},"function":{"name":"read","arguments":"{}"}}]}}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
        "[DONE]",
    ]);
    let (ran, _) = ask(vec![signed], "", &[], &request("hi"));
    let said = ran.of("message")[0]["message"].clone();
    let back = |model: &str| {
        let next = json!({"v": 1, "type": "request", "model": model, "endpoint": "mock", "messages": [
            {"role": "user", "content": [{"kind": "text", "text": "hi"}]}, said,
            {"role": "user", "content": [{"kind": "tool_result", "tool_use_id": "c1", "result": []}]}]});
        let (_, server) = ask(vec![Reply::text("a")], "", &[], &format!("{next}\n"));
        server.asked()[0].json()["messages"][1]["tool_calls"][0].clone()
    };
    assert_eq!(back("m-1")["extra_content"]["google"]["thought_signature"], "c2ln");
    assert!(back("m-2").get("extra_content").is_none());
}
