//! Bodies, rule by rule: the names are those of the quirk list's request side (R01 to R52).

mod fields;
mod messages;
mod stable;

use nub_conf::{CapsOverride, Endpoint};
use nub_proto::Request;
use serde_json::{Value, json};

use super::build;
use crate::adapter::Adapter;
use crate::chat::Chat;
use crate::failure::Failure;
use crate::target::Target;

/// A model at an endpoint with these caps over what is known about it.
fn target(base_url: &str, model: &str, caps: Value) -> Target {
    let caps: CapsOverride = serde_json::from_value(caps).unwrap();
    let endpoint = Endpoint { name: "here".into(), base_url: base_url.into(), caps, ..Endpoint::default() };
    Target::new(endpoint, model.into())
}

/// A model that nothing is known about, somewhere.
fn plain(caps: Value) -> Target {
    target("https://example.com/v1", "m-1", caps)
}

fn request(value: &Value) -> Request {
    serde_json::from_value(value.clone()).unwrap()
}

fn try_body(asked: &Value, target: &Target) -> Result<Value, Failure> {
    build(&request(asked), target).map(|body| serde_json::from_slice(&body.bytes).unwrap())
}

fn body(asked: &Value, target: &Target) -> Value {
    try_body(asked, target).unwrap()
}

/// The messages that a conversation becomes.
fn messages(conversation: &Value, target: &Target) -> Value {
    body(&json!({"messages": conversation, "tools": [tool("read")]}), target)["messages"].clone()
}

fn tool(name: &str) -> Value {
    json!({"name": name, "description": "d", "schema": {"type": "object", "properties": {"path": {"type": "string"}}}})
}

fn text(text: &str) -> Value {
    json!({"kind": "text", "text": text})
}

fn user(said: &str) -> Value {
    json!({"role": "user", "content": [text(said)]})
}

fn assistant(blocks: &[Value]) -> Value {
    json!({"role": "assistant", "content": blocks})
}

fn call(id: &str) -> Value {
    json!({"kind": "tool_use", "id": id, "name": "read", "input": {"path": "a"}})
}

fn result(id: &str, said: &str) -> Value {
    json!({"kind": "tool_result", "tool_use_id": id, "result": [text(said)]})
}

/// One question, one call, its result.
fn turn(id: &str) -> Value {
    json!([user("q"), assistant(&[call(id)]), {"role": "user", "content": [result(id, "r")]}])
}

/// The headers that go with a body.
fn headers(asked: &Value, target: &Target) -> Vec<(String, String)> {
    let body = build(&request(asked), target).unwrap();
    Chat.headers(Some("sk-1"), &body)
}
