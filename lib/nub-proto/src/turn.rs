//! A turn: one request and what it leads to. It is over when the model has ended its answer, with exactly
//! one terminal record, and every call of the answer has its result.

use std::collections::BTreeMap;
use std::io;

use crate::{
    Block, BlockDelta, BlockStart, Done, ErrorClass, ErrorRecord, Json, Kind, Line, Message, MessageRecord,
    Meta, Request, Role, Stop, Usage, line_of, repair,
};

/// How far a turn is.
#[derive(Debug, Default)]
pub struct Turn {
    asking: bool,
    cancelled: bool,
    answered: bool,
    /// The text of an answer whose message has not come, block by block.
    shown: BTreeMap<usize, String>,
    answer: Option<Message>,
    terminal: Option<Terminal>,
    /// The last answer, when it had calls, and how often the same calls came in a row.
    called: Option<Message>,
    repeats: u32,
}

/// How a request ended.
#[derive(Debug)]
pub struct Terminal {
    /// The record, without its line end.
    pub line: Vec<u8>,
    /// Why.
    pub stop: Stop,
    /// The exit code it stands for.
    pub exit: u8,
    /// Tokens.
    pub usage: Usage,
}

/// What a line of a stream stage means.
#[derive(Debug)]
pub enum Heard {
    /// It is for whoever watches.
    Event,
    /// An echo, or an answer that nobody waits for.
    Nothing,
    /// The answer, and its text.
    Message(Box<MessageRecord<Json>>, String),
    /// The end of the answer.
    End,
}

impl Turn {
    /// The next one: its request is on its way.
    pub fn ask(&mut self) {
        let (called, repeats) = (self.called.take(), self.repeats);
        *self = Turn { asking: true, called, repeats, ..Turn::default() };
    }

    /// How often the calls of the answer came in a row, turn after turn; 0 when there were none.
    #[must_use]
    pub fn repeats(&self) -> u32 {
        self.repeats
    }

    /// The setting that ends the run, as its name and value, after this many turns.
    #[must_use]
    pub fn limit(&self, turns: u32, max_turns: u32, repeat_calls: u32) -> Option<(&'static str, u32)> {
        if self.repeats > 0 && repeat_calls > 0 && self.repeats >= repeat_calls {
            return Some(("repeat_calls", repeat_calls));
        }
        (turns >= max_turns).then_some(("max_turns", max_turns))
    }

    /// The model has not ended its answer.
    #[must_use]
    pub fn is_asking(&self) -> bool {
        self.asking
    }

    /// Calls have no results yet.
    #[must_use]
    pub fn is_calling(&self) -> bool {
        self.answer.is_some()
    }

    /// The user does not want it any more: however it ends, it ends as cancelled.
    pub fn cancel(&mut self) {
        self.cancelled = true;
    }

    /// The user cancelled it.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled
    }

    /// Takes a line of the stream stage.
    ///
    /// # Errors
    /// The line has another shape, or is no answer (`InvalidData`).
    pub fn hear(&mut self, line: &Line) -> io::Result<Heard> {
        match (line.kind(), self.asking) {
            ("request", true) => return Err(invalid("passed the request on instead of answering it")),
            ("control", _) | ("message" | "done" | "error" | "request", false) => return Ok(Heard::Nothing),
            ("message", true) if self.answered => return Err(invalid("answered twice")),
            ("message", true) => {
                self.answered = true;
                let record: MessageRecord<Json> = line.read()?;
                let message: Message = record.message.read()?;
                self.shown.clear();
                let text = message.text();
                let again = self.called.take().is_some_and(|called| called.calls_like(&message));
                self.called = Some(message).filter(|message| message.calls().next().is_some());
                self.repeats = self.called.as_ref().map_or(0, |_| if again { self.repeats + 1 } else { 1 });
                self.answer.clone_from(&self.called);
                return Ok(Heard::Message(Box::new(record), text));
            }
            ("done", true) => {
                let Done { stop, usage } = line.read()?;
                if !self.shown.is_empty() {
                    return Err(invalid("ended an answer without its message"));
                }
                self.end(line.raw().into(), stop, stop.exit_code(), usage.unwrap_or_default());
                return Ok(Heard::End);
            }
            ("error", true) => {
                let class = line.read::<ErrorRecord>()?.class;
                self.end(line.raw().into(), class.stop(), class.exit_code(), Usage::default());
                return Ok(Heard::End);
            }
            ("block_start", true) => {
                let start: BlockStart = line.read()?;
                if let Kind::Text { text } = start.block.kind {
                    self.shown.insert(start.index, text);
                }
            }
            ("block_delta", true) => {
                let delta: BlockDelta = line.read()?;
                if let (Some(shown), Some(text)) = (self.shown.get_mut(&delta.index), delta.text) {
                    shown.push_str(&text);
                }
            }
            _ => {}
        }
        Ok(Heard::Event)
    }

    /// Takes a message of the tool stage: the results of the calls, with an error result for each call that
    /// has none; or `None` for an echo.
    ///
    /// # Errors
    /// The line has another shape.
    pub fn results(&mut self, line: &Line) -> io::Result<Option<MessageRecord<Json>>> {
        let mut record: MessageRecord<Json> = line.read()?;
        let message: Message = record.message.read()?;
        let Some(answer) = self.answer.take_if(|_| message.role == Role::User) else { return Ok(None) };
        let mut pair = vec![answer, message];
        if repair(&mut pair) {
            record.message = Json::of(&pair[1])?;
        }
        Ok(Some(record))
    }

    /// Answers the calls in the place of a tool stage.
    pub fn refuse(&mut self, why: &str) -> Option<Message> {
        self.answer.take().map(|answer| answer.refused(why))
    }

    /// Ends the answer in the place of a stream stage.
    ///
    /// # Errors
    /// As [`line_of`].
    pub fn fail(&mut self, mut error: ErrorRecord) -> io::Result<()> {
        if self.cancelled {
            // how the stage took it is not what the user wants to know
            (error.class, error.message) = (ErrorClass::Cancelled, "cancelled".into());
        }
        let mut line = line_of(&error)?;
        line.pop();
        self.end(line, error.class.stop(), error.class.exit_code(), Usage::default());
        Ok(())
    }

    fn end(&mut self, line: Vec<u8>, stop: Stop, exit: u8, usage: Usage) {
        self.asking = false;
        self.terminal = Some(Terminal { line, stop, exit, usage });
    }

    /// What an answer had shown that ended without its message: text only, marked as what it is.
    pub fn shown<M>(&mut self, head: &Request<M>) -> Option<MessageRecord> {
        if self.asking {
            return None;
        }
        let texts = std::mem::take(&mut self.shown).into_values().filter(|text| !text.is_empty());
        let content: Vec<Block> = texts.map(Block::text).collect();
        let stop = if self.cancelled { Stop::Cancelled } else { Stop::Truncated };
        let model = Some(head.model.clone()).filter(|model| !model.is_empty());
        let meta = Meta { stop: Some(stop), model, context: head.context.clone(), ..Meta::default() };
        let message = Message { role: Role::Assistant, content };
        (!message.content.is_empty()).then_some(MessageRecord { message, meta: Some(meta) })
    }

    /// How the turn ended, once it is over.
    pub fn over(&mut self) -> Option<Terminal> {
        let mut terminal = self.terminal.take_if(|_| self.answer.is_none())?;
        if self.cancelled {
            (terminal.stop, terminal.exit) = (Stop::Cancelled, Stop::Cancelled.exit_code());
        }
        Some(terminal)
    }
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
