//! Tests of framing, blocks and the repair.

use crate::*;

fn line(text: &str) -> Line {
    Line::check(text.as_bytes().to_vec(), 1).unwrap()
}

#[test]
fn a_message_keeps_its_bytes() {
    let text = r#"{"v":1,"type":"message","message":{"role":"assistant","content":[{"kind":"text","text":"hi"},{"kind":"tool_use","id":"c1","name":"read","input":{"path": "a.txt","n":1.0}}]},"meta":{"stop":"tool_use","usage":{"input_tokens":3}}}"#;
    let record: MessageRecord = line(text).read().unwrap();
    let mut out = Vec::new();
    encode(&record, &mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), format!("{text}\n"));
}

#[test]
fn lines_are_split_on_lf_only_and_checked() {
    let input = "{\"v\":1,\"type\":\"x\",\"t\":\"a\u{2028}b\"}\r\n\n  \n{\"v\":2,\"type\":\"y\"}\n";
    let mut reader = Reader::new(input.as_bytes());
    let first = reader.next_line().unwrap().unwrap();
    assert_eq!(first.kind(), "x");
    assert!(first.raw().ends_with(b"\r"), "a foreign line keeps every byte");
    assert!(matches!(reader.next_line(), Err(FrameError::Version { line: 4, version: 2 })));
    for bad in ["[1]", "hello", "{\"v\":1}", "{\"type\":\"x\"}", "{\"v\":1,\"type\":\"x\"", "7"] {
        let e = Reader::new(bad.as_bytes()).next_line().unwrap_err();
        assert!(matches!(e, FrameError::NotRecord { line: 1, .. }), "{bad}: {e}");
    }
}

#[test]
fn a_line_without_end_is_refused_at_the_limit() {
    let endless = std::io::Read::take(std::io::repeat(b'a'), MAX_LINE as u64 + 10);
    assert!(matches!(Reader::new(endless).next_line(), Err(FrameError::TooLong { line: 1 })));
}

#[test]
fn lone_surrogates_are_replaced_and_pairs_kept() {
    let text = r#"{"v":1,"type":"block_delta","index":0,"text":"a\ud83d\ude00b\ud83dc\\ud800"}"#;
    let delta: BlockDelta = line(text).read().unwrap();
    assert_eq!(delta.text.unwrap(), "a\u{1F600}b\u{FFFD}c\\ud800");
}

#[test]
fn arguments_that_are_no_object_are_raw() {
    let block: Block =
        serde_json::from_str(r#"{"kind":"tool_use","id":"1","name":"n","input":[1]}"#).unwrap();
    assert!(matches!(block.kind, Kind::ToolUse { input: Input::Raw(t), .. } if t == "[1]"));
}

#[test]
fn names_are_complete() {
    for name in [MessageRecord::<Message>::TYPE, Request::<Message>::TYPE, Node::<Message>::TYPE, Tool::TYPE]
    {
        assert!(NAMES.contains(&name));
    }
    assert_eq!(NAMES.len(), 29);
}

#[test]
fn repair_answers_every_call_in_its_place() {
    let call = |id: &str| {
        Block::new(Kind::ToolUse {
            id: id.into(),
            name: "bash".into(),
            input: Input::Object(Json::parse("{}").unwrap()),
        })
    };
    let asks = Message { role: Role::Assistant, content: vec![call("a"), call("b")] };
    let half =
        Message { role: Role::User, content: vec![Block::result("a", "ok", false), Block::text("and?")] };
    let mut path = vec![Message::user("go"), asks.clone(), half, asks];
    assert!(repair(&mut path));
    assert_eq!(path.len(), 5);
    assert!(
        matches!(&path[2].content[1].kind, Kind::ToolResult { tool_use_id, is_error: true, .. } if tool_use_id == "b")
    );
    assert!(matches!(&path[2].content[2].kind, Kind::Text { .. }));
    assert_eq!(path[4].content.len(), 2);
    assert!(!repair(&mut path));
}

#[test]
fn attachments_stay_inside_their_fence() {
    assert_eq!(crate::fenced("", "a"), "```\na\n```");
    assert_eq!(crate::fenced("x.md", "```sh\n````\n"), "x.md:\n`````\n```sh\n````\n`````");
    for (plain, coded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")] {
        assert_eq!(crate::base64(plain.as_bytes()), coded);
    }
    assert_eq!(crate::picture(b"\x89PNG\r\n"), Some("image/png"));
    assert!(crate::image(b"text").is_none());
}

#[test]
fn raw_json_stays_one_line() {
    assert_eq!(Json::parse("{\n \"a\": \"x\\n\"\r\n}\n").unwrap().text(), "{ \"a\": \"x\\n\"}");
}
