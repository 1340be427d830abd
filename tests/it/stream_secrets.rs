//! Where keys come from, and where they do not appear: records, stderr, the log, cassettes.

use std::path::Path;

use serde_json::json;

use crate::http::{Reply, Server};
use crate::scratch::{Ran, Scratch, finish};
use crate::stream::request;

const CANARY: &str = "sk-canary-0123456789";

/// A server that repeats the key it was sent.
fn echo(status: u16) -> Reply {
    Reply::status(status, "", &format!(r#"{{"error":{{"message":"Incorrect API key provided: {CANARY}"}}}}"#))
}

fn run(scratch: &Scratch, server: &Server, source: &str, args: &[&str]) -> Ran {
    scratch.config(&format!(
        "version = 1\n[[endpoint]]\nname = \"mock\"\nbase_url = \"{}\"\napi_key = \"{source}\"\n",
        server.url
    ));
    let mut command = scratch.nub("nub-stream");
    command.args(args).env("MY_KEY", CANARY).env("NUB_LOG", "debug");
    finish(command, request("hi"))
}

fn files(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, found);
        } else if !path.ends_with("key.txt") {
            found.push(String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned());
        }
    }
}

#[test]
fn a_key_comes_from_each_source() {
    let scratch = Scratch::new();
    let server = Server::start(vec![Reply::text("a")]);
    let file = scratch.file("key.txt", format!("{CANARY}\n"));
    for source in
        ["env:MY_KEY".to_owned(), format!("file:{}", file.display()), "cmd:printf %s $MY_KEY".to_owned()]
    {
        let ran = run(&scratch, &server, &source, &[]);
        assert_eq!(ran.code, 0, "{source}: {}", ran.out);
        let asked = server.asked();
        assert_eq!(
            asked.last().unwrap().header("authorization"),
            Some(&*format!("Bearer {CANARY}")),
            "{source}"
        );
    }
    run(&scratch, &server, "none", &[]);
    assert_eq!(server.asked().last().unwrap().header("authorization"), None);
}

#[test]
fn a_refused_key_is_named_by_its_source_and_shown_nowhere() {
    let scratch = Scratch::new();
    let server = Server::start(vec![echo(401)]);
    for args in [&[][..], &["--record", "tape"], &["--format", "text"], &["--dry-run"], &["--list-models"]] {
        let ran = run(&scratch, &server, "env:MY_KEY", args);
        assert!(!ran.out.contains(CANARY) && !ran.err.contains(CANARY), "{args:?}: {} {}", ran.out, ran.err);
    }
    let ran = run(&scratch, &server, "env:MY_KEY", &[]);
    let error = &ran.of("error")[0];
    assert_eq!((&error["class"], ran.code), (&json!("auth"), 1));
    assert!(error["hint"].as_str().unwrap().contains("env:MY_KEY"), "{error}");
    let mut texts = Vec::new();
    files(scratch.home().parent().unwrap(), &mut texts);
    assert!(texts.len() >= 2);
    assert!(texts.iter().all(|text| !text.contains(CANARY)));
}

#[test]
fn a_missing_key_names_its_source() {
    let scratch = Scratch::new();
    let server = Server::start(vec![Reply::text("a")]);
    let ran = run(&scratch, &server, "env:NOT_SET", &[]);
    let error = &ran.of("error")[0];
    assert_eq!(error["class"], "auth");
    assert!(error["message"].as_str().unwrap().contains("NOT_SET"), "{error}");
    assert!(server.asked().is_empty());
}

#[test]
fn a_key_can_not_add_headers() {
    let scratch = Scratch::new();
    let server = Server::start(vec![Reply::text("a")]);
    for source in ["cmd:printf 'a\\\\r\\\\nX-Evil: 1'", "cmd:printf 'schl\\\\303\\\\274ssel'"] {
        let ran = run(&scratch, &server, source, &[]);
        assert_eq!(ran.of("error").len(), 1, "{source}: {}", ran.out);
    }
    assert!(server.asked().is_empty());
}

#[test]
fn the_command_of_a_key_runs_once() {
    let scratch = Scratch::new();
    let server = Server::start(vec![Reply::text("a")]);
    scratch.endpoint(&server.url, "");
    let text = std::fs::read_to_string(scratch.home().join("config/nub/config.toml")).unwrap();
    scratch.config(&text.replace("\"none\"", "\"cmd:echo x >> count; echo k-123456\""));
    let ran = scratch.run("nub-stream", &[] as &[&str], [request("a"), request("b")].concat());
    assert_eq!(ran.of("done").len(), 2, "{}", ran.out);
    assert_eq!(scratch.read("count"), "x\n");
}
