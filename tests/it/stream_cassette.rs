//! Cassettes, the dry run and the list of models.

use serde_json::{Value, json};

use crate::http::{Reply, Server};
use crate::scratch::Scratch;
use crate::stream::{kinds, request};

#[test]
fn what_was_recorded_is_played_without_a_server() {
    let scratch = Scratch::new();
    let server = Server::start(vec![
        Reply::text("one"),
        Reply::status(400, "", "no"),
        Reply::call("c1", "read", &json!({"path": "a"})),
    ]);
    scratch.endpoint(&server.url, "");
    let input = [request("a"), request("b"), request("c")].concat();
    let recorded = scratch.run("nub-stream", &["--record", "tape"], &input);
    assert_eq!(server.asked().len(), 3);
    let played = scratch.run("nub-stream", &["--replay", "tape"], &input);
    assert_eq!(server.asked().len(), 3);
    assert_eq!(kinds(&played), kinds(&recorded));
    assert_eq!(played.of("message")[1]["message"], recorded.of("message")[1]["message"]);
    assert_eq!(played.code, recorded.code);
}

#[test]
fn a_miss_says_where_the_request_differs() {
    let scratch = Scratch::new();
    let server = Server::start(vec![Reply::text("one")]);
    scratch.endpoint(&server.url, "");
    scratch.run(
        "nub-stream",
        &["--record", "tape"],
        [request("something else"), request("hello world")].concat(),
    );
    let ran = scratch.run("nub-stream", &["--replay", "tape"], request("hello moon"));
    let message = ran.of("error")[0]["message"].as_str().unwrap().to_owned();
    assert_eq!(ran.code, 2);
    for part in ["recorded request 2 at byte", "(messages[0].content)", "`world", "`moon"] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn a_cassette_in_order_compares_nothing() {
    let scratch = Scratch::new();
    let events = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let exchange = json!({"v": 1, "type": "exchange", "response": {"status": 200, "body": [&events[..20], &events[20..]]}});
    scratch.file("tape", format!("{{\"v\":1,\"type\":\"cassette\",\"match\":\"order\"}}\n{exchange}\n"));
    // nothing is configured, and nothing is looked for
    let bare = request("x").replace("mock", "").replace("m-1", "");
    let ran = scratch.run("nub-stream", &["--replay", "tape"], [bare.clone(), bare].concat());
    assert_eq!(ran.of("message")[0]["message"]["content"][0]["text"], "hi");
    assert!(ran.of("warning").is_empty());
    assert!(ran.of("error")[0]["message"].as_str().unwrap().contains("all 1 of its answers"), "{}", ran.out);
}

#[test]
fn what_is_no_cassette_is_refused() {
    let scratch = Scratch::new();
    scratch.file("tape", "hello\n");
    for name in ["tape", "absent"] {
        let ran = scratch.run("nub-stream", &["--replay", name], request("x"));
        assert_eq!(ran.code, 2);
        assert!(ran.err.contains(&format!("cannot play '{name}'")), "{}", ran.err);
    }
}

#[test]
fn the_dry_run_shows_exactly_what_would_be_sent() {
    let scratch = Scratch::new();
    let server = Server::start(vec![Reply::text("a")]);
    scratch.endpoint(&server.url, "headers = { X-Team = \"red-team\" }");
    let shown = scratch.run("nub-stream", &["--dry-run"], request("hi"));
    assert!(server.asked().is_empty());
    scratch.run("nub-stream", &[] as &[&str], request("hi"));
    let (head, body) = shown.out.split_once("\n\n").unwrap();
    assert_eq!(body.trim_end(), server.asked()[0].body);
    assert!(head.starts_with(&format!("POST {}/chat/completions\n", server.url)), "{head}");
    let names = |lines: &str| {
        let lines = lines.lines().skip(1).filter_map(|line| line.split_once(':'));
        let mut names: Vec<String> = lines.map(|(name, _)| name.to_lowercase()).collect();
        names.sort();
        names
    };
    assert_eq!(names(head), names(&server.asked()[0].head));
    for line in head.lines().skip(1) {
        let (name, value) = line.split_once(": ").unwrap();
        assert!(value == "***" || server.asked()[0].header(name) == Some(value), "{line}");
    }
    assert!(!shown.out.contains("red-team"));
}

#[test]
fn models_are_listed_with_their_windows() {
    let list = json!({"object": "list", "data": [
        {"id": "vllm", "max_model_len": 4096}, {"id": "router", "name": "Router: a title", "context_length": 8192.0, "top_provider": {"max_completion_tokens": 100}},
        {"id": "odd", "context_length": null}, {"id": "lm", "max_context_length": 32768, "loaded_context_length": 4000}]});
    let scratch = Scratch::new();
    let missing = Reply::status(404, "", "");
    let server = Server::start(vec![
        Reply::status(200, "", &list.to_string()),
        Reply::status(200, "", r#"{"default_generation_settings":{"n_ctx":2048}}"#),
        missing,
    ]);
    scratch.endpoint(&server.url, "");
    let ran = scratch.run("nub-stream", &["--list-models"], "");
    let models: Vec<(Value, Value)> = ran
        .of("model")
        .into_iter()
        .map(|model| (model["id"].clone(), model["max_context"].clone()))
        .collect();
    assert_eq!(
        models,
        [
            (json!("vllm"), json!(4096)),
            (json!("router"), json!(8192)),
            (json!("odd"), json!(2048)),
            (json!("lm"), json!(4000))
        ]
    );
    assert_eq!(ran.of("model")[1]["max_output"], 100);
    assert!(server.asked()[0].head.starts_with("GET /v1/models "));
    assert!(server.asked()[1].head.starts_with("GET /props "));

    let server = Server::start(vec![Reply::status(200, "", r#"[{"id":"a","context_length":5}]"#)]);
    scratch.endpoint(&server.url, "");
    let ran = scratch.run("nub-stream", &["--list-models", "--format=text"], "");
    assert_eq!(ran.out, "a          5\n");
}

#[test]
fn ollama_is_asked_in_its_own_way() {
    let scratch = Scratch::new();
    let show =
        json!({"parameters": "stop x\nnum_ctx    4096", "model_info": {"qwen2.context_length": 32768}});
    let server = Server::start(vec![
        Reply::status(200, "", r#"{"data":[{"id":"q"}]}"#),
        Reply::status(404, "", ""),
        Reply::status(200, "", &show.to_string()),
    ]);
    scratch.endpoint(&server.url, "");
    let ran = scratch.run("nub-stream", &["--list-models"], "");
    assert_eq!(ran.of("model")[0]["max_context"], 4096);
    assert_eq!(server.asked()[2].json(), json!({"model": "q"}));
}
