//! Stream events: an answer as it arrives, and the two records that end a request.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::frame::records;
use crate::{Block, Json, Stop, Usage, is_default};

/// A block begins: its kind, and for a tool call id and name, without content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BlockStart {
    /// Position of the block in the message, from 0.
    pub index: usize,
    /// The empty block.
    pub block: Block,
}

/// A block grows. Never splits a UTF-8 sequence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BlockDelta<'a> {
    /// Position of the block in the message.
    pub index: usize,
    /// More text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Cow<'a, str>>,
    /// More of a tool call's arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial_json: Option<Cow<'a, str>>,
}

/// A block is complete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BlockStop {
    /// Position of the block in the message.
    pub index: usize,
    /// Ballast that came after the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Json>,
}

/// A request is tried again after a wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    /// The attempt that comes, from 1.
    pub attempt: u32,
    /// How many there are at most.
    pub max: u32,
    /// The wait before it, in milliseconds.
    pub delay_ms: u64,
    /// What went wrong.
    pub class: ErrorClass,
    /// HTTP status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The server's own words.
    pub message: String,
}

/// A request was answered well. Terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// Why the answer ended.
    pub stop: Stop,
    /// Tokens; left out when nothing is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// A request failed for good. Terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorRecord {
    /// The program that speaks, such as `nub-stream`.
    pub source: String,
    /// The kind of failure.
    pub class: ErrorClass,
    /// One line for people.
    pub message: String,
    /// HTTP status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Whether asking again may help.
    pub retryable: bool,
    /// What the user can do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// How long the server asked to wait, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// The text that had arrived.
    #[serde(default, skip_serializing_if = "is_default")]
    pub partial: String,
}

impl ErrorRecord {
    /// A failure that asking again does not mend.
    pub fn new(source: &str, class: ErrorClass, message: impl Into<String>) -> ErrorRecord {
        ErrorRecord {
            source: source.into(),
            class,
            message: message.into(),
            status: None,
            retryable: false,
            hint: None,
            retry_after_ms: None,
            partial: String::new(),
        }
    }
}

/// A model that an endpoint has (`nub-stream --list-models`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Model {
    /// What a request calls it.
    pub id: String,
    /// Where it is.
    pub endpoint: String,
    /// Its window in tokens; 0 = unknown.
    #[serde(default, skip_serializing_if = "is_default")]
    pub max_context: u64,
    /// Its longest answer in tokens; 0 = unknown.
    #[serde(default, skip_serializing_if = "is_default")]
    pub max_output: u64,
}

/// The kinds of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// Too many requests or tokens.
    RateLimit,
    /// The server failed.
    Server,
    /// No connection, or a broken one.
    Network,
    /// The server took too long.
    Timeout,
    /// The stream broke after blocks were emitted.
    Truncated,
    /// The prompt is longer than the window.
    ContextLength,
    /// The server refuses this request.
    BadRequest,
    /// No key, a wrong key, or no credit.
    Auth,
    /// Something that is no record, or no answer.
    Protocol,
    /// The user cancelled.
    Cancelled,
    /// The configuration cannot work.
    Config,
    /// A limit of nub.
    Limit,
    /// A fault of nub.
    Internal,
}

impl ErrorClass {
    /// The exit code of a run that ends so.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            ErrorClass::Config | ErrorClass::Protocol => 2,
            ErrorClass::Cancelled => 3,
            ErrorClass::Limit => 4,
            ErrorClass::RateLimit
            | ErrorClass::Server
            | ErrorClass::Network
            | ErrorClass::Timeout
            | ErrorClass::Truncated
            | ErrorClass::ContextLength
            | ErrorClass::BadRequest
            | ErrorClass::Auth
            | ErrorClass::Internal => 1,
        }
    }

    /// The stop of a run that ends so.
    #[must_use]
    pub fn stop(self) -> Stop {
        match self {
            ErrorClass::Cancelled => Stop::Cancelled,
            ErrorClass::Truncated => Stop::Truncated,
            ErrorClass::Limit => Stop::Limit,
            ErrorClass::Config
            | ErrorClass::Protocol
            | ErrorClass::RateLimit
            | ErrorClass::Server
            | ErrorClass::Network
            | ErrorClass::Timeout
            | ErrorClass::ContextLength
            | ErrorClass::BadRequest
            | ErrorClass::Auth
            | ErrorClass::Internal => Stop::Error,
        }
    }
}

records! {
    "block_start" => BlockStart,
    "block_delta" => BlockDelta<'_>,
    "block_stop" => BlockStop,
    "retry" => Retry,
    "done" => Done,
    "error" => ErrorRecord,
    "model" => Model,
}
