//! Messages: what user and assistant said, with what is known about how it was said.

use serde::{Deserialize, Serialize};

use crate::{Asked, Block, Input, Kind, is_default};

/// Who speaks. The system prompt is no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The person, and the results of tools.
    User,
    /// The model.
    Assistant,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: Vec<Block>,
}

impl Message {
    /// A user message of one text.
    #[must_use]
    pub fn user(text: impl Into<String>) -> Message {
        Message { role: Role::User, content: vec![Block::text(text)] }
    }

    /// Its text blocks, joined.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|block| match &block.kind {
            Kind::Text { text } => Some(text.as_str()),
            Kind::Thinking { .. } | Kind::ToolUse { .. } | Kind::ToolResult { .. } | Kind::Image { .. } => {
                None
            }
        });
        texts.collect()
    }

    /// Whether there is nothing in it but white space.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.content.iter().all(|block| matches!(&block.kind, Kind::Text { text } if text.trim().is_empty()))
    }

    /// Its calls: id, name and arguments.
    pub fn calls(&self) -> impl Iterator<Item = (&str, &str, &Input)> {
        self.content.iter().filter_map(|block| match &block.kind {
            Kind::ToolUse { id, name, input } => Some((id.as_str(), name.as_str(), input)),
            Kind::Text { .. } | Kind::Thinking { .. } | Kind::ToolResult { .. } | Kind::Image { .. } => None,
        })
    }

    /// Whether it calls the same with the same arguments, in the same order.
    #[must_use]
    pub fn calls_like(&self, other: &Message) -> bool {
        let what = |(_, name, input)| (name, input);
        self.calls().map(what).eq(other.calls().map(what))
    }

    /// The message that answers each of its calls with the same error.
    #[must_use]
    pub fn refused(&self, why: &str) -> Message {
        let content = self.calls().map(|(id, ..)| Block::result(id, why, true)).collect();
        Message { role: Role::User, content }
    }
}

/// The record `message`. `M` is [`Message`], or [`crate::Json`] where messages pass unread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessageRecord<M = Message> {
    /// The message.
    pub message: M,
    /// How it came to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// What is known about a message beside its content.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Meta {
    /// The model that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The endpoint it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// Why it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// Tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// RFC 3339, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// From the request to the end of the answer, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Id of the context record in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// What was asked beside that, when there was anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Asked>,
    /// A name given by the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Marked by the user.
    #[serde(default, skip_serializing_if = "is_default")]
    pub bookmark: bool,
}

/// Why an answer, a turn or a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The model had nothing more to say.
    EndTurn,
    /// The model waits for the results of tools.
    ToolUse,
    /// The answer reached its token limit.
    MaxTokens,
    /// The model or its provider refused.
    Refusal,
    /// The user cancelled.
    Cancelled,
    /// The stream broke.
    Truncated,
    /// A limit of nub was reached.
    Limit,
    /// The token budget was used up.
    Budget,
    /// The run ended with an `error` record (only in `turn_end` and `result`).
    Error,
}

impl Stop {
    /// The exit code of a run that ends so.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Stop::EndTurn | Stop::ToolUse | Stop::MaxTokens | Stop::Refusal => 0,
            Stop::Truncated | Stop::Error => 1,
            Stop::Cancelled => 3,
            Stop::Limit | Stop::Budget => 4,
        }
    }
}

/// Just said, without anything beside it.
impl From<Message> for MessageRecord {
    fn from(message: Message) -> MessageRecord {
        MessageRecord { message, meta: None }
    }
}

/// Token counts; absent numbers are 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// The whole prompt, the cached part included.
    #[serde(default, skip_serializing_if = "is_default")]
    pub input_tokens: u64,
    /// The answer.
    #[serde(default, skip_serializing_if = "is_default")]
    pub output_tokens: u64,
    /// The part of the prompt that came from the provider's cache.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cache_read_tokens: u64,
    /// The part of the prompt that was written into the provider's cache.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cache_write_tokens: u64,
    /// The part of the answer that was thinking.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reasoning_tokens: u64,
    /// nub counted itself, since the server sent no usage.
    #[serde(default, skip_serializing_if = "is_default")]
    pub estimated: bool,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, more: Usage) {
        self.input_tokens += more.input_tokens;
        self.output_tokens += more.output_tokens;
        self.cache_read_tokens += more.cache_read_tokens;
        self.cache_write_tokens += more.cache_write_tokens;
        self.reasoning_tokens += more.reasoning_tokens;
        self.estimated |= more.estimated;
    }
}

impl<M: Serialize> crate::Record for MessageRecord<M> {
    const TYPE: &'static str = "message";
}
