//! From chunks to blocks: the one place that knows how the parts of an answer fit together.

mod arguments;
mod ballast;
mod blocks;
mod slots;

use std::borrow::Cow;
use std::collections::HashSet;

use nub_conf::{Caps, InlineThink};
use nub_proto::{Block, ErrorClass, Json, Message, Role, Stop};

use self::blocks::Blocks;
pub use self::blocks::{Sink, Voice};
use self::slots::{Fragment, Place, Slots};
use crate::answer::Outcome;
use crate::chunk::{Call, Choice, Chunk, Delta};
use crate::failure::Failure;
use crate::finish::Finish;
use crate::ids::Ids;
use crate::lenient::Raw;
use crate::text_calls::{Scanner, Segment};
use crate::think::Splitter;
use crate::usage::Tally;

/// One answer in the making.
pub struct Assembler {
    blocks: Blocks,
    slots: Slots,
    ids: Ids,
    finish: Finish,
    usage: Tally,
    model: Option<String>,
    think: Option<Splitter>,
    scanner: Option<Scanner>,
    /// Thinking becomes blocks of its own.
    reasoning: bool,
    cumulative: Option<Cumulative>,
    /// Deltas brought content, so that a whole message only repeats it.
    streamed: bool,
    whole: bool,
}

/// What was said so far, for servers that repeat it in every delta.
#[derive(Default)]
struct Cumulative {
    text: String,
    thinking: String,
}

impl Assembler {
    /// An answer to a request with these tools; `taken` are the call ids of the session.
    pub fn new(caps: &Caps, tools: Vec<String>, taken: HashSet<String>) -> Assembler {
        let think = match caps.inline_think {
            InlineThink::Off => None,
            InlineThink::On => Some(Splitter::new()),
            InlineThink::Implicit => Some(Splitter::inside()),
        };
        Assembler {
            blocks: Blocks::default(),
            scanner: Scanner::new(&caps.text_tool_calls, &tools),
            slots: Slots::new(tools),
            ids: Ids::new(taken),
            finish: Finish::default(),
            usage: Tally::default(),
            model: None,
            think,
            reasoning: caps.reasoning,
            cumulative: caps.cumulative_text.then(Cumulative::default),
            streamed: false,
            whole: false,
        }
    }

    /// Tells the schema of a tool, for calls that are written as text.
    pub fn schema(&mut self, tool: &str, schema: &Json) {
        if let Some(scanner) = &mut self.scanner {
            scanner.schema(tool, schema);
        }
    }

    /// Whether a block was emitted.
    pub fn emitted(&self) -> bool {
        self.blocks.any()
    }

    /// Whether the server said why the answer ended.
    pub fn ended(&self) -> bool {
        self.finish.any
    }

    /// Whether a whole message came.
    pub fn whole(&self) -> bool {
        self.whole
    }

    /// Takes a chunk.
    pub fn chunk(&mut self, chunk: &Chunk<'_>, sink: &mut Sink<'_>) -> Result<(), Failure> {
        self.usage.add(chunk.usage);
        self.usage.add_inner(chunk.x_groq);
        if self.model.is_none() && !chunk.model.is_empty() {
            self.model = Some(chunk.model.0.to_string());
        }
        let choices = chunk.choices.iter().flat_map(|choices| &choices.0);
        choices.into_iter().try_for_each(|choice| self.choice(choice, sink))?;
        self.slots.limit()
    }

    fn choice(&mut self, choice: &Choice<'_>, sink: &mut Sink<'_>) -> Result<(), Failure> {
        self.finish.add(&choice.finish_reason.0);
        self.usage.add(choice.usage);
        self.content(&choice.text.0, sink);
        if let Some(delta) = &choice.delta {
            self.streamed |= delta.has_content();
            self.delta(delta, false, sink)?;
        }
        if let Some(message) = &choice.message
            && !self.streamed
        {
            self.whole = true;
            self.delta(message, true, sink)?;
        }
        Ok(())
    }

    fn delta(&mut self, delta: &Delta<'_>, whole: bool, sink: &mut Sink<'_>) -> Result<(), Failure> {
        if self.reasoning {
            self.thinking(delta, sink);
        }
        self.content(&delta.content.text, sink);
        if !delta.refusal.is_empty() {
            self.finish.refusal = true;
            self.say(Voice::Text, &delta.refusal.0, sink);
        }
        if delta.extra_content.is_some() {
            self.blocks.text_ballast(sink).put("extra_content", delta.extra_content);
        }
        for (at, call) in delta.tool_calls.0.iter().chain(&delta.function_call.0).enumerate() {
            let place = match (whole, at) {
                (true, _) => Place::Whole,
                (false, 0) => Place::First,
                (false, _) => Place::Later,
            };
            self.call(call, place, sink)?;
        }
        Ok(())
    }

    fn thinking(&mut self, delta: &Delta<'_>, sink: &mut Sink<'_>) {
        let fields = [
            ("reasoning_content", &delta.reasoning_content.0),
            ("reasoning", &delta.reasoning.0),
            ("reasoning_text", &delta.reasoning_text.0),
            ("", &delta.content.thinking),
        ];
        let named = fields.into_iter().find(|(_, text)| !text.is_empty());
        if let Some((field, text)) = named {
            let text = self.fresh(Voice::Thinking, text);
            self.say(Voice::Thinking, &text, sink);
            self.blocks.thinking_field(field);
            if let Some(think) = &mut self.think {
                think.outside();
            }
        }
        for (key, list) in
            [("reasoning_details", delta.reasoning_details), ("thinking_blocks", delta.thinking_blocks)]
        {
            if !has_elements(list) {
                continue;
            }
            if named.is_none() {
                self.say(Voice::Thinking, &crate::chunk::thinking_of(list), sink);
            }
            self.blocks.thinking_ballast(sink).extend(key, list);
        }
    }

    /// Text of the answer, in which thinking and calls may hide.
    fn content(&mut self, text: &str, sink: &mut Sink<'_>) {
        if text.is_empty() {
            return;
        }
        let text = &*self.fresh(Voice::Text, text);
        let Some(mut think) = self.think.take() else {
            return self.spoken(text, sink);
        };
        think.push(text, &mut |voice, text| match voice {
            Voice::Text => self.spoken(text, sink),
            Voice::Thinking => self.thought(text, sink),
        });
        self.think = Some(think);
    }

    /// Text outside of thinking, in which calls may hide.
    fn spoken(&mut self, text: &str, sink: &mut Sink<'_>) {
        let Some(mut scanner) = self.scanner.take() else {
            return self.say(Voice::Text, text, sink);
        };
        scanner.push(text, &mut |segment| self.segment(segment, sink));
        self.scanner = Some(scanner);
    }

    fn thought(&mut self, text: &str, sink: &mut Sink<'_>) {
        if self.reasoning {
            self.say(Voice::Thinking, text, sink);
        }
    }

    fn segment(&mut self, segment: Segment<'_>, sink: &mut Sink<'_>) {
        match segment {
            Segment::Text(text) => self.say(Voice::Text, text, sink),
            Segment::Thinking(text) => self.thought(text, sink),
            Segment::Call { id, name, arguments } => {
                let fragment = Fragment { index: None, id, name, arguments, place: Place::Whole };
                // too many are told of when the chunk is over
                if self.slots.limit().is_ok() && self.slots.add(&fragment).is_some() {
                    self.start_named(sink);
                }
            }
        }
    }

    fn say(&mut self, voice: Voice, text: &str, sink: &mut Sink<'_>) {
        if self.slots.waiting() && !text.trim().is_empty() {
            self.start_named(sink);
        }
        self.blocks.say(voice, text, sink);
    }

    /// What is new in a text that may repeat all that came before.
    fn fresh<'a>(&mut self, voice: Voice, text: &'a str) -> Cow<'a, str> {
        let Some(cumulative) = &mut self.cumulative else {
            return Cow::Borrowed(text);
        };
        let so_far = match voice {
            Voice::Text => &mut cumulative.text,
            Voice::Thinking => &mut cumulative.thinking,
        };
        let tail = text.strip_prefix(so_far.as_str()).unwrap_or(text);
        so_far.push_str(tail);
        Cow::Borrowed(tail)
    }

    fn call(&mut self, call: &Call<'_>, place: Place, sink: &mut Sink<'_>) -> Result<(), Failure> {
        self.release(sink);
        let function = &call.function;
        let name = if function.name.is_empty() { &call.name } else { &function.name };
        let outside = function.arguments.0.is_empty();
        let arguments = if outside { &call.arguments } else { &function.arguments };
        let fragment = Fragment {
            index: call.index.0,
            id: call.id.0.trim(),
            name: &name.0,
            arguments: &arguments.0,
            place,
        };
        let Some(at) = self.slots.add(&fragment) else {
            return Ok(());
        };
        self.slots.limit()?;
        let slot = &mut self.slots.as_mut()[at];
        slot.ballast.put("extra_content", call.extra_content);
        slot.ballast.put("provider_specific_fields", call.provider_specific_fields);
        if let Some(block) = slot.block {
            self.blocks.arguments(block, slot.arguments.unsent(), sink);
        }
        for at in 0..self.slots.ready() {
            self.start(at, sink);
        }
        Ok(())
    }

    /// Text that was held back because a call might follow is only text when a real call comes.
    fn release(&mut self, sink: &mut Sink<'_>) {
        if let Some(mut think) = self.think.take() {
            think.end(&mut |voice, text| match voice {
                Voice::Text => self.spoken(text, sink),
                Voice::Thinking => self.thought(text, sink),
            });
            self.think = Some(think);
        }
        if let Some(mut scanner) = self.scanner.take() {
            scanner.end(&mut |segment| self.segment(segment, sink));
            self.scanner = Some(scanner);
        }
    }

    fn start_named(&mut self, sink: &mut Sink<'_>) {
        for at in 0..self.slots.len() {
            self.start(at, sink);
        }
    }

    fn start(&mut self, at: usize, sink: &mut Sink<'_>) {
        let slot = &mut self.slots.as_mut()[at];
        if slot.block.is_some() || slot.name.is_empty() {
            return;
        }
        let id = self.ids.claim(&slot.id);
        let block = self.blocks.call(&id, &slot.name, sink);
        slot.block = Some(block);
        self.blocks.arguments(block, slot.arguments.unsent(), sink);
    }

    /// The answer broke: hands on the text that was held back, and says how far it came.
    pub fn broken(&mut self, failure: Failure, sink: &mut Sink<'_>) -> Failure {
        if !self.emitted() {
            return failure;
        }
        self.release(sink);
        Failure { retryable: false, partial: self.blocks.text(), ..failure }
    }

    /// The answer is over.
    pub fn finish(mut self, sink: &mut Sink<'_>) -> Result<Outcome, Failure> {
        self.release(sink);
        if let Some(failure) = self.fault() {
            return Err(self.broken(failure, sink));
        }
        self.start_named(sink);
        for slot in self.slots.take() {
            if let Some(block) = slot.block {
                self.blocks.close_call(block, slot.arguments.input(), slot.ballast, sink);
            }
        }
        let content = self.blocks.finish(sink);
        let stop = stop(&self.finish, &content);
        let message = Message { role: Role::Assistant, content };
        Ok(Outcome { message, stop, usage: self.usage.usage(), model: self.model })
    }

    /// What is wrong with an answer that came to its end.
    fn fault(&mut self) -> Option<Failure> {
        if let Err(failure) = self.slots.limit() {
            return Some(failure);
        }
        let finish = &self.finish;
        if finish.window && !self.blocks.any() && self.slots.len() == 0 {
            let message = "the prompt is longer than the model's context window";
            return Some(Failure::new(ErrorClass::ContextLength, message));
        }
        if finish.length || finish.refusal {
            return None;
        }
        if let Some(word) = &finish.error {
            let aborted = word.contains("abort") || word.contains("cancel");
            let class = if aborted { ErrorClass::Truncated } else { ErrorClass::Server };
            return Some(Failure::new(class, format!("the server broke the answer off: {word}")).retryable());
        }
        let nameless =
            self.slots.as_mut().iter().any(|slot| slot.name.is_empty() && !slot.arguments.is_empty());
        nameless.then(|| Failure::new(ErrorClass::Protocol, "the server sent a tool call without a name"))
    }
}

fn stop(finish: &Finish, content: &[Block]) -> Stop {
    let calls = content.iter().any(|block| matches!(block.kind, nub_proto::Kind::ToolUse { .. }));
    if finish.length {
        Stop::MaxTokens
    } else if finish.refusal {
        Stop::Refusal
    } else if calls {
        Stop::ToolUse
    } else {
        Stop::EndTurn
    }
}

fn has_elements(list: Raw<'_>) -> bool {
    list.is_some_and(|list| !matches!(list.get(), "[]" | "{}" | "\"\""))
}
