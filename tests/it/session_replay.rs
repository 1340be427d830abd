//! A whole session asked again: what nub-session rebuilds from the file alone is, byte for byte, what the
//! server was sent when the session was made.

use serde_json::json;

use crate::http::{Reply, Server};
use crate::scratch::Scratch;
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
