//! Tests of the pure parts: arguments, cutting, decoding, pacing, environment, titles, order.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::time::{Duration, Instant};

use nub_proto::Json;
use serde_json::{Value, json};

use crate::bash::{self, BashArgs};
use crate::cut::{Cut, KEPT};
use crate::decode::Decoder;
use crate::desk::guarded;
use crate::pace::Pace;
use crate::title::title;
use crate::tools::{self, Tool};
use crate::{arguments, environment};

/// A stream of numbers that looks random and is the same every time.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % limit
    }

    fn value(&mut self, depth: usize) -> Value {
        let odd =
            ["", "x", "5", "-1", "1e400", "true", "null", "é\u{0}\u{fffd}", "\"", "{", "pending", "\u{202e}"];
        match self.below(if depth == 0 { 5 } else { 7 }) {
            0 => Value::Null,
            1 => json!(self.below(2) == 0),
            2 => json!([i64::MIN, -1, 0, 1, i64::MAX][self.below(5)]),
            3 => json!([0.5, -0.0, 1e300, 3.0][self.below(4)]),
            4 => json!(odd[self.below(odd.len())]),
            5 => (0..self.below(3)).map(|_| self.value(depth - 1)).collect(),
            _ => Value::Object(self.object(&["text", "status", "path", "x"], depth - 1)),
        }
    }

    fn object(&mut self, names: &[&str], depth: usize) -> serde_json::Map<String, Value> {
        let mut map = serde_json::Map::new();
        for _ in 0..self.below(5) {
            map.insert(names[self.below(names.len())].to_owned(), self.value(depth));
        }
        map
    }
}

#[test]
fn whatever_the_arguments_are_they_are_read_or_named() {
    let names = [
        "path",
        "file_path",
        "offset",
        "limit",
        "content",
        "old",
        "new",
        "replace_all",
        "timeout",
        "pattern",
        "glob",
        "context",
        "ignore_case",
        "items",
        "command",
        "x",
    ];
    let mut dice = Dice::new(42);
    let (mut read, mut refused) = (0, 0);
    for _ in 0..20_000 {
        let input = Json::of(&Value::Object(dice.object(&names, 2))).unwrap();
        for tool in tools::ALL {
            match tool.begin(&input) {
                Ok(_) => read += 1,
                Err(e) => {
                    assert!(e.starts_with(tool.def().name) && e.len() < 400, "{e}");
                    refused += 1;
                }
            }
        }
        drop(title("bash", Some(&input)));
    }
    assert!(read > 200 && refused > 1000, "{read} {refused}");
}

#[test]
fn arguments_that_are_no_object_or_too_deep_are_refused() {
    let read = |text: &str| arguments::read::<BashArgs>(&bash::DEF, &Json::parse(text).unwrap());
    assert_eq!(read("[1]").unwrap_err(), "bash: expected an object of arguments, got the array [1]");
    let deep = format!("{{\"command\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(read(&deep).unwrap_err().starts_with("bash: the arguments cannot be read: recursion limit"));
    assert_eq!(read(r#"{"command":"a","command":"b"}"#).unwrap().command, "b");
    assert_eq!(read(r#"{"command":"a","timeout":"1.5"}"#).unwrap().timeout, Some(1.5));
    assert_eq!(
        read(r#"{"cmd":"ls"}"#).unwrap_err(),
        "bash: argument 'command' is missing, expected a string; there is no argument 'cmd' (got the string \"ls\"); expected command, timeout"
    );
    assert_eq!(read(r#"{"command":5}"#).unwrap_err(), "bash: argument 'command': expected a string, got 5");
}

#[test]
fn schemas_are_sound() {
    for tool in tools::ALL {
        let def = tool.def();
        let schema: Value = serde_json::from_str(def.schema).unwrap();
        let known = schema["properties"].as_object().unwrap();
        for name in schema["required"].as_array().into_iter().flatten() {
            assert!(known.contains_key(name.as_str().unwrap()), "{}: {name}", def.name);
        }
        assert!(!def.schema.contains('\n') && Tool::find(def.name) == Some(tool));
    }
}

#[test]
fn pieces_make_no_difference_to_a_cut() {
    let mut dice = Dice::new(7);
    for round in 0..60 {
        let lines = [3, 500, 3000][round % 3];
        let text: String = (0..lines)
            .map(|n| "aé漢".repeat(dice.below(if n % 97 == 0 { 2000 } else { 12 })) + "\n")
            .collect();
        let mut whole = Cut::new();
        whole.push(&text);
        let mut pieces = Cut::new();
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let (piece, more) = rest.split_at(
                rest.floor_char_boundary(1 + dice.below(4000))
                    .max(rest.chars().next().map_or(0, char::len_utf8)),
            );
            pieces.push(piece);
            rest = more;
        }
        let (whole, pieces) = (whole.finish(), pieces.finish());
        assert_eq!(whole, pieces);
        let kept = whole.head.chars().count() + whole.tail.chars().count();
        assert!(kept <= KEPT, "{kept}");
        if !whole.is_cut {
            assert_eq!(whole.head, text);
        }
    }
}

#[test]
fn exactly_as_much_as_fits_is_not_cut() {
    let line = "x".repeat(99) + "\n";
    for (lines, cut) in [(300, 0), (301, 100)] {
        let mut taken = Cut::new();
        taken.push(&line.repeat(lines));
        let rest = taken.finish();
        assert_eq!((rest.dropped, rest.is_cut), (cut, cut > 0));
    }
}

#[test]
fn a_torn_character_waits_for_its_rest() {
    let bytes = "aé漢🦀z\u{fffd}".as_bytes();
    for at in 0..=bytes.len() {
        let mut decoder = Decoder::default();
        let text = decoder.push(&bytes[..at]) + &decoder.push(&bytes[at..]) + &decoder.finish();
        assert_eq!(text.as_bytes(), bytes);
    }
    let mut dice = Dice::new(3);
    for _ in 0..2000 {
        let bytes: Vec<u8> =
            (0..dice.below(40)).map(|_| [0x41, 0xc3, 0xa9, 0xf0, 0x9f, 0xff, 0xe2][dice.below(7)]).collect();
        let mut decoder = Decoder::default();
        let at = dice.below(bytes.len() + 1);
        let text = decoder.push(&bytes[..at]) + &decoder.push(&bytes[at..]) + &decoder.finish();
        assert_eq!(text, String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn a_flood_is_shown_at_a_bounded_rate_and_counted() {
    let start = Instant::now();
    let mut pace = Pace::new(start);
    let chunk = "y\n".repeat(8192);
    let mut shown = 0;
    for tick in 0..10_000u64 {
        let now = start + Duration::from_millis(tick);
        shown += pace.pieces(&chunk, now).iter().map(String::len).sum::<usize>();
    }
    assert!((256 << 10..1200 << 10).contains(&shown), "{shown}");
    assert!(pace.mark().contains(" bytes not shown "));
    let quiet = pace.pieces("end", start + Duration::from_secs(20));
    assert_eq!(quiet, ["end"]);
    let mut pace = Pace::new(start);
    assert!((0..3000).map(|_| pace.pieces("x", start).len()).sum::<usize>() <= 1024, "single bytes cost too");
}

#[test]
fn names_that_look_like_secrets_go() {
    let own = [
        "PATH",
        "MONKEY",
        "KEYMAP",
        "A_KEY_B",
        "X_TOKENS",
        "GITHUB_TOKEN",
        "PassWord_x",
        "AUTHOR",
        "SECRET",
        "EDITOR",
    ];
    let own = own.iter().map(|name| (OsString::from(name), OsString::from("v")));
    let built = environment::build(own, &BTreeSet::from(["AUTHOR".into()]), &["SECRET".into()]);
    let names: Vec<&str> = built.iter().map(|(name, _)| name.to_str().unwrap()).collect();
    assert_eq!(names[..4], ["PATH", "MONKEY", "KEYMAP", "SECRET"]);
    assert_eq!(names.iter().filter(|name| **name == "EDITOR").count(), 1);
}

#[test]
fn titles_are_one_short_line() {
    let of = |name: &str, input: Value| title(name, Some(&Json::of(&input).unwrap()));
    assert_eq!(of("bash", json!({ "command": "ls\n\t-l \u{1b}[31m" })), "bash: ls -l [31m");
    assert_eq!(of("grep", json!({ "pattern": "x", "path": "src" })), "grep: x in src");
    assert_eq!(of("read", json!({ "file_path": "a" })), "read: a");
    assert_eq!(title("bash", None), "bash");
    assert_eq!(of("bash", json!({ "command": "é".repeat(500) })).chars().count(), 121);
}

#[test]
fn writers_keep_their_order_and_commands_hold_up_only_them() {
    use Tool::{Bash, Edit, Glob, Grep, Read, Todo, Write};
    let before = [
        (Write, Edit),
        (Bash, Bash),
        (Bash, Write),
        (Edit, Bash),
        (Write, Read),
        (Edit, Grep),
        (Read, Write),
    ];
    assert!(before.iter().all(|(first, later)| first.goes_before(*later)));
    let beside = [(Bash, Read), (Bash, Glob), (Read, Read), (Grep, Write), (Todo, Bash), (Read, Grep)];
    assert!(beside.iter().all(|(first, later)| !first.goes_before(*later)));
}

#[test]
fn a_fault_of_ours_is_an_error_result() {
    let outcome = guarded("grep", || panic!("oops"));
    assert!(outcome.is_error);
    assert_eq!(crate::desk::for_model(&outcome), "grep: internal error, a fault of nub; its log says more");
}
