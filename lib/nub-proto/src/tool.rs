//! Tool records: what can be called, and what happens while it runs.

use serde::{Deserialize, Serialize};

use crate::frame::records;
use crate::{Json, ToolDef, is_default};

/// A tool and what its definition costs in the prompt. The fields of [`ToolDef`] stand here once more:
/// raw JSON does not survive serde's flattening.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// What the model calls it.
    pub name: String,
    /// What it does, for the model.
    #[serde(default)]
    pub description: String,
    /// JSON Schema of its arguments.
    pub schema: Json,
    /// `builtin`, `skill` or `mcp:SERVER`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// Estimated prompt cost.
    #[serde(default)]
    pub tokens: u64,
}

impl From<Tool> for ToolDef {
    fn from(tool: Tool) -> ToolDef {
        ToolDef { name: tool.name, description: tool.description, schema: tool.schema, source: tool.source }
    }
}

/// A call begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolStart {
    /// The call.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments as they are used.
    pub input: Json,
    /// One line for people.
    pub title: String,
}

/// A running tool printed something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolOutput {
    /// The call.
    pub id: String,
    /// `stdout` or `stderr`.
    pub stream: String,
    /// What it printed.
    pub text: String,
}

/// A call is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolEnd {
    /// The call.
    pub id: String,
    /// The tool.
    pub name: String,
    /// It failed.
    #[serde(default)]
    pub is_error: bool,
    /// What the model is told.
    pub for_model: String,
    /// What people are shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ui: Option<Ui>,
    /// How long it ran.
    pub duration_ms: u64,
}

/// A call needs the user's word; the answer is a `control` record `permission`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PermissionRequest {
    /// The call.
    pub id: String,
    /// The tool.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// The diff or the command it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ui: Option<Ui>,
}

/// What people are shown of a call. A renderer that does not know a kind shows `for_model`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Ui {
    /// A file was changed.
    Diff {
        /// Relative to the repo root.
        path: String,
        /// The file is new.
        #[serde(default)]
        created: bool,
        /// Lines added.
        added: usize,
        /// Lines removed.
        removed: usize,
        /// Unified diff.
        unified: String,
    },
    /// A command ran.
    Command {
        /// The command line.
        command: String,
        /// Exit code; none when a signal ended it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// The signal that ended it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signal: Option<i32>,
        /// It ran into its time limit.
        #[serde(default)]
        timed_out: bool,
        /// Bytes it printed.
        bytes: u64,
        /// The model saw only a part.
        #[serde(default)]
        truncated: bool,
        /// File with all of the output.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        full_output: Option<String>,
    },
    /// A file was read.
    File {
        /// Relative to the repo root.
        path: String,
        /// First line shown, from 1.
        first_line: u64,
        /// Lines shown.
        lines: u64,
        /// Lines of the file, as far as known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        total_lines: Option<u64>,
        /// There is more.
        #[serde(default)]
        truncated: bool,
    },
    /// Paths were found.
    Paths {
        /// How many.
        count: usize,
        /// There are more.
        #[serde(default)]
        truncated: bool,
    },
    /// Lines were found.
    Matches {
        /// How many.
        count: usize,
        /// In how many files.
        files: usize,
        /// There are more.
        #[serde(default)]
        truncated: bool,
    },
    /// The list of things to do.
    Todo {
        /// The list.
        items: Vec<Item>,
    },
    /// A skill was read.
    Skill {
        /// Its name.
        name: String,
        /// Its file.
        path: String,
    },
    /// A tool of an MCP server.
    Mcp {
        /// The server.
        server: String,
        /// Structured content.
        content: serde_json::Value,
    },
    /// A kind of a later version.
    #[serde(other)]
    Unknown,
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// What.
    pub text: String,
    /// How far it is.
    #[serde(default, skip_serializing_if = "is_default")]
    pub status: ItemStatus,
}

/// How far a thing to do is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemStatus {
    /// Not begun.
    #[default]
    Pending,
    /// In work.
    Active,
    /// Finished.
    Done,
}

records! {
    "tool" => Tool,
    "tool_start" => ToolStart,
    "tool_output" => ToolOutput,
    "tool_end" => ToolEnd,
    "permission_request" => PermissionRequest,
}
