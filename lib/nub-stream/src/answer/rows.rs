//! The rows of `tests/fixtures/stream_rows.ndjson`: oddities without a fixture of their own.

use std::collections::HashSet;
use std::fs;

use nub_conf::{Caps, CapsOverride};
use nub_proto::{ErrorClass, Input, Kind};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Answer, End, Event, Outcome, Progress};
use crate::failure::Failure;

#[derive(Deserialize)]
struct Row {
    #[serde(default)]
    caps: CapsOverride,
    #[serde(flatten)]
    sent: Sent,
    #[serde(default)]
    finish: Option<String>,
    want: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Sent {
    Body(String),
    Events(Vec<Value>),
    Deltas(Vec<Value>),
    Calls(Vec<Value>),
}

impl Row {
    fn body(&self) -> String {
        let delta = |delta: Value| json!({"choices":[{"index":0,"delta":delta}]});
        let mut events: Vec<Value> = match &self.sent {
            Sent::Body(body) => return body.clone(),
            Sent::Events(events) => events.clone(),
            Sent::Deltas(deltas) => deltas.iter().cloned().map(delta).collect(),
            Sent::Calls(calls) => calls.iter().map(|call| delta(json!({"tool_calls":[call]}))).collect(),
        };
        if !matches!(self.sent, Sent::Events(_)) {
            let finish = self.finish.as_deref().unwrap_or("tool_calls");
            events.push(json!({"choices":[{"index":0,"delta":{},"finish_reason":finish}]}));
        }
        events.iter().map(|event| format!("data: {event}\n\n")).collect::<String>() + "data: [DONE]\n\n"
    }

    fn answer(&self) -> Answer {
        let mut caps = Caps::default();
        self.caps.apply(&mut caps);
        let tools = ["read", "bash", "grep", "todo_list", "read_file"].map(String::from).to_vec();
        Answer::new(&caps, tools, HashSet::from(["used_1".to_owned()]))
    }
}

fn read<'a>(mut answer: Answer, pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Outcome, Failure> {
    let mut sink = |_: Event<'_>| {};
    for piece in pieces {
        if answer.feed(piece, &mut sink)? == Progress::Finished {
            break;
        }
    }
    answer.end(End::Eof, &mut sink)
}

fn told(result: &Result<Outcome, Failure>, sent: &str) -> String {
    let outcome = match result {
        Ok(outcome) => outcome,
        Err(f) => {
            let class = serde_json::to_value(f.class).unwrap();
            return format!(
                "{}!{}{}",
                f.partial,
                class.as_str().unwrap(),
                if f.retryable { "+" } else { "" }
            );
        }
    };
    let mut ids = HashSet::new();
    let mut all: Vec<String> = Vec::new();
    for block in &outcome.message.content {
        all.push(match &block.kind {
            Kind::Text { text } => format!("T{text}"),
            Kind::Thinking { text } => format!("K{text}"),
            Kind::ToolUse { id, name, input } => {
                assert!(ids.insert(id) && id != "used_1", "{id} twice");
                let known =
                    sent.contains(&format!("\"id\":\"{id}\"")) || sent.contains(&format!("\"id\":{id}"));
                let id = if known { id } else { "*" };
                match input {
                    Input::Object(json) => format!("C{id} {name}{}", json.text()),
                    Input::Raw(text) => format!("C{id} {name}?{text}"),
                }
            }
            Kind::ToolResult { .. } | Kind::Image { .. } => panic!("{block:?}"),
        });
        if let Some(raw) = block.raw.as_ref().filter(|raw| raw.text().matches(':').count() > 1) {
            all.push(format!("R{}", raw.text()));
        }
    }
    all.push(serde_json::to_value(outcome.stop).unwrap().as_str().unwrap().to_owned());
    all.extend(outcome.usage.map(|u| {
        format!("[{}/{}/{}/{}]", u.input_tokens, u.output_tokens, u.cache_read_tokens, u.reasoning_tokens)
    }));
    all.join("|")
}

#[test]
fn rows_become_what_they_must() {
    let text = fs::read_to_string(super::tests::folder().with_file_name("stream_rows.ndjson")).unwrap();
    let mut wrong = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let row: Row = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        let body = row.body();
        let whole = read(row.answer(), [body.as_bytes()]);
        let got = told(&whole, &body);
        if got != row.want {
            wrong.push(format!("{line}\n     got {got}"));
        }
        assert_eq!(read(row.answer(), body.as_bytes().chunks(1)), whole, "byte by byte: {line}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn limits_hold() {
    let answer = || Answer::new(&Caps::default(), Vec::new(), HashSet::new());
    let block = vec![b'x'; 1 << 20];
    let class =
        |pieces: usize, piece: &[u8]| read(answer(), std::iter::repeat_n(piece, pieces)).unwrap_err().class;
    assert_eq!(class(17, &block), ErrorClass::Protocol);
    assert_eq!(class(65, &[b"{", &*block].concat()), ErrorClass::Protocol);
    let nearly = Answer { total: super::MAX_BODY - 1, ..answer() };
    assert_eq!(read(nearly, [b":\n".as_slice()]).unwrap_err().class, ErrorClass::Limit);
    assert_eq!(class(1, format!("data: {}\n\n", "[".repeat(100_000)).as_bytes()), ErrorClass::Protocol);
    let calls = r#"{"function":{"name":"x","arguments":"{}"}},"#.repeat(2000);
    let calls = format!("{{\"choices\":[{{\"message\":{{\"tool_calls\":[{calls}null]}}}}]}}");
    assert_eq!(class(1, calls.as_bytes()), ErrorClass::Limit);
    let call = r#"<tool_call>{\"name\":\"read\"}</tool_call>"#.repeat(2000);
    let event = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{call}\"}}}}]}}\n\n");
    let caps = Caps { text_tool_calls: vec![nub_conf::TextToolCalls::Hermes], ..Caps::default() };
    let hermes = Answer::new(&caps, vec!["read".into()], HashSet::new());
    assert_eq!(read(hermes, [event.as_bytes()]).unwrap_err().class, ErrorClass::Limit);
    let big = "y".repeat(8 << 20);
    let event = format!(
        "data: {{\"choices\":[{{\"delta\":{{\"content\":\"{big}\"}},\"finish_reason\":\"stop\"}}]}}\n\n"
    );
    assert_eq!(told(&read(answer(), event.as_bytes().chunks(1 << 16)), ""), format!("T{big}|end_turn"));
}

#[test]
fn bytes_that_are_no_text_are_replaced() {
    let event = b"data: {\"choices\":[{\"delta\":{\"content\":\"a\xffb\"},\"finish_reason\":\"stop\"}]}\n\n";
    let answer = Answer::new(&Caps::default(), Vec::new(), HashSet::new());
    assert_eq!(told(&read(answer, [event.as_slice()]), ""), "Ta\u{fffd}b|end_turn");
}
