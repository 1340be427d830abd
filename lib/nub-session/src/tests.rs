//! Unit tests of the pure parts: lines in both directions, and the walk against a naive model.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::path::PathBuf;

use nub_proto::NodeKind;

use crate::open::Open;
use crate::print;
use crate::redact::redact;
use crate::scan::{Backward, Forward, extent};
use crate::search::pattern;
use crate::{gist, path};

/// The same numbers in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % most
    }
}

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        Scratch(std::env::temp_dir().join(format!("nub-session-{}-{name}", std::process::id())))
    }

    fn write(&self, bytes: &[u8]) -> File {
        fs::write(&self.0, bytes).unwrap();
        File::open(&self.0).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.0));
    }
}

#[test]
fn lines_are_the_same_in_both_directions() {
    let scratch = Scratch::new("lines");
    let mut numbers = Numbers(3);
    for round in 0..30 {
        let mut bytes = Vec::new();
        for _ in 0..numbers.below(12) {
            // some around the size of the buffer, some around that of the part that is kept
            let len = match numbers.below(4) {
                0 => numbers.below(900_000),
                1 => 256 * 1024 - 3 + numbers.below(6),
                2 => 4 * 1024 - 3 + numbers.below(6),
                _ => numbers.below(80),
            };
            bytes.extend((0..len).map(|at| b'a' + u8::try_from(at % 23).unwrap()));
            bytes.push(b'\n');
        }
        let torn = numbers.below(3) * 100_000;
        let whole = bytes.len();
        bytes.extend(std::iter::repeat_n(b'#', torn));
        let file = scratch.write(&bytes);
        let extent = extent(&file).unwrap();
        assert_eq!((extent.good, extent.torn), (whole as u64, torn as u64), "round {round}");
        let mut naive: Vec<(u64, u64)> = Vec::new();
        let mut offset = 0;
        for line in bytes[..whole].split_inclusive(|byte| *byte == b'\n') {
            naive.push((offset, line.len() as u64 - 1));
            offset += line.len() as u64;
        }
        let head_fits = |raw: &crate::scan::Raw| {
            let start = usize::try_from(raw.offset).unwrap();
            let fits = bytes[start..].starts_with(raw.head);
            fits && (raw.is_whole() || raw.head.len() >= 4096)
        };
        let mut forward = Vec::new();
        let mut lines = Forward::new(&file, 0);
        while let Some(raw) = lines.next().unwrap() {
            assert!(head_fits(&raw));
            if raw.ended {
                forward.push((raw.offset, raw.len));
            }
        }
        assert_eq!(forward, naive, "round {round}");
        let mut backward = Vec::new();
        let mut lines = Backward::new(&file, extent);
        while let Some(raw) = lines.next().unwrap() {
            assert!(head_fits(&raw));
            backward.push((raw.offset, raw.len));
        }
        backward.reverse();
        assert_eq!(backward, naive, "round {round}");
    }
}

/// A node of the model.
#[derive(Clone)]
struct Sketch {
    id: String,
    parent: String,
    kind: NodeKind,
    replaces: Vec<String>,
}

impl Sketch {
    fn line(&self, form: usize) -> String {
        let Sketch { id, parent, .. } = self;
        let kind = if self.kind == NodeKind::Summary { "summary" } else { "message" };
        let message = format!(r#"{{"role":"user","content":[{{"kind":"text","text":"{id}"}}]}}"#);
        let replaces = serde_json::to_string(&self.replaces).unwrap();
        if form == 0 {
            // as a foreign program might write it
            return format!(
                r#"{{"type":"node", "message":{message},"replaces":{replaces},"kind":"{kind}","parent":"{parent}","v":1,"id":"{id}"}}"#
            );
        }
        format!(
            r#"{{"v":1,"type":"node","id":"{id}","parent":"{parent}","kind":"{kind}","message":{message},"replaces":{replaces}}}"#
        )
    }
}

/// The rule of the protocol in its own words, on a map.
fn naive(nodes: &HashMap<String, Sketch>, head: &str) -> Vec<String> {
    let (mut after, mut summary, mut kept) = (Vec::new(), None::<Sketch>, Vec::new());
    let mut at = head.to_owned();
    while let Some(node) = nodes.get(&at) {
        match &summary {
            None if node.kind == NodeKind::Summary => summary = Some(node.clone()),
            None => after.push(node.id.clone()),
            Some(summary) if summary.replaces.contains(&node.id) => break,
            Some(_) => kept.push(node.id.clone()),
        }
        at.clone_from(&node.parent);
    }
    let summary = summary.map(|summary| summary.id);
    summary.into_iter().chain(kept.into_iter().rev()).chain(after.into_iter().rev()).collect()
}

#[test]
fn the_walk_is_that_of_a_naive_model() {
    let scratch = Scratch::new("walk");
    let mut numbers = Numbers(11);
    for round in 0..400 {
        let mut nodes: Vec<Sketch> = Vec::new();
        let mut lines: Vec<String> = Vec::new();
        let mut head = String::new();
        for n in 0..numbers.below(40) {
            if !nodes.is_empty() && numbers.below(5) == 0 {
                head.clone_from(&nodes[numbers.below(nodes.len())].id);
                lines.push(format!(r#"{{"v":1,"type":"head","head":"{head}"}}"#));
            }
            if numbers.below(8) == 0 {
                lines
                    .push(["no json", "", r#"{"v":1,"type":"later","id":7}"#, "\0"][numbers.below(4)].into());
            }
            let kind = if numbers.below(6) == 0 { NodeKind::Summary } else { NodeKind::Message };
            let known: HashMap<String, Sketch> = nodes.iter().map(|n| (n.id.clone(), n.clone())).collect();
            let way = naive(&known, &head);
            let replaces = if kind == NodeKind::Summary && !way.is_empty() {
                way[..=numbers.below(way.len())].to_vec()
            } else {
                Vec::new()
            };
            let node = Sketch { id: format!("{n:026}"), parent: head.clone(), kind, replaces };
            lines.push(node.line(numbers.below(4)));
            head.clone_from(&node.id);
            nodes.push(node);
        }
        if numbers.below(5) == 0 && lines.len() > 2 {
            // children before their parents: the head must then be said
            let (a, b) = (numbers.below(lines.len()), numbers.below(lines.len()));
            lines.swap(a, b);
            lines.push(format!(r#"{{"v":1,"type":"head","head":"{head}"}}"#));
        }
        let first = r#"{"v":1,"type":"session","id":"S","created_at":"x","cwd":"/"}"#;
        scratch.write(format!("{first}\n{}\n", lines.join("\n")).as_bytes());
        let known: HashMap<String, Sketch> = nodes.iter().map(|n| (n.id.clone(), n.clone())).collect();
        let mut open = Open::read(&scratch.0).unwrap();
        let spans = path::path(&mut open).unwrap();
        let got: Vec<String> = spans.iter().map(|span| gist::node(&open, *span).unwrap().id).collect();
        assert_eq!(got, naive(&known, &head), "round {round}\n{}", lines.join("\n"));
        let mut printed = Vec::new();
        print::print(&open, &spans, &mut printed).unwrap();
        let all: HashSet<&str> = lines.iter().map(String::as_str).collect();
        assert!(String::from_utf8(printed).unwrap().lines().all(|line| all.contains(line)));
    }
}

#[test]
fn long_stretches_are_printed_byte_for_byte() {
    let scratch = Scratch::new("print");
    let mut numbers = Numbers(5);
    let mut lines = String::new();
    let mut parent = String::new();
    for n in 0..200 {
        let node = Sketch { id: format!("{n:026}"), parent, kind: NodeKind::Message, replaces: Vec::new() };
        let line =
            node.line(1).replace("\"text\":\"", &format!("\"text\":\"{}", "y".repeat(numbers.below(9000))));
        lines.push_str(&(line + "\n"));
        if numbers.below(30) == 0 {
            lines.push_str("{\"v\":1,\"type\":\"other\"}\n");
        }
        parent = node.id;
    }
    scratch.write(lines.as_bytes());
    let mut open = Open::read(&scratch.0).unwrap();
    let spans = path::path(&mut open).unwrap();
    let mut printed = Vec::new();
    print::print(&open, &spans, &mut printed).unwrap();
    let wanted: String = lines.split_inclusive('\n').filter(|line| !line.contains("other")).collect();
    assert!(printed == wanted.as_bytes());
}

#[test]
fn keys_are_masked_and_words_are_not() {
    for text in [
        "sk-abcdefghijklmnop1234",
        "AKIAABCDEFGHIJKLMNOP",
        "ghp_abcdefghijklmnopqrstuvwxyz",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
    ] {
        assert_eq!(redact(&format!("a {text} b")), "a [redacted] b");
    }
    assert_eq!(redact("API_KEY=abcdefgh123"), "API_KEY=[redacted]");
    assert_eq!(redact("Authorization: Bearer abcdefgh123"), "Authorization: Bearer [redacted]");
    assert_eq!(redact(r#"{\"password\": \"hunter2hunter2\"}"#), r#"{\"password\": \"[redacted]\"}"#);
    let plain = "the token count is 7; a secret garden; task-force; sk-1";
    assert_eq!(redact(plain), plain);
}

#[test]
fn case_counts_only_with_a_capital_letter() {
    assert!(pattern("word").unwrap().is_match("WORD"));
    assert!(!pattern("Word").unwrap().is_match("WORD"));
    assert_eq!(pattern("(").unwrap_err().exit(), nub_sys::Exit::Usage);
}
