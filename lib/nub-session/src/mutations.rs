//! Session files with random damage: whatever bytes there are, nothing panics, nothing hangs, reading
//! changes nothing, and what is appended afterwards is found again.

use std::fs;
use std::path::{Path, PathBuf};

use nub_conf::Paths;

use crate::append::{self, Target};
use crate::check;
use crate::index::Index;
use crate::open::Open;
use crate::{mend, path};

/// The same numbers in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % most
    }
}

fn paths(base: &Path) -> Paths {
    let base = base.to_owned();
    Paths {
        cwd: base.clone(),
        root: base.clone(),
        in_repo: false,
        home: base.clone(),
        config: base.join("config"),
        state: base.join("state"),
        cache: base.join("cache"),
    }
}

/// A session with everything in it.
fn sound() -> Vec<u8> {
    let mut lines = vec![
        r#"{"v":1,"type":"session","id":"01ARZ3NDEKTSV4RRFFQ69G5FAV","created_at":"2026-01-01T00:00:00Z","cwd":"/x"}"#.to_owned(),
        r#"{"v":1,"type":"context","id":"c","system":[{"kind":"text","text":"s"}],"tools":[]}"#.into(),
    ];
    let node = |n: u32, parent: &str, kind: &str, role: &str, content: &str, more: &str| {
        format!(
            r#"{{"v":1,"type":"node","id":"{n:026}","parent":"{parent}","kind":"{kind}","message":{{"role":"{role}","content":[{content}]}}{more},"meta":{{"context":"c","usage":{{"input_tokens":7}}}}}}"#
        )
    };
    let id = |n: u32| format!("{n:026}");
    let text = r#"{"kind":"text","text":"hello \"you\" \u00e9"}"#;
    let call = r#"{"kind":"tool_use","id":"t","name":"bash","input":{"v":1,"type":"x"}}"#;
    let result = r#"{"kind":"tool_result","tool_use_id":"t","result":[{"kind":"text","text":"x"}]}"#;
    lines.push(node(1, "", "message", "user", text, ""));
    lines.push(node(2, &id(1), "message", "assistant", call, ""));
    lines.push(node(3, &id(2), "message", "user", result, ""));
    lines.push(node(4, &id(3), "summary", "user", text, &format!(r#","replaces":["{}"]"#, id(1))));
    lines.push(node(5, &id(4), "message", "assistant", text, ""));
    lines.push(format!(r#"{{"v":1,"type":"head","head":"{}"}}"#, id(3)));
    lines.push(format!(r#"{{"v":1,"type":"label","node":"{}","label":"here","bookmark":true}}"#, id(3)));
    lines.push(node(6, &id(3), "message", "assistant", text, ""));
    (lines.join("\n") + "\n").into_bytes()
}

fn mutate(bytes: &mut Vec<u8>, numbers: &mut Numbers) {
    for _ in 0..=numbers.below(4) {
        if bytes.is_empty() {
            return;
        }
        let at = numbers.below(bytes.len());
        let to = at + numbers.below(bytes.len() - at).min(200);
        match numbers.below(7) {
            0 => bytes[at] ^= 1 << numbers.below(8),
            1 => bytes.truncate(at),
            2 => drop(bytes.drain(at..to)),
            3 => bytes[at..to].fill(0),
            4 => bytes.insert(at, b"\n\0\"{}\\\xff0"[numbers.below(8)]),
            5 => {
                let part = bytes[at..to].to_vec();
                let into = numbers.below(bytes.len());
                bytes.splice(into..into, part);
            }
            _ => {
                // a whole line twice, or in another place
                let lines: Vec<Vec<u8>> =
                    bytes.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
                let (from, into) = (numbers.below(lines.len()), numbers.below(lines.len()));
                let mut lines = lines.clone();
                let line = lines[from].clone();
                lines.insert(into, line);
                *bytes = lines.concat();
            }
        }
    }
}

#[test]
fn damage_of_any_kind_is_survived() {
    let base: PathBuf = std::env::temp_dir().join(format!("nub-session-{}-mutations", std::process::id()));
    fs::create_dir_all(&base).unwrap();
    let paths = paths(&base);
    let file = base.join("s.jsonl");
    let mut numbers = Numbers(17);
    for round in 0..600 {
        let mut bytes = sound();
        mutate(&mut bytes, &mut numbers);
        fs::write(&file, &bytes).unwrap();
        let Ok(mut open) = Open::read(&file) else {
            assert!(Open::written(&file).is_err(), "round {round}");
            continue;
        };
        let index = Index::survey(&open).unwrap();
        let faults = check::faults(&open, &index).len();
        let walked = path::path(&mut open).map(|spans| spans.len());
        assert_eq!(fs::read(&file).unwrap(), bytes, "round {round}: reading changes nothing");
        if Index::load(&open).is_err() {
            assert!(walked.is_err(), "round {round}: a later version");
            continue;
        }
        if numbers.below(6) == 0 {
            let copy = mend::copy(&open, &index, &paths).unwrap();
            let copy = paths.sessions().join(format!("{}.jsonl", copy.id));
            let open = Open::read(&copy).unwrap();
            let left = check::faults(&open, &Index::survey(&open).unwrap());
            assert!(left.is_empty(), "round {round}: {faults} faults, left {left:?}");
        }
        let target =
            Target { path: Some(file.clone()), announce: false, coprocess: false, paths: paths.clone() };
        let said = br#"{"v":1,"type":"message","message":{"role":"user","content":[]}}"#;
        let mut answer = Vec::new();
        let ran = append::run(target, &said[..], &mut answer, &false.into());
        if Open::written(&file).is_err() {
            assert_eq!(
                ran.unwrap_err().exit(),
                nub_sys::Exit::Usage,
                "round {round}: it begins as no session"
            );
            assert_eq!(fs::read(&file).unwrap(), bytes, "round {round}: and is left alone");
            continue;
        }
        ran.unwrap();
        let now = fs::read(&file).unwrap();
        assert!(now.ends_with(&answer), "round {round}");
        let good = usize::try_from(open.extent.good).unwrap();
        assert!(now.starts_with(&bytes[..good]), "round {round}: what was whole stays");
        let mut open = Open::read(&file).unwrap();
        let last = path::path(&mut open).unwrap().pop().unwrap();
        assert_eq!(usize::try_from(last.len).unwrap(), answer.len() - 1, "round {round}");
    }
    fs::remove_dir_all(base).unwrap();
}
