//! What nub-stream makes of errors: the rows of the retry table, hints, and what is never tried again.

use std::io::Read;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::http::{Reply, Server};
use crate::scratch::Scratch;
use crate::stream::{Live, ask, kinds, request, silent};

const SOON: &str = "\r\nRetry-After-Ms: 20";

fn dropped() -> Reply {
    Reply { head: String::new(), parts: Vec::new(), stall: false }
}

/// A body that ends in the middle of a chunk.
fn torn(events: &[&str]) -> Reply {
    let mut reply = Reply::sse(events);
    reply.head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nConnection: close".into();
    for (_, part) in &mut reply.parts {
        let text = String::from_utf8(std::mem::take(part)).unwrap();
        *part = format!("{:x}\r\n{text}\r\n", text.len()).into_bytes();
    }
    reply
}

const HELLO: &str = r#"{"choices":[{"index":0,"delta":{"content":"Hello"}}]}"#;

#[test]
fn a_limit_or_a_fault_is_tried_again() {
    for status in [429, 500, 502, 503, 504, 520, 529] {
        let replies =
            vec![Reply::status(status, SOON, "busy"), Reply::status(status, SOON, "busy"), Reply::text("a")];
        let (ran, server) = ask(replies, "", &[], &request("hi"));
        assert_eq!((ran.code, server.asked().len()), (0, 3), "{status}: {}", ran.out);
        assert_eq!(kinds(&ran)[..2], ["retry", "retry"]);
        let retry = &ran.of("retry")[1];
        let class = if status == 429 { "rate_limit" } else { "server" };
        assert_eq!(
            (&retry["class"], &retry["status"], &retry["message"]),
            (&json!(class), &json!(status), &json!("busy"))
        );
        assert_eq!((&retry["attempt"], &retry["max"]), (&json!(2), &json!(3)));
        let delay = retry["delay_ms"].as_u64().unwrap();
        assert!((20..=60).contains(&delay), "{delay}");
    }
}

#[test]
fn attempts_end() {
    let (ran, server) = ask(vec![Reply::status(503, SOON, "busy")], "", &[], &request("hi"));
    assert_eq!((ran.code, server.asked().len()), (1, 4));
    assert_eq!(kinds(&ran), ["retry", "retry", "retry", "error"]);
    let error = &ran.of("error")[0];
    assert_eq!(
        (&error["class"], &error["status"], &error["retryable"]),
        (&json!("server"), &json!(503), &json!(true))
    );
    for (more, args, count) in
        [("retries = 1", vec![], 2), ("retries = 0", vec![], 1), ("", vec!["--retries", "0"], 1)]
    {
        let (ran, server) = ask(vec![Reply::status(503, SOON, "busy")], more, &args, &request("hi"));
        assert_eq!((kinds(&ran).len(), server.asked().len()), (count, count));
    }
}

#[test]
fn without_a_word_of_the_server_the_first_wait_is_a_second() {
    let began = Instant::now();
    let (ran, _) = ask(vec![Reply::status(429, "", "slow down"), Reply::text("a")], "", &[], &request("hi"));
    let delay = ran.of("retry")[0]["delay_ms"].as_u64().unwrap();
    assert!((1000..=1250).contains(&delay), "{delay}");
    assert!(began.elapsed() >= Duration::from_millis(delay));
}

#[test]
fn a_long_wait_is_not_waited() {
    let (ran, server) =
        ask(vec![Reply::status(429, "\r\nRetry-After: 300", "slow down")], "", &[], &request("hi"));
    assert_eq!((kinds(&ran), server.asked().len()), (vec!["error".to_owned()], 1));
    let error = &ran.of("error")[0];
    assert_eq!(error["retry_after_ms"], 300_000);
    assert!(error["message"].as_str().unwrap().contains("5 min"), "{error}");
}

#[test]
fn no_connection_is_tried_again() {
    let (ran, server) = ask(vec![dropped(), Reply::text("a")], "", &[], &request("hi"));
    assert_eq!((ran.code, server.asked().len()), (0, 2), "{}", ran.out);
    assert_eq!(ran.of("retry")[0]["class"], "network");

    let scratch = Scratch::new();
    scratch.endpoint("http://127.0.0.1:9/v1", "retries = 0");
    let ran = scratch.run("nub-stream", &[] as &[&str], request("hi"));
    let error = &ran.of("error")[0];
    assert_eq!((&error["class"], ran.code), (&json!("network"), 1));
    assert_eq!(error["message"], "cannot connect to 127.0.0.1:9: connection refused");
    assert_eq!(error["hint"], "is the server running?");
}

#[test]
fn what_broke_before_a_block_is_tried_again() {
    for reply in [torn(&[]), torn(&[r#"{"choices":[{"index":0,"delta":{"role":"assistant"}}]}"#])] {
        let (ran, server) = ask(vec![reply, Reply::text("a")], "", &[], &request("hi"));
        assert_eq!((ran.code, server.asked().len()), (0, 2), "{}", ran.out);
    }
}

#[test]
fn what_broke_after_a_block_is_not() {
    let (ran, server) = ask(vec![torn(&[HELLO, HELLO]), Reply::text("never")], "", &[], &request("hi"));
    assert_eq!(server.asked().len(), 1);
    let error = &ran.of("error")[0];
    assert_eq!(
        (&error["class"], &error["retryable"], &error["partial"]),
        (&json!("truncated"), &json!(false), &json!("HelloHello"))
    );
    assert!(ran.of("message").is_empty());
    assert_eq!(ran.code, 1);
}

#[test]
fn a_silent_server_is_given_up_in_time() {
    let (ran, server) =
        ask(vec![silent(), Reply::text("a")], "first_byte_timeout = 0.2", &["--retries=0"], &request("hi"));
    let error = &ran.of("error")[0];
    assert_eq!((&error["class"], server.asked().len()), (&json!("timeout"), 1));
    assert!(error["message"].as_str().unwrap().contains("sent no answer within 200ms"), "{error}");

    let mut mute = Reply::sse(&[HELLO]);
    mute.stall = true;
    let (ran, _) = ask(vec![mute], "idle_timeout = 0.2", &[], &request("hi"));
    let error = &ran.of("error")[0];
    assert_eq!(error["class"], "truncated");
    assert!(error["message"].as_str().unwrap().contains("silent for 200ms"), "{error}");
}

#[test]
fn comments_are_life() {
    let mut reply = Reply::text("a");
    reply.parts.splice(0..0, (0..5).map(|_| (Duration::from_millis(120), b": ping\n\n".to_vec())));
    let (ran, _) = ask(vec![reply], "idle_timeout = 0.4\nfirst_byte_timeout = 5", &[], &request("hi"));
    assert_eq!(ran.code, 0, "{}", ran.out);
}

#[test]
fn an_error_inside_an_answer_is_one() {
    let failed = Reply::sse(&[r#"{"error":{"code":503,"message":"overloaded"}}"#]);
    let (ran, server) = ask(vec![failed, Reply::text("a")], "", &[], &request("hi"));
    assert_eq!((ran.code, server.asked().len(), &ran.of("retry")[0]["class"]), (0, 2, &json!("server")));
    let late = Reply::sse(&[HELLO, r#"{"error":{"code":503,"message":"overloaded"}}"#]);
    let (ran, server) = ask(vec![late, Reply::text("never")], "", &[], &request("hi"));
    assert_eq!((ran.code, server.asked().len()), (1, 1));
    assert_eq!(ran.of("error")[0]["partial"], "Hello");
}

#[test]
fn what_asking_again_does_not_mend_has_a_hint() {
    for (status, body, class, hint) in [
        (400, "bad tool", "bad_request", ""),
        (
            404,
            r#"{"error":{"message":"model 'm-1' not found","code":"model_not_found"}}"#,
            "bad_request",
            "--list-models",
        ),
        (404, "<html><title>404</title></html>", "bad_request", "base_url"),
        (401, "", "auth", "no key"),
        (402, "", "auth", "credit"),
        (400, "maximum context length is 10", "context_length", "compact"),
        (429, r#"{"error":{"code":"insufficient_quota","message":"x"}}"#, "rate_limit", "billing"),
        (
            400,
            r#"{"error":{"message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser"}}"#,
            "bad_request",
            "",
        ),
    ] {
        let (ran, server) = ask(vec![Reply::status(status, "", body)], "", &[], &request("hi"));
        let error = &ran.of("error")[0];
        assert_eq!((&error["class"], server.asked().len()), (&json!(class), 1), "{body}");
        assert!(error["hint"].as_str().unwrap_or("").contains(hint), "{error}");
    }
}

#[test]
fn a_wait_can_be_cancelled() {
    let scratch = Scratch::new();
    let server = Server::start(vec![Reply::status(503, "\r\nRetry-After: 50", "busy")]);
    scratch.endpoint(&server.url, "");
    let mut live = Live::start(scratch.nub("nub-stream"));
    live.say(&request("hi"));
    assert_eq!(live.record()["type"], "retry");
    let began = Instant::now();
    live.signal(rustix::process::Signal::INT);
    assert_eq!(live.record()["class"], "cancelled");
    assert_eq!(live.record(), Value::Null);
    assert!(began.elapsed() < Duration::from_millis(500));
    assert_eq!(live.code(), 3);
}

#[test]
fn every_wait_is_a_log_line() {
    let scratch = Scratch::new();
    let server = Server::start(vec![Reply::status(503, SOON, "busy"), Reply::text("a")]);
    scratch.endpoint(&server.url, "");
    scratch.run("nub-stream", &[] as &[&str], request("hi"));
    let mut log = String::new();
    let file = scratch.home().join("state/nub/log/nub.log");
    std::fs::File::open(file).unwrap().read_to_string(&mut log).unwrap();
    assert!(log.contains("attempt 1 of 3") && log.contains("busy"), "{log}");
}
