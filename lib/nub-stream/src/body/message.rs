//! Messages on the wire.

use serde::Serialize;

use super::object::Object;

/// One message.
#[derive(Debug, Clone, Serialize)]
pub struct Wire {
    /// `system`, `developer`, `user`, `assistant` or `tool`.
    pub role: &'static str,
    /// Some servers refuse a message without this key, so it is always there.
    pub content: Content,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// How the model thought, and ballast.
    #[serde(flatten)]
    pub more: Object,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
}

/// What a message says.
#[derive(Debug, Clone, Default)]
pub struct Content {
    parts: Vec<Part>,
    /// What stands where there is nothing: `null` or `""`.
    null: bool,
}

/// A part of a content.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    /// Text.
    Text {
        text: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    /// A picture.
    ImageUrl { image_url: ImageUrl },
}

/// A picture inside its address.
#[derive(Debug, Clone, Serialize)]
pub struct ImageUrl {
    pub url: String,
}

/// A breakpoint of an explicit cache.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct CacheControl {
    #[serde(rename = "type")]
    kind: &'static str,
}

/// A call.
#[derive(Debug, Clone, Serialize)]
pub struct ToolCall {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub function: Function,
    /// Ballast.
    #[serde(flatten)]
    pub more: Object,
}

/// What is called.
#[derive(Debug, Clone, Serialize)]
pub struct Function {
    pub name: String,
    /// JSON as a string.
    pub arguments: String,
}

impl Wire {
    /// A message without calls.
    pub fn new(role: &'static str, content: Content) -> Wire {
        Wire { role, content, tool_call_id: None, more: Object::default(), tool_calls: Vec::new() }
    }
}

impl Part {
    /// A text.
    pub fn text(text: impl Into<String>) -> Part {
        Part::Text { text: text.into(), cache_control: None }
    }

    /// A picture.
    pub fn image(media_type: &str, data: &str) -> Part {
        Part::ImageUrl { image_url: ImageUrl { url: format!("data:{media_type};base64,{data}") } }
    }

    /// The same part as a breakpoint of the cache.
    pub fn marked(self) -> Part {
        match self {
            Part::Text { text, .. } => {
                Part::Text { text, cache_control: Some(CacheControl { kind: "ephemeral" }) }
            }
            image @ Part::ImageUrl { .. } => image,
        }
    }

    /// Whether a server would take it: text of blanks alone is refused.
    fn says_something(&self) -> bool {
        match self {
            Part::Text { text, .. } => !text.trim().is_empty(),
            Part::ImageUrl { .. } => true,
        }
    }

    /// Whether it fits into a plain string.
    fn is_plain(&self) -> bool {
        matches!(self, Part::Text { cache_control: None, .. })
    }
}

impl Content {
    /// Parts that say something.
    pub fn of(parts: Vec<Part>) -> Content {
        Content { parts: parts.into_iter().filter(Part::says_something).collect(), null: false }
    }

    /// With `null` in the place of an empty string.
    pub fn or_null(mut self) -> Content {
        self.null = true;
        self
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Adds what another content says.
    pub fn append(&mut self, mut more: Content) {
        self.parts.append(&mut more.parts);
    }

    /// Puts text before everything else.
    pub fn prepend(&mut self, text: String) {
        self.parts.insert(0, Part::text(text));
    }

    /// Makes the last part a breakpoint of the cache.
    pub fn mark_last(&mut self) {
        if let Some(last) = self.parts.pop() {
            self.parts.push(last.marked());
        }
    }
}

/// A plain string wherever possible: many servers know nothing else.
impl Serialize for Content {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.parts.is_empty() && self.null {
            return serializer.serialize_none();
        }
        if !self.parts.iter().all(Part::is_plain) {
            return self.parts.serialize(serializer);
        }
        let texts: Vec<&str> = self
            .parts
            .iter()
            .filter_map(|part| match part {
                Part::Text { text, .. } => Some(text.as_str()),
                Part::ImageUrl { .. } => None,
            })
            .collect();
        serializer.serialize_str(&texts.join("\n\n"))
    }
}
