//! Answers of a given form from servers that cannot be made to keep to it.

use serde_json::json;

use crate::http::Reply;
use crate::scratch::Ran;
use crate::stream::{ask, kinds};

fn formed(replies: Vec<Reply>, more: &str) -> (Ran, Vec<serde_json::Value>) {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": false});
    let request = json!({"v": 1, "type": "request", "model": "m-1", "endpoint": "mock", "format": {"name": "f", "schema": schema},
        "messages": [{"role": "user", "content": [{"kind": "text", "text": "a number"}]}]});
    let (ran, server) = ask(replies, more, &[], &format!("{request}\n"));
    let bodies = server.asked().iter().map(|asked| asked.json()).collect();
    (ran, bodies)
}

#[test]
fn with_the_cap_the_server_is_told() {
    let (ran, bodies) = formed(vec![Reply::text("{\"n\":1}")], "caps = { json_schema = true }");
    assert_eq!(ran.of("message")[0]["message"]["content"][0]["text"], "{\"n\":1}");
    assert_eq!(bodies[0]["response_format"]["type"], "json_schema");
    assert_eq!(bodies[0]["messages"][0]["role"], "user");
}

#[test]
fn without_it_the_model_is_told_and_the_answer_checked() {
    for said in ["{\"n\":1}", "```json\n{\"n\":1}\n```", "Here it is: {\"n\":1}."] {
        let (ran, bodies) = formed(vec![Reply::text(said)], "");
        assert_eq!(kinds(&ran), ["block_start", "block_delta", "block_stop", "message", "done"]);
        assert_eq!(ran.of("block_delta")[0]["text"], "{\"n\":1}");
        assert_eq!(ran.of("message")[0]["message"]["content"][0]["text"], "{\"n\":1}");
        assert!(bodies[0].get("response_format").is_none());
        assert!(bodies[0]["messages"][0]["content"].as_str().unwrap().contains("JSON Schema"));
    }
}

#[test]
fn a_wrong_answer_gets_one_more_round() {
    let (ran, bodies) = formed(vec![Reply::text("{\"n\":\"one\"}"), Reply::text("{\"n\":1}")], "");
    assert_eq!(ran.of("block_delta").len(), 1);
    assert_eq!(ran.of("message")[0]["message"]["content"][0]["text"], "{\"n\":1}");
    assert_eq!(bodies[1]["messages"][2]["role"], "assistant");
    assert!(bodies[1]["messages"][3]["content"].as_str().unwrap().contains("$.n must be integer"));
}

#[test]
fn and_no_third() {
    let (ran, bodies) = formed(vec![Reply::text("no")], "");
    assert_eq!((kinds(&ran), bodies.len(), ran.code), (vec!["error".to_owned()], 2, 2));
    assert!(ran.of("error")[0]["message"].as_str().unwrap().contains("does not match the schema 'f'"));
}
