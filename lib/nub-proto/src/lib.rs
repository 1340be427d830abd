//! The nub record protocol, version 1: the only Rust definition of what travels through pipes
//! and lies in session files. The contract for people is `man/nub-protocol.7`.
//!
//! This crate knows no files, processes or providers. It reads and writes lines ([`Reader`], [`Writer`]), names
//! every record ([`NAMES`]) and repairs a conversation before it is sent ([`repair`]).

mod attach;
mod block;
mod frame;
mod inbox;
mod json;
mod message;
mod repair;
mod request;
mod run;
mod session;
mod stream;
mod talk;
#[cfg(test)]
mod tests;
mod tool;
mod turn;

pub use attach::{base64, fenced, image, picture};
pub use block::{Block, Input, Kind};
pub use frame::{FrameError, Line, MAX_LINE, Reader, Record, Writer, encode, line_of, read_lines};
pub use inbox::Inbox;
pub use json::{Json, lossless};
pub use message::{Message, MessageRecord, Meta, Role, Stop, Usage};
pub use repair::{INTERRUPTED, repair};
pub use request::{Asked, Format, Request, ToolChoice, ToolDef};
pub use run::{
    Allow, Compaction, Control, InputOp, InputRecord, Phase, Queue, Ready, RunResult, TurnEnd, TurnStart,
    Warning,
};
pub use session::{Context, Head, Label, Node, NodeKind, Session, Source, Summary};
pub use stream::{BlockDelta, BlockStart, BlockStop, Done, ErrorClass, ErrorRecord, Model, Retry};
pub use talk::Talk;
pub use tool::{Item, ItemStatus, PermissionRequest, Tool, ToolEnd, ToolOutput, ToolStart, Ui};
pub use turn::{Heard, Terminal, Turn};

/// The version every record carries as `v`.
pub const VERSION: u64 = 1;

/// Every record type of version 1, in the order of the manual page.
pub const NAMES: &[&str] = &[
    "message",
    "request",
    "block_start",
    "block_delta",
    "block_stop",
    "retry",
    "done",
    "error",
    "model",
    "tool",
    "tool_start",
    "tool_output",
    "tool_end",
    "permission_request",
    "session",
    "node",
    "head",
    "label",
    "context",
    "summary",
    "input",
    "control",
    "ready",
    "turn_start",
    "turn_end",
    "queue",
    "compaction",
    "warning",
    "result",
];

/// For `skip_serializing_if`: false, zero and empty fields are left out of every record.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
