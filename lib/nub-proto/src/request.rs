//! Requests: everything a model is asked with.

use serde::{Deserialize, Serialize};

use crate::{Block, Json, Message};

/// The record `request`. `M` is [`Message`], or [`Json`] where messages pass unread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request<M = Message> {
    /// Name of the model; empty means that nub-stream chooses.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// Name of an `[[endpoint]]`; empty means that nub-stream chooses.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub endpoint: String,
    /// The system prompt, from stable to volatile.
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    pub system: Vec<Block>,
    /// The conversation.
    pub messages: Vec<M>,
    /// The tools the model may call.
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolDef>,
    /// The most tokens the answer may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Sampling temperature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Whether tools may or must be called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// The answer is JSON of this schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,
    /// Id of the context record that system and tools come from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
}

impl<M> Default for Request<M> {
    fn default() -> Request<M> {
        Request {
            model: String::new(),
            endpoint: String::new(),
            system: Vec::new(),
            messages: Vec::new(),
            tools: Vec::new(),
            max_tokens: None,
            temperature: None,
            tool_choice: None,
            format: None,
            context: None,
        }
    }
}

/// What a request said beside its conversation and its context, as its answer's META keeps it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// The model, where the answer names another (an alias was resolved).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// The most tokens the answer may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Sampling temperature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Whether tools may or must be called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// The answer is JSON of this schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,
}

/// The definition of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolDef {
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
}

/// Whether tools may or must be called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// As the model likes.
    Auto,
    /// No tool.
    None,
    /// At least one tool.
    Required,
    /// This tool.
    #[serde(untagged)]
    Tool {
        /// Its name.
        name: String,
    },
}

/// The form an answer must have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Format {
    /// A name for the schema.
    pub name: String,
    /// JSON Schema.
    pub schema: Json,
}

impl<M: Serialize> crate::Record for Request<M> {
    const TYPE: &'static str = "request";
}
