//! Where nub-stream asks when neither request nor configuration say so.

use serde_json::json;

use crate::http::{Reply, Server};
use crate::scratch::{Scratch, finish};
use crate::stream::request;

fn bare() -> String {
    request("hi").replace("mock", "").replace("m-1", "")
}

#[test]
fn a_server_on_this_machine_is_found_and_told() {
    let scratch = Scratch::new();
    let server = Server::start(vec![
        Reply::status(200, "", r#"{"data":[{"id":"small"},{"id":"large"}]}"#),
        Reply::text("a"),
    ]);
    let mut command = scratch.nub("nub-stream");
    command.env("OLLAMA_HOST", server.url.trim_end_matches("/v1"));
    let ran = finish(command, [bare(), bare()].concat());
    let warnings = ran.of("warning");
    assert_eq!(warnings.len(), 1, "{}", ran.out);
    assert_eq!(
        (&warnings[0]["code"], &warnings[0]["source"]),
        (&json!("endpoint_chosen"), &json!("nub-stream"))
    );
    let said = warnings[0]["message"].as_str().unwrap();
    assert!(said.contains("'small'") && said.contains("'ollama'"), "{said}");
    assert_eq!(ran.of("done").len(), 2);
    assert_eq!(server.asked().len(), 3);
    assert_eq!(server.asked()[2].json()["model"], "small");
}

#[test]
fn a_key_in_the_environment_comes_first() {
    let scratch = Scratch::new();
    let mut command = scratch.nub("nub-stream");
    command.args(["--dry-run"]).env("MISTRAL_API_KEY", "k-canary-1");
    let ran = finish(command, bare());
    assert!(ran.out.starts_with("POST https://api.mistral.ai/v1/chat/completions\n"), "{}", ran.out);
    assert!(ran.out.contains("authorization: Bearer ***") && !ran.out.contains("canary"));
    assert!(!ran.out.contains("stream_options"));
}

#[test]
fn the_first_endpoint_of_the_file_comes_before_what_is_found() {
    let scratch = Scratch::new();
    let server = Server::start(vec![Reply::text("a")]);
    scratch.config(&format!("version = 1\n[[endpoint]]\nname = \"own\"\nbase_url = \"{}\"\n", server.url));
    let mut command = scratch.nub("nub-stream");
    command.env("OPENAI_API_KEY", "k-1");
    let ran = finish(command, request("hi").replace("mock", ""));
    assert_eq!(ran.of("message")[0]["meta"]["endpoint"], "own", "{}", ran.out);
}

#[test]
fn an_endpoint_of_the_registry_needs_no_configuration() {
    let scratch = Scratch::new();
    let ran = scratch.run("nub-stream", &["--dry-run", "--endpoint", "groq"], request("hi"));
    assert!(ran.out.starts_with("POST https://api.groq.com/openai/v1/chat/completions\n"), "{}", ran.out);
}

#[test]
fn with_nothing_to_ask_the_user_is_told_what_to_do() {
    let scratch = Scratch::new();
    let mut command = scratch.nub("nub-stream");
    command.env("OLLAMA_HOST", "127.0.0.1:9");
    let ran = finish(command, bare());
    // a developer's machine may run a server on one of the usual ports
    if let Some(error) = ran.of("error").first().filter(|error| error["class"] == "config") {
        assert_eq!(ran.code, 2);
        assert!(error["hint"].as_str().unwrap().contains("OPENAI_API_KEY"), "{error}");
    }
    let ran = scratch.run("nub-stream", &["--endpoint", "opnai"], bare());
    assert_eq!(ran.code, 2);
    assert!(ran.of("error")[0]["hint"].as_str().unwrap().contains("openai"));
}
