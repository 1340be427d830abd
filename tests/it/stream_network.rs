//! The connections of nub-stream: kept, redirected, compressed, proxied.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::json;

use crate::http::{Reply, Server};
use crate::scratch::Scratch;
use crate::stream::{ask, request};

/// An answer after which the connection stays open.
fn kept(text: &str) -> Reply {
    let reply = Reply::text(text);
    let mut body = String::new();
    for (_, part) in &reply.parts {
        write!(body, "{:x}\r\n{}\r\n", part.len(), String::from_utf8_lossy(part)).unwrap();
    }
    body.push_str("0\r\n\r\n");
    Reply {
        head: "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked".into(),
        parts: vec![(Duration::ZERO, body.into_bytes())],
        stall: false,
    }
}

#[test]
fn requests_share_a_connection() {
    let input = [request("a"), request("b"), request("c")].concat();
    let (ran, server) = ask(vec![kept("1"), kept("2"), kept("3")], "", &[], &input);
    assert_eq!(ran.of("done").len(), 3, "{}", ran.out);
    let ports: Vec<u16> = server.asked().iter().map(|asked| asked.port).collect();
    assert!(ports.iter().all(|port| *port == ports[0]), "{ports:?}");
}

#[test]
fn an_error_keeps_the_connection() {
    let failed = Reply {
        head: "HTTP/1.1 503 X\r\nRetry-After-Ms: 10\r\nContent-Length: 4".into(),
        parts: vec![(Duration::ZERO, b"busy".to_vec())],
        stall: false,
    };
    let (ran, server) = ask(vec![failed, kept("1")], "", &[], &request("a"));
    assert_eq!(ran.code, 0, "{}", ran.out);
    assert_eq!(server.asked()[0].port, server.asked()[1].port);
}

#[test]
fn a_connection_that_the_server_closed_is_replaced() {
    let mut closing = kept("1");
    closing.head.push_str("\r\nX-Last: Connection: close");
    let (ran, server) =
        ask(vec![closing, kept("2")], "retries = 0", &[], &[request("a"), request("b")].concat());
    assert_eq!(ran.of("done").len(), 2, "{}", ran.out);
    assert_ne!(server.asked()[0].port, server.asked()[1].port);
}

#[test]
fn a_redirect_is_not_followed() {
    for status in [301, 302, 303, 307, 308] {
        let other = Server::start(vec![Reply::text("stolen")]);
        let to = format!("\r\nLocation: {}/chat/completions", other.url);
        let more = "headers = { x-api-key = \"canary-1\", api-key = \"canary-2\" }";
        let (ran, _) = ask(vec![Reply::status(status, &to, "")], more, &[], &request("hi"));
        let error = &ran.of("error")[0];
        assert_eq!((&error["class"], &error["retryable"]), (&json!("protocol"), &json!(false)));
        assert!(error["message"].as_str().unwrap().contains(&other.url), "{error}");
        assert!(other.asked().is_empty());
    }
}

#[test]
fn headers_and_body_keys_of_the_configuration_are_sent() {
    let scratch = Scratch::new();
    let server = Server::start(vec![Reply::text("a")]);
    scratch.endpoint(&server.url, "[endpoint.headers]\nX-Team = \"red\"\nX-Token = \"env:TEAM_TOKEN\"\n[endpoint.extra_body]\ntop_k = 20\nthinking = { type = \"enabled\" }");
    let mut command = scratch.nub("nub-stream");
    command.env("TEAM_TOKEN", "t-123456");
    crate::scratch::finish(command, request("hi"));
    let asked = &server.asked()[0];
    assert_eq!((asked.header("x-team"), asked.header("x-token")), (Some("red"), Some("t-123456")));
    assert_eq!(asked.header("accept"), Some("text/event-stream"));
    assert_eq!(asked.header("accept-encoding"), Some("identity"));
    assert_eq!((&asked.json()["top_k"], &asked.json()["thinking"]["type"]), (&json!(20), &json!("enabled")));
}

#[test]
fn what_is_on_this_machine_never_goes_to_a_proxy() {
    let scratch = Scratch::new();
    let proxy = Server::start(vec![Reply::status(500, "", "seen")]);
    let server = Server::start(vec![Reply::text("a")]);
    let port = server.url.rsplit(':').next().unwrap().to_owned();
    let proxy_url = proxy.url.trim_end_matches("/v1");
    for url in [server.url.clone(), format!("http://localhost:{port}")] {
        scratch.endpoint(&url, "");
        let mut command = scratch.nub("nub-stream");
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"] {
            command.env(name, proxy_url);
        }
        let ran = crate::scratch::finish(command, request("hi"));
        assert_eq!(ran.code, 0, "{}", ran.out);
    }
    assert!(proxy.asked().is_empty());
}

#[test]
fn elsewhere_goes_through_the_proxy_unless_it_is_exempt() {
    let scratch = Scratch::new();
    let proxy = Server::start(vec![Reply::status(502, "", "no way")]);
    let proxy_url = proxy.url.trim_end_matches("/v1");
    for (url, variable, seen) in [
        ("https://api.example.invalid/v1", "HTTPS_PROXY", "CONNECT api.example.invalid:443"),
        ("https://api.example.invalid/v1", "all_proxy", "CONNECT api.example.invalid:443"),
    ] {
        scratch.endpoint(url, "retries = 0");
        let before = proxy.asked().len();
        let mut command = scratch.nub("nub-stream");
        command.env(variable, proxy_url);
        let ran = crate::scratch::finish(command, request("canary"));
        assert_eq!(ran.of("error")[0]["class"], "network", "{}", ran.out);
        let asked = proxy.asked();
        assert!(asked[before].head.starts_with(seen), "{:?}", asked[before]);
        assert!(!asked[before].head.to_lowercase().contains("authorization"));
        let mut command = scratch.nub("nub-stream");
        command.env(variable, proxy_url).env("NO_PROXY", "other, .example.invalid");
        crate::scratch::finish(command, request("hi"));
        assert_eq!(proxy.asked().len(), asked.len());
    }
}

/// A stream of one event with this delta, cut into pieces of a megabyte.
fn large(delta: &serde_json::Value) -> Reply {
    let event = json!({"choices": [{"index": 0, "delta": delta, "finish_reason": "stop"}]});
    let bytes = format!("data: {event}\n\ndata: [DONE]\n\n").into_bytes();
    let mut reply = Reply::sse(&[]);
    reply.parts = bytes.chunks(1 << 20).map(|part| (Duration::ZERO, part.to_vec())).collect();
    reply
}

#[test]
fn a_large_event_is_taken() {
    let text = "x".repeat(8 << 20);
    let (ran, _) = ask(vec![large(&json!({"content": text}))], "", &[], &request("hi"));
    assert_eq!(ran.of("message")[0]["message"]["content"][0]["text"].as_str().unwrap().len(), text.len());
    let arguments = json!({"path": "y".repeat(1 << 20)}).to_string();
    let call = json!({"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": {"name": "read", "arguments": arguments}}]});
    let (ran, _) = ask(vec![large(&call)], "", &[], &request("hi"));
    assert_eq!(
        ran.of("message")[0]["message"]["content"][0]["input"]["path"].as_str().unwrap().len(),
        1 << 20
    );
}

#[test]
fn a_line_without_end_is_refused() {
    let mut reply = Reply::sse(&[]);
    reply.parts = vec![(Duration::ZERO, vec![b'x'; 1 << 20]); 20];
    let (ran, server) = ask(vec![reply], "", &[], &request("hi"));
    assert_eq!((&ran.of("error")[0]["class"], server.asked().len()), (&json!("protocol"), 1), "{}", ran.out);
}

#[test]
fn a_body_that_expands_without_end_is_cut() {
    // 1 MiB of zeros is about 1 KiB of gzip; an error body is read to its limit only
    let scratch = Scratch::new();
    let mut reply = Reply::status(400, "\r\nContent-Encoding: gzip", "");
    let bomb = scratch
        .command("sh")
        .args(["-c", "head -c 100000000 /dev/zero | tr '\\0' 'x' | gzip -c"])
        .output()
        .unwrap()
        .stdout;
    reply.head = format!(
        "HTTP/1.1 400 X\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\nConnection: close",
        bomb.len()
    );
    reply.parts = vec![(Duration::ZERO, bomb)];
    let (ran, _) = ask(vec![reply], "", &[], &request("hi"));
    let error = &ran.of("error")[0];
    assert_eq!(error["class"], "bad_request");
    assert!(error["message"].as_str().unwrap().len() < 2000);
}
