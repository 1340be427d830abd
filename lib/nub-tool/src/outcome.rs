//! What a call came to: blocks for the model, a picture of it for people.

use nub_proto::{Block, Kind, Ui};

/// The end of a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outcome {
    /// Text and images for the model.
    pub content: Vec<Block>,
    /// What people are shown.
    pub ui: Option<Ui>,
    /// The call failed; the text says why and what to do.
    pub is_error: bool,
}

impl Outcome {
    /// A call that did what it was asked.
    pub(crate) fn text(text: impl Into<String>) -> Outcome {
        Outcome { content: vec![Block::text(text)], ui: None, is_error: false }
    }

    /// A call that failed.
    pub(crate) fn error(text: impl Into<String>) -> Outcome {
        Outcome { is_error: true, ..Outcome::text(text) }
    }

    /// Its text blocks, one after the other.
    pub(crate) fn for_model(&self) -> String {
        let texts = self.content.iter().filter_map(|block| match &block.kind {
            Kind::Text { text } => Some(text.as_str()),
            Kind::Image { .. } | Kind::Thinking { .. } | Kind::ToolUse { .. } | Kind::ToolResult { .. } => {
                None
            }
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    /// With something for people.
    pub(crate) fn with_ui(self, ui: Ui) -> Outcome {
        Outcome { ui: Some(ui), ..self }
    }
}

impl From<Result<Outcome, String>> for Outcome {
    fn from(result: Result<Outcome, String>) -> Outcome {
        result.unwrap_or_else(Outcome::error)
    }
}
