//! Content blocks: the parts of a message.

use serde::{Deserialize, Serialize};

use crate::{Json, is_default};

/// One part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Wire", into = "Wire")]
pub struct Block {
    /// What the block holds.
    pub kind: Kind,
    /// Opaque ballast of the provider it came from: sent back unchanged there, dropped elsewhere.
    pub raw: Option<Json>,
    /// A provider with explicit caching may set a cache breakpoint after this block.
    pub cache_mark: bool,
}

/// What a block holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// What the model thought before it answered.
    Thinking {
        /// The text, empty when only ballast came.
        text: String,
    },
    /// A call of a tool by the model.
    ToolUse {
        /// Names the call within its session.
        id: String,
        /// The tool.
        name: String,
        /// The arguments.
        input: Input,
    },
    /// What a tool answered.
    ToolResult {
        /// The call it answers.
        tool_use_id: String,
        /// Text and image blocks.
        result: Vec<Block>,
        /// The call failed.
        is_error: bool,
    },
    /// A picture.
    Image {
        /// Such as `image/png`.
        media_type: String,
        /// Base64.
        data: String,
    },
}

/// The arguments of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// A JSON object, as the model wrote it.
    Object(Json),
    /// Argument text that is no JSON object: answered with an error result, never run.
    Raw(String),
}

impl Block {
    /// A block without ballast.
    #[must_use]
    pub fn new(kind: Kind) -> Block {
        Block { kind, raw: None, cache_mark: false }
    }

    /// A text block.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Block {
        Block::new(Kind::Text { text: text.into() })
    }

    /// A tool result of one text.
    #[must_use]
    pub fn result(tool_use_id: impl Into<String>, text: impl Into<String>, is_error: bool) -> Block {
        Block::new(Kind::ToolResult {
            tool_use_id: tool_use_id.into(),
            result: vec![Block::text(text)],
            is_error,
        })
    }
}

/// The flat form on the wire. An enum tagged by `kind` cannot carry raw JSON through serde.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Wire {
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    input: Option<Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    input_raw: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool_use_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    result: Option<Vec<Block>>,
    #[serde(default, skip_serializing_if = "is_default")]
    is_error: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    media_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    raw: Option<Json>,
    #[serde(default, skip_serializing_if = "is_default")]
    cache_mark: bool,
}

impl From<Block> for Wire {
    fn from(block: Block) -> Wire {
        let mut wire = Wire { raw: block.raw, cache_mark: block.cache_mark, ..Wire::default() };
        match block.kind {
            Kind::Text { text } => {
                wire.kind = "text".into();
                wire.text = Some(text);
            }
            Kind::Thinking { text } => {
                wire.kind = "thinking".into();
                wire.text = Some(text);
            }
            Kind::ToolUse { id, name, input } => {
                wire.kind = "tool_use".into();
                wire.id = Some(id);
                wire.name = Some(name);
                match input {
                    Input::Object(json) => wire.input = Some(json),
                    Input::Raw(text) => wire.input_raw = Some(text),
                }
            }
            Kind::ToolResult { tool_use_id, result, is_error } => {
                wire.kind = "tool_result".into();
                wire.tool_use_id = Some(tool_use_id);
                wire.result = Some(result);
                wire.is_error = is_error;
            }
            Kind::Image { media_type, data } => {
                wire.kind = "image".into();
                wire.media_type = Some(media_type);
                wire.data = Some(data);
            }
        }
        wire
    }
}

impl TryFrom<Wire> for Block {
    type Error = String;

    fn try_from(wire: Wire) -> Result<Block, String> {
        let kind = match wire.kind.as_str() {
            "text" => Kind::Text { text: wire.text.unwrap_or_default() },
            "thinking" => Kind::Thinking { text: wire.text.unwrap_or_default() },
            "tool_use" => Kind::ToolUse {
                id: wire.id.ok_or("a tool_use block without id")?,
                name: wire.name.ok_or("a tool_use block without name")?,
                input: input(wire.input, wire.input_raw)?,
            },
            "tool_result" => Kind::ToolResult {
                tool_use_id: wire.tool_use_id.ok_or("a tool_result block without tool_use_id")?,
                result: wire.result.unwrap_or_default(),
                is_error: wire.is_error,
            },
            "image" => Kind::Image {
                media_type: wire.media_type.ok_or("an image block without media_type")?,
                data: wire.data.ok_or("an image block without data")?,
            },
            other => return Err(format!("unknown block kind '{other}'")),
        };
        Ok(Block { kind, raw: wire.raw, cache_mark: wire.cache_mark })
    }
}

fn input(object: Option<Json>, raw: Option<String>) -> Result<Input, String> {
    match (object, raw) {
        (_, Some(text)) => Ok(Input::Raw(text)),
        (Some(json), None) if json.text().trim_start().starts_with('{') => Ok(Input::Object(json)),
        (Some(json), None) => Ok(Input::Raw(json.text().to_owned())),
        (None, None) => Json::parse("{}").map(Input::Object).map_err(|e| e.to_string()),
    }
}
