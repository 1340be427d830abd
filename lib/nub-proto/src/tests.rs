//! Tests of framing, blocks, the repair, turns and conversations.

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

const CALL: &str = r#"{"v":1,"type":"message","message":{"role":"assistant","content":[{"kind":"tool_use","id":"a","name":"bash","input":{}}]}}"#;
const RESULT: &str = r#"{"v":1,"type":"message","message":{"role":"user","content":[{"kind":"tool_result","tool_use_id":"a","result":[]}]}}"#;
const DONE: &str = r#"{"v":1,"type":"done","stop":"tool_use"}"#;

#[test]
fn a_turn_is_over_when_answer_and_results_are_in() {
    let mut turn = Turn::default();
    assert!(matches!(turn.hear(&line(DONE)), Ok(Heard::Nothing)), "nobody asked");
    for times in 1..=2 {
        turn.ask();
        assert!(turn.results(&line(RESULT)).unwrap().is_none(), "nothing was called");
        assert!(matches!(turn.hear(&line(CALL)), Ok(Heard::Message(..))));
        assert!(turn.hear(&line(CALL)).is_err(), "answered twice");
        assert!(turn.is_asking() && turn.is_calling() && turn.over().is_none());
        assert!(matches!(turn.hear(&line(DONE)), Ok(Heard::End)));
        assert!(turn.over().is_none());
        assert!(turn.results(&line(CALL)).unwrap().is_none(), "an echo");
        assert!(turn.results(&line(RESULT)).unwrap().is_some());
        assert_eq!((turn.over().map(|end| end.exit), turn.repeats()), (Some(0), times));
    }
}

#[test]
fn what_a_broken_answer_had_shown_is_its_text_alone() {
    let mut turn = Turn::default();
    let head = Request::<Json> { model: "m".into(), ..Request::default() };
    turn.ask();
    for text in [
        r#"{"v":1,"type":"block_start","index":0,"block":{"kind":"thinking","text":""}}"#,
        r#"{"v":1,"type":"block_delta","index":0,"text":"hm"}"#,
        r#"{"v":1,"type":"block_start","index":1,"block":{"kind":"text","text":""}}"#,
        r#"{"v":1,"type":"block_delta","index":1,"text":"so far"}"#,
    ] {
        assert!(matches!(turn.hear(&line(text)), Ok(Heard::Event)));
    }
    assert!(turn.shown(&head).is_none(), "it goes on");
    assert!(turn.hear(&line(DONE)).is_err(), "an answer ends with its message");
    turn.cancel();
    turn.fail(ErrorRecord::new("x", ErrorClass::Internal, "gone")).unwrap();
    let shown = turn.shown(&head).unwrap();
    assert_eq!((shown.message.text().as_str(), shown.meta.unwrap().stop), ("so far", Some(Stop::Cancelled)));
    let end = turn.over().unwrap();
    assert_eq!((end.stop, end.exit), (Stop::Cancelled, 3));
    assert!(String::from_utf8(end.line).unwrap().contains(r#""class":"cancelled""#));
}

#[test]
fn a_conversation_grows_at_its_end() {
    let mut talk = Talk::default();
    assert!(!talk.has_head());
    talk.expect();
    let node = r#"{"v":1,"type":"node","id":"n","parent":"","kind":"message","message":{"role":"user","content":[{"kind":"text","text":"a"}]},"meta":{}}"#;
    talk.node(&line(node)).unwrap();
    assert!(talk.is_expecting());
    talk.go_on().unwrap();
    let system = vec![Block::text(r#""messages":[]"#)];
    let head = Request { system, model: "m".into(), max_tokens: Some(5), ..Request::default() };
    talk.set_head(head.clone()).unwrap();
    talk.push(&Json::parse(r#"{"role" : "user","content":[]}"#).unwrap());
    let texts =
        [r#"{"role":"user","content":[{"kind":"text","text":"a"}]}"#, r#"{"role" : "user","content":[]}"#];
    let messages = texts.iter().map(|text| Json::parse(text).unwrap()).collect();
    assert_eq!(talk.request(), line_of(&Request { messages, ..head }).unwrap());
}

#[test]
fn inputs_wait_in_order() {
    let input =
        |op: &str, text: &str| line(&format!(r#"{{"v":1,"type":"input","op":"{op}","text":"{text}"}}"#));
    let mut inbox = Inbox::default();
    inbox.steer(&input("steer", " "));
    assert!(!inbox.is_steering(), "nothing was said");
    inbox.waiting.push_back(input("follow_up", "c"));
    inbox.steer(&input("steer", "a"));
    inbox.steer(&input("steer", "b"));
    let queue = inbox.queue();
    assert_eq!((queue.steer, queue.follow_up), (vec!["a".to_owned(), "b".into()], vec!["c".to_owned()]));
    inbox.late();
    assert_eq!(inbox.queue().follow_up, ["a", "b", "c"]);
    inbox.steer(&input("steer", "d"));
    assert_eq!((inbox.take().unwrap(), inbox.is_steering()), (vec![Message::user("d")], false));
}

#[test]
fn an_error_comes_after_the_lines_before_it() {
    let mut told = Vec::new();
    let input = "{\"v\":1,\"type\":\"a\"}\n\n{\"v\":1,\"type\":\"b\"}\nno\n{\"v\":1,\"type\":\"c\"}\n";
    read_lines(input.as_bytes(), |lines| told.push(lines.map(|lines| lines.len())));
    let counts: usize = told.iter().flatten().sum();
    assert_eq!((counts, told.last().unwrap().is_err()), (2, true));
}
