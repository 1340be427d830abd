//! A whole session asked again: what nub-session rebuilds from the file alone is, byte for byte, what the
//! server was sent when the session was made.

use serde_json::json;

use crate::http::{Reply, Server};
use crate::scratch::{Scratch, finish};
use crate::session::session;

#[test]
fn thirty_turns_are_asked_again_with_the_same_bytes() {
    let turn = |n: u32| {
        let command = format!("printf 'turn %s \\342\\202\\254 \"\\\\\\n' {n}");
        Reply::call(&format!("call_{n}"), "bash", &json!({"command": command}))
    };
    let replies: Vec<Reply> = (0..29).map(turn).chain([Reply::text("done")]).collect();
    let server = Server::start(replies);
    let scratch = Scratch::repo();
    scratch.endpoint(&server.url, "");
    scratch.file("AGENTS.md", "Be brief — “very”.\n");
    let prompt = json!({"v": 1, "type": "input", "op": "prompt", "text": "count to 29\u{2028}please"});
    let ran = scratch.run("nub-loop", &[] as &[&str], format!("{prompt}\n"));
    assert_eq!(ran.code, 0, "{}", ran.err);
    let sent = server.asked();
    assert_eq!(sent.len(), 30);
    let nodes = session(&scratch, &["path"], "").of("node");
    let answers: Vec<&str> = nodes
        .iter()
        .filter(|node| node["message"]["role"] == "assistant")
        .map(|node| node["id"].as_str().unwrap())
        .collect();
    assert_eq!(answers.len(), 30);
    for (answer, sent) in answers.iter().zip(&sent) {
        let request = session(&scratch, &["request", answer], "");
        assert_eq!(request.code, 0, "{}", request.err);
        let again = Server::start(vec![Reply::text("again")]);
        scratch.endpoint(&again.url, "");
        let ran = scratch.run("nub-stream", &[] as &[&str], &request.out);
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert_eq!(again.asked()[0].body, sent.body);
    }
}

#[test]
fn what_was_asked_beside_the_conversation_is_asked_again() {
    let aliased = r#"{"model":"m-1-2026-01","choices":[{"index":0,"delta":{"content":"{\"a\":1}"},"finish_reason":"stop"}]}"#;
    let server = Server::start(vec![Reply::sse(&[aliased, "[DONE]"])]);
    let scratch = Scratch::repo();
    scratch.endpoint(&server.url, "caps = { json_schema = true }");
    scratch.file("schema.json", r#"{"type":"object","properties":{"a":{"type":"integer"}}}"#);
    let mut turn = scratch.command("sh");
    turn.args([
        "-c",
        "nub-session append --user hi >/dev/null && nub-session path |
         nub-ctx --max-tokens 77 --temperature 0.25 --schema schema.json | nub-stream | nub-session append",
    ]);
    let ran = finish(turn, "");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let node = &ran.of("node")[0];
    assert_eq!(
        (&node["meta"]["model"], &node["meta"]["asked"]["model"]),
        (&json!("m-1-2026-01"), &json!("m-1"))
    );
    let request = session(&scratch, &["request", node["id"].as_str().unwrap()], "").out;
    let ran = scratch.run("nub-stream", &[] as &[&str], request);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let sent = server.asked();
    assert_eq!(sent[0].body, sent[1].body);
    assert!(sent[0].body.contains("77") && sent[0].body.contains("0.25"), "{}", sent[0].body);
}
