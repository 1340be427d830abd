//! Session records: the lines of a session file.

use serde::{Deserialize, Serialize};

use crate::frame::records;
use crate::{Block, Message, Meta, ToolDef, is_default};

/// First line of a session file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// ULID.
    pub id: String,
    /// RFC 3339, UTC.
    pub created_at: String,
    /// The folder it was made in.
    pub cwd: String,
    /// A name given by the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The session it was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
}

/// One node of the tree. `M` is [`Message`], or [`crate::Json`] where messages pass unread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Node<M = Message> {
    /// ULID, monotonic within the file.
    pub id: String,
    /// The node before it; empty for a root.
    pub parent: String,
    /// What it holds.
    pub kind: NodeKind,
    /// The message; for a summary the user message that carries it.
    pub message: M,
    /// The nodes a summary stands for.
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    pub replaces: Vec<String>,
    /// How the message came to be.
    #[serde(default, skip_serializing_if = "is_default")]
    pub meta: Meta,
}

/// What a node holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// A message.
    Message,
    /// A summary of earlier nodes.
    Summary,
}

/// Moves the head. The last one wins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// A node, or empty for the state before the first.
    pub head: String,
}

/// Names or marks a node. The last one wins, field by field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// The node.
    pub node: String,
    /// Its name; empty takes it away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Its mark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bookmark: Option<bool>,
}

/// Everything that shaped a request and is no message. Written once per change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Context {
    /// Hash of its content.
    pub id: String,
    /// The system prompt.
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    pub system: Vec<Block>,
    /// The tools.
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolDef>,
    /// Where the system prompt came from.
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<Source>,
}

/// One origin of the system prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// A path, or a name such as `base prompt`.
    pub path: String,
    /// `base`, `environment`, `file`, `skills`.
    pub kind: String,
    /// Estimated tokens as used.
    pub tokens: u64,
    /// It was shortened.
    #[serde(default, skip_serializing_if = "is_default")]
    pub truncated: bool,
}

/// A summary on its way into the session, where it becomes a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The summary.
    pub text: String,
    /// The nodes it stands for.
    pub replaces: Vec<String>,
    /// How it came to be.
    #[serde(default, skip_serializing_if = "is_default")]
    pub meta: Meta,
}

impl<M: Serialize> crate::Record for Node<M> {
    const TYPE: &'static str = "node";
}

records! {
    "session" => Session,
    "head" => Head,
    "label" => Label,
    "context" => Context,
    "summary" => Summary,
}
