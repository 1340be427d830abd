//! The fixtures of real servers' oddities, replayed whole and cut at every byte.

use std::collections::HashSet;
use std::path::PathBuf;
use std::{fs, panic};

use nub_conf::{Caps, CapsOverride};
use nub_proto::{Block, ErrorClass, Input, Kind};
use serde::Deserialize;

use super::{Answer, End, Event, Outcome, Progress};
use crate::failure::Failure;

#[derive(Deserialize)]
struct Fixture {
    id: String,
    #[serde(default)]
    caps: CapsOverride,
    #[serde(default)]
    request: Asked,
    http: Http,
    body_chunks: Vec<String>,
    expect: serde_json::Value,
}

#[derive(Deserialize, Default)]
struct Asked {
    tools: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Http {
    status: u16,
    #[serde(default)]
    headers: std::collections::BTreeMap<String, String>,
    #[serde(default)]
    end: Option<String>,
}

impl Fixture {
    /// The chunks; `None` for what only the HTTP side can read.
    fn chunks(&self) -> Option<Vec<Vec<u8>>> {
        let readable = self.http.status == 200 && !self.http.headers.contains_key("content-encoding");
        readable.then(|| self.body_chunks.iter().map(|chunk| raw(chunk)).collect())
    }

    fn answer(&self) -> Answer {
        let mut caps = Caps::default();
        self.caps.apply(&mut caps);
        let tools = self.request.tools.clone();
        let tools = tools
            .unwrap_or_else(|| ["read", "bash", "write", "edit", "glob", "grep"].map(String::from).into());
        Answer::new(&caps, tools, HashSet::new())
    }

    fn end(&self) -> End {
        match self.http.end.as_deref() {
            Some("reset") => End::Broken(Failure::new(ErrorClass::Network, "reset").retryable()),
            Some("stall") => End::Broken(Failure::new(ErrorClass::Timeout, "silence").retryable()),
            _ => End::Eof,
        }
    }
}

fn raw(chunk: &str) -> Vec<u8> {
    match chunk.strip_prefix("b64:") {
        Some(coded) => base64(coded),
        None => chunk.as_bytes().to_vec(),
    }
}

fn base64(coded: &str) -> Vec<u8> {
    let digit = |c: u8| {
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".iter().position(|d| *d == c)
    };
    let digits: Vec<usize> = coded.bytes().filter_map(digit).collect();
    let bits: String = digits.iter().map(|d| format!("{d:06b}")).collect();
    bits.as_bytes()
        .chunks_exact(8)
        .map(|b| u8::from_str_radix(std::str::from_utf8(b).unwrap(), 2).unwrap())
        .collect()
}

pub(crate) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/stream")
}

fn fixtures() -> Vec<Fixture> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "json"));
    paths.sort();
    assert!(paths.len() > 100, "fixtures are missing");
    paths.iter().map(|path| serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()).collect()
}

/// What an answer became: its blocks by their events, and its outcome.
#[derive(Debug, PartialEq)]
struct Played {
    shown: Vec<Shown>,
    outcome: Result<Outcome, Failure>,
}

#[derive(Debug, PartialEq)]
struct Shown {
    start: Block,
    text: String,
    json: String,
    stopped: bool,
}

fn play<'a>(mut answer: Answer, chunks: impl IntoIterator<Item = &'a [u8]>, end: End) -> Played {
    let mut shown: Vec<Shown> = Vec::new();
    let mut sink = |event: Event<'_>| match event {
        Event::Start(start) => {
            assert_eq!(start.index, shown.len(), "blocks start in order");
            shown.push(Shown {
                start: start.block,
                text: String::new(),
                json: String::new(),
                stopped: false,
            });
        }
        Event::Delta(delta) => {
            let block = &mut shown[delta.index];
            assert!(!block.stopped, "a delta behind the stop");
            block.text.push_str(delta.text.as_deref().unwrap_or_default());
            block.json.push_str(delta.partial_json.as_deref().unwrap_or_default());
        }
        Event::Stop(stop) => {
            assert!(!std::mem::replace(&mut shown[stop.index].stopped, true), "stopped twice");
        }
    };
    let mut outcome = None;
    for chunk in chunks {
        match answer.feed(chunk, &mut sink) {
            Ok(Progress::More) => {}
            Ok(Progress::Finished) => break,
            Err(failure) => {
                outcome = Some(Err(failure));
                break;
            }
        }
    }
    let outcome = outcome.unwrap_or_else(|| answer.end(end, &mut sink));
    Played { shown, outcome }
}

fn check(fixture: &Fixture, played: &Played) {
    let expect = &fixture.expect;
    let blocks = expect["blocks"].as_array().unwrap();
    assert_eq!(blocks.len(), played.shown.len(), "{:?}", played.shown);
    for (want, got) in blocks.iter().zip(&played.shown) {
        match &got.start.kind {
            Kind::Text { .. } | Kind::Thinking { .. } => assert_eq!(want["text"], *got.text),
            Kind::ToolUse { name, id, .. } => {
                assert_eq!(want["name"], **name);
                assert!(!id.is_empty());
                if let Some(wanted) = want["id"].as_str() {
                    assert_eq!(wanted, id);
                }
            }
            Kind::ToolResult { .. } | Kind::Image { .. } => panic!("{got:?}"),
        }
    }
    if let Some(error) = expect["error"].as_object() {
        let failure = played.outcome.as_ref().unwrap_err();
        assert_eq!(error["class"], serde_json::to_value(failure.class).unwrap(), "{failure:?}");
        assert_eq!(error["retryable"], failure.retryable, "{failure:?}");
        if let Some(part) = error.get("message_contains").and_then(|part| part.as_str()) {
            assert!(failure.message.contains(part), "{failure:?}");
        }
        return;
    }
    let outcome = played.outcome.as_ref().unwrap();
    assert_eq!(expect["stop"], serde_json::to_value(outcome.stop).unwrap());
    match (&expect["usage"], outcome.usage) {
        (serde_json::Value::Null, usage) => assert_eq!(usage, None),
        (want, usage) => {
            let got = serde_json::to_value(usage).unwrap();
            for (key, value) in
                want.as_object().unwrap().iter().filter(|(key, _)| *key != "input_tokens_excl_cache")
            {
                assert_eq!(
                    got.get(key).and_then(|n| n.as_u64()).unwrap_or(0),
                    value.as_u64().unwrap(),
                    "{key}"
                );
            }
        }
    }
    for (want, got) in blocks.iter().zip(&outcome.message.content) {
        check_block(want, got);
    }
    assert!(played.shown.iter().all(|block| block.stopped));
}

fn check_block(want: &serde_json::Value, got: &Block) {
    if let Some(raw) = want.get("raw").filter(|raw| !raw.is_null()) {
        let got: serde_json::Value = got.raw.as_ref().unwrap().read().unwrap();
        for (key, value) in raw.as_object().unwrap() {
            assert_eq!(*value, got[key]);
        }
    }
    match &got.kind {
        Kind::Text { text } | Kind::Thinking { text } => assert_eq!(want["text"], **text),
        Kind::ToolUse { input: Input::Object(json), .. } => {
            assert_eq!(want["input"], json.read::<serde_json::Value>().unwrap());
        }
        Kind::ToolUse { input: Input::Raw(text), .. } => assert_eq!(want["input_raw"], **text),
        Kind::ToolResult { .. } | Kind::Image { .. } => panic!("{got:?}"),
    }
}

#[test]
fn fixtures_become_what_they_must() {
    let mut failed = Vec::new();
    for fixture in fixtures() {
        let Some(chunks) = fixture.chunks() else { continue };
        let played = panic::catch_unwind(|| {
            let played = play(fixture.answer(), chunks.iter().map(Vec::as_slice), fixture.end());
            check(&fixture, &played);
        });
        if played.is_err() {
            failed.push(fixture.id);
        }
    }
    assert_eq!(failed, Vec::<String>::new());
}

#[test]
fn cuts_change_nothing() {
    for fixture in fixtures() {
        let Some(chunks) = fixture.chunks() else { continue };
        let body = chunks.concat();
        let whole = play(fixture.answer(), [&*body], fixture.end());
        for at in 0..body.len() {
            let (a, b) = body.split_at(at);
            assert_eq!(play(fixture.answer(), [a, b], fixture.end()), whole, "{} cut at {at}", fixture.id);
        }
        let bytes = play(fixture.answer(), body.chunks(1), fixture.end());
        assert_eq!(bytes, whole, "{} byte by byte", fixture.id);
    }
}

/// Mutations of the fixtures: nothing panics, and cuts change nothing. `NUB_FUZZ_RUNS` sets how many.
#[test]
fn mutations_do_no_harm() {
    let runs = std::env::var("NUB_FUZZ_RUNS").ok().and_then(|n| n.parse().ok()).unwrap_or(3000);
    let fixtures = fixtures();
    let seeds: Vec<(&Fixture, Vec<u8>)> =
        fixtures.iter().filter_map(|fixture| Some((fixture, fixture.chunks()?.concat()))).collect();
    let mut state = 1u64;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below.max(1)
    };
    for run in 0..runs {
        let (fixture, mut body) = seeds[random(seeds.len())].clone();
        for _ in 0..=random(3) {
            let at = random(body.len());
            let other = &seeds[random(seeds.len())].1;
            let from = random(other.len());
            let piece = &other[from..(from + random(40)).min(other.len())];
            let until = (at + random(30)).min(body.len());
            match random(4) {
                0 => drop(body.splice(at..until, [])),
                1 => drop(body.splice(at..at, piece.iter().copied())),
                2 => drop(body.splice(at..until, piece.iter().copied())),
                _ => body.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << random(8)),
            }
        }
        let whole = play(fixture.answer(), [&*body], fixture.end());
        let size = 1 + random(60);
        let cut = play(fixture.answer(), body.chunks(size), fixture.end());
        assert_eq!(
            cut,
            whole,
            "run {run}, {} in pieces of {size}: {:?}",
            fixture.id,
            String::from_utf8_lossy(&body)
        );
    }
}
