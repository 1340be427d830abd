//! The blocks of an answer: events go out as text arrives, the message is kept beside.

use std::borrow::Cow;

use nub_proto::{Block, BlockDelta, BlockStart, BlockStop, Input, Json, Kind};

use super::ballast::Ballast;
use crate::answer::Event;

/// Takes events.
pub type Sink<'a> = dyn FnMut(Event<'_>) + 'a;

/// The two kinds of block that hold text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Voice {
    /// For the user.
    Text,
    /// The model's own.
    Thinking,
}

#[derive(Debug)]
struct Part {
    kind: Kind,
    ballast: Ballast,
    stopped: bool,
}

/// The blocks so far.
#[derive(Debug, Default)]
pub struct Blocks {
    parts: Vec<Part>,
    /// The block of text or thinking that grows.
    current: Option<(usize, Voice)>,
    /// Whitespace that becomes the head of a block if text follows.
    held: String,
    held_voice: Option<Voice>,
    /// The thinking block that takes ballast.
    laden: Option<usize>,
}

impl Blocks {
    /// Whether a block was emitted.
    pub fn any(&self) -> bool {
        !self.parts.is_empty()
    }

    /// The text blocks as one text.
    pub fn text(&self) -> String {
        let texts = self.parts.iter().map(|part| match &part.kind {
            Kind::Text { text } => text.as_str(),
            Kind::Thinking { .. } | Kind::ToolUse { .. } | Kind::ToolResult { .. } | Kind::Image { .. } => "",
        });
        texts.collect()
    }

    /// Adds text. Whitespace alone opens no block.
    pub fn say(&mut self, voice: Voice, text: &str, sink: &mut Sink<'_>) {
        if text.is_empty() {
            return;
        }
        if self.held_voice != Some(voice) {
            self.held.clear();
        }
        let index = match self.current {
            Some((index, speaking)) if speaking == voice => index,
            Some(_) | None => {
                if text.trim_start().is_empty() {
                    self.held_voice = Some(voice);
                    self.held.push_str(text);
                    return;
                }
                let index = self.open(voice, sink);
                let held = std::mem::take(&mut self.held);
                self.grow(index, &held, sink);
                index
            }
        };
        self.grow(index, text, sink);
    }

    /// Opens the block of a call. Text that follows begins a block of its own.
    pub fn call(&mut self, id: &str, name: &str, sink: &mut Sink<'_>) -> usize {
        self.pause(sink);
        let empty = Json::parse("{}").map_or(Input::Raw(String::new()), Input::Object);
        self.start(Kind::ToolUse { id: id.into(), name: name.into(), input: empty }, sink)
    }

    /// Streams arguments of a call.
    pub fn arguments(&self, index: usize, json: &str, sink: &mut Sink<'_>) {
        if !json.is_empty() {
            sink(Event::Delta(BlockDelta { index, text: None, partial_json: Some(Cow::Borrowed(json)) }));
        }
    }

    /// Ends a call.
    pub fn close_call(&mut self, index: usize, arguments: Input, ballast: Ballast, sink: &mut Sink<'_>) {
        if let Kind::ToolUse { input, .. } = &mut self.parts[index].kind {
            *input = arguments;
        }
        self.parts[index].ballast = ballast;
        self.stop(index, sink);
    }

    /// The ballast of the thinking that goes on. Opens an empty block when there is none.
    pub fn thinking_ballast(&mut self, sink: &mut Sink<'_>) -> &mut Ballast {
        let index = match (self.laden, self.current) {
            (Some(index), _) | (None, Some((index, Voice::Thinking))) => index,
            (None, _) => self.open(Voice::Thinking, sink),
        };
        self.laden = Some(index);
        &mut self.parts[index].ballast
    }

    /// The ballast of the text that goes on, or of the thinking.
    pub fn text_ballast(&mut self, sink: &mut Sink<'_>) -> &mut Ballast {
        match self.current {
            Some((index, Voice::Text)) => &mut self.parts[index].ballast,
            Some((_, Voice::Thinking)) | None => self.thinking_ballast(sink),
        }
    }

    /// The name of the field thinking comes in.
    pub fn thinking_field(&mut self, name: &str) {
        if let Some((index, Voice::Thinking)) = self.current {
            self.parts[index].ballast.name(name);
        }
    }

    /// Ends every block.
    pub fn finish(mut self, sink: &mut Sink<'_>) -> Vec<Block> {
        for index in 0..self.parts.len() {
            self.stop(index, sink);
        }
        let block = |part: Part| Block { raw: part.ballast.json(), ..Block::new(part.kind) };
        self.parts.into_iter().map(block).collect()
    }

    fn open(&mut self, voice: Voice, sink: &mut Sink<'_>) -> usize {
        let held = std::mem::take(&mut self.held);
        self.pause(sink);
        self.held = held;
        let text = String::new();
        let kind = match voice {
            Voice::Text => Kind::Text { text },
            Voice::Thinking => Kind::Thinking { text },
        };
        let index = self.start(kind, sink);
        self.current = Some((index, voice));
        index
    }

    fn start(&mut self, kind: Kind, sink: &mut Sink<'_>) -> usize {
        let index = self.parts.len();
        sink(Event::Start(BlockStart { index, block: Block::new(kind.clone()) }));
        self.parts.push(Part { kind, ballast: Ballast::default(), stopped: false });
        index
    }

    fn grow(&mut self, index: usize, more: &str, sink: &mut Sink<'_>) {
        if more.is_empty() {
            return;
        }
        if let Kind::Text { text } | Kind::Thinking { text } = &mut self.parts[index].kind {
            text.push_str(more);
        }
        sink(Event::Delta(BlockDelta { index, text: Some(Cow::Borrowed(more)), partial_json: None }));
    }

    /// Ends the block that grows, unless ballast may still come for it.
    fn pause(&mut self, sink: &mut Sink<'_>) {
        self.held.clear();
        if let Some((index, _)) = self.current.take()
            && self.laden != Some(index)
        {
            self.stop(index, sink);
        }
    }

    fn stop(&mut self, index: usize, sink: &mut Sink<'_>) {
        let part = &mut self.parts[index];
        if !std::mem::replace(&mut part.stopped, true) {
            sink(Event::Stop(BlockStop { index, raw: part.ballast.json() }));
        }
    }
}
