//! A whole answer, decoder and assembler: events and message agree, and cuts change nothing.
//! The first two bytes choose caps and cuts, the rest is the body.
#![no_main]

use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;
use nub_conf::{Caps, InlineThink, TextToolCalls};
use nub_proto::{Input, Kind};
use nub_stream::answer::{Answer, End, Event, Outcome, Progress};
use nub_stream::failure::Failure;

fn caps(choice: u8) -> Caps {
    use TextToolCalls::{Dsml, Harmony, Hermes, JsonFence, Kimi, Mistral, QwenXml};
    let forms: [&[TextToolCalls]; 8] = [
        &[],
        &[Hermes, QwenXml],
        &[Mistral],
        &[Kimi],
        &[Dsml],
        &[Harmony],
        &[JsonFence],
        &[Hermes, QwenXml, Mistral, Kimi, Dsml, Harmony, JsonFence],
    ];
    Caps {
        text_tool_calls: forms[usize::from(choice & 7)].to_vec(),
        inline_think: [InlineThink::Off, InlineThink::On, InlineThink::Implicit, InlineThink::On]
            [usize::from(choice >> 3 & 3)],
        reasoning: choice & 0x20 == 0,
        cumulative_text: choice & 0x40 != 0,
        eof_ends_stream: choice & 0x80 != 0,
        ..Caps::default()
    }
}

#[derive(Default)]
struct Shown {
    content: String,
    stopped: bool,
}

fn read<'a>(choice: u8, pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Outcome, Failure> {
    let tools = ["read", "bash", "todo_list"].map(String::from).to_vec();
    let mut answer = Answer::new(&caps(choice), tools, HashSet::from(["call_1".to_owned()]));
    let mut shown: Vec<Shown> = Vec::new();
    let mut sink = |event: Event<'_>| match event {
        Event::Start(start) => {
            assert_eq!(start.index, shown.len());
            shown.push(Shown::default());
        }
        Event::Delta(delta) => {
            assert!(!shown[delta.index].stopped);
            let more = delta.text.or(delta.partial_json).unwrap_or_default();
            assert!(!more.is_empty());
            shown[delta.index].content += &more;
        }
        Event::Stop(stop) => assert!(!std::mem::replace(&mut shown[stop.index].stopped, true)),
    };
    let outcome = 'read: {
        for piece in pieces {
            match answer.feed(piece, &mut sink) {
                Ok(Progress::More) => {}
                Ok(Progress::Finished) => break,
                Err(failure) => break 'read Err(failure),
            }
        }
        answer.end(End::Eof, &mut sink)
    };
    match &outcome {
        Ok(outcome) => agree(outcome, &shown),
        Err(failure) => assert!(shown.is_empty() || !failure.retryable),
    }
    outcome
}

fn agree(outcome: &Outcome, shown: &[Shown]) {
    assert_eq!(outcome.message.content.len(), shown.len());
    let mut ids = HashSet::from(["call_1"]);
    for (block, shown) in outcome.message.content.iter().zip(shown) {
        assert!(shown.stopped);
        match &block.kind {
            Kind::Text { text } | Kind::Thinking { text } => assert_eq!(*text, shown.content),
            Kind::ToolUse { id, input, .. } => {
                assert!(ids.insert(id));
                match input {
                    Input::Object(json) => assert!(json.text().starts_with('{') && !json.text().contains('\n')),
                    Input::Raw(text) => assert!(text.starts_with(&shown.content)),
                }
            }
            Kind::ToolResult { .. } | Kind::Image { .. } => panic!("{block:?}"),
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let [choice, cut, body @ ..] = data else { return };
    let whole = read(*choice, [body]);
    let size = usize::from(*cut % 64) + 1;
    assert_eq!(read(*choice, body.chunks(size)), whole);
});
