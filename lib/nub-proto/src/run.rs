//! The records of a run: what goes into nub-loop, and what it says beside the stages' own records.

use serde::{Deserialize, Serialize};

use crate::frame::records;
use crate::{Block, Message, Role, Stop, Terminal, Usage, is_default};

/// Something the user says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InputRecord {
    /// When it is meant to arrive.
    pub op: InputOp,
    /// What is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What is said, as blocks (instead of `text`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Vec<Block>>,
}

impl InputRecord {
    /// The message it becomes.
    #[must_use]
    pub fn message(self) -> Message {
        let text = self.text.unwrap_or_default();
        let content = self.content.unwrap_or_else(|| vec![Block::text(text)]);
        Message { role: Role::User, content }
    }
}

/// When an input is meant to arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputOp {
    /// Begins a run.
    Prompt,
    /// Before the model's next request.
    Steer,
    /// After the end of the turn.
    FollowUp,
}

/// An order to the loop and its stages: obeyed and passed on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Control {
    /// End the work in hand.
    Cancel,
    /// The user sent a new message: calls not started yet are answered, not run.
    Steer,
    /// The answer to a `permission_request`.
    Permission {
        /// The call.
        id: String,
        /// The answer.
        allow: Allow,
        /// For the model, with `no`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Summarise the path now.
    Compact {
        /// What to keep in mind.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instructions: Option<String>,
    },
    /// Go on from another node.
    Branch {
        /// The node.
        node: String,
    },
    /// Use another model.
    Model {
        /// Its name.
        model: String,
        /// Where it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        endpoint: Option<String>,
    },
    /// End after the work in hand.
    End,
}

/// The answer to a `permission_request`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Allow {
    /// This call.
    Once,
    /// This tool, for the session.
    Always,
    /// Not this call.
    No,
}

/// The loop is ready for input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// The session's id.
    pub session: String,
    /// The model; empty when nub-stream chooses.
    pub model: String,
    /// Estimated tokens of system and tools.
    pub context_tokens: u64,
    /// The window, 0 when unknown.
    pub max_context: u64,
    /// Names of the tools.
    pub tools: Vec<String>,
}

/// A turn begins: one request and the calls it leads to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnStart {
    /// Number within the run, from 1.
    pub turn: u32,
}

/// A turn is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnEnd {
    /// Number within the run.
    pub turn: u32,
    /// Why.
    pub stop: Stop,
    /// Tokens of the turn.
    #[serde(default, skip_serializing_if = "is_default")]
    pub usage: Usage,
}

/// The texts that wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    /// For the model's next request.
    pub steer: Vec<String>,
    /// For the end of the turn.
    pub follow_up: Vec<String>,
}

/// A compaction begins or ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compaction {
    /// Which of the two.
    pub phase: Phase,
    /// Estimated tokens of the path before.
    pub tokens_before: u64,
    /// Estimated tokens of the path after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_after: Option<u64>,
}

/// Begin or end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// It begins.
    Start,
    /// It is over.
    End,
}

/// Something the user should know that ends nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// The program that speaks.
    pub source: String,
    /// A word for programs, such as `untrusted_keys`.
    pub code: String,
    /// One line for people.
    pub message: String,
}

impl RunResult {
    /// The same, but not everything that was said could be stored.
    #[must_use]
    pub fn failed(self) -> RunResult {
        RunResult { stop: Stop::Error, exit: Stop::Error.exit_code(), ..self }
    }

    /// The result of a prompt that was not asked (yet), with the exit code that says why.
    #[must_use]
    pub fn unasked(session: String, exit: u8) -> RunResult {
        let stop = if exit == Stop::Cancelled.exit_code() { Stop::Cancelled } else { Stop::Error };
        RunResult { stop, text: String::new(), turns: 0, usage: Usage::default(), session, exit }
    }

    /// Takes the end of a turn, which may be the last.
    pub fn take(&mut self, end: &Terminal) {
        (self.stop, self.exit) = (end.stop, end.exit);
        self.usage += end.usage;
    }
}

/// A prompt is done: exactly one for each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunResult {
    /// Why it ended.
    pub stop: Stop,
    /// The text of the last answer.
    pub text: String,
    /// Turns it took.
    pub turns: u32,
    /// Tokens of all turns.
    pub usage: Usage,
    /// The session's id.
    pub session: String,
    /// The exit code it stands for.
    pub exit: u8,
}

records! {
    "input" => InputRecord,
    "control" => Control,
    "ready" => Ready,
    "turn_start" => TurnStart,
    "turn_end" => TurnEnd,
    "queue" => Queue,
    "compaction" => Compaction,
    "warning" => Warning,
    "result" => RunResult,
}
