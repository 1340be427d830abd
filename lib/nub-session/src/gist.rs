//! A message in one line for people.

use nub_proto::{Block, Input, Kind, Message, Node, Role};
use nub_render::harmless;
use serde::de::DeserializeOwned;

use crate::index::Span;
use crate::open::Open;
use crate::scan;

/// Reads a node. `None` where it cannot be read.
pub fn node(open: &Open, span: Span) -> Option<Node<Message>> {
    read(open, span)
}

/// Reads a line as a record. `None` where it cannot be read.
pub fn read<T: DeserializeOwned>(open: &Open, span: Span) -> Option<T> {
    let line = scan::read(&open.file, span.offset, span.len).ok()?;
    serde_json::from_slice(&line).ok().or_else(|| serde_json::from_str(&nub_proto::lossless(&line)).ok())
}

/// Who speaks, and the beginning of what is said, harmless for a terminal.
pub fn gist(message: &Message, most: usize) -> (&'static str, String) {
    let results = message.content.iter().all(|b| matches!(b.kind, Kind::ToolResult { .. }));
    let who = match message.role {
        Role::Assistant => "assistant",
        Role::User if results && !message.content.is_empty() => "tool",
        Role::User => "user",
    };
    let parts: Vec<String> = message.content.iter().map(block).filter(|part| !part.is_empty()).collect();
    (who, shorten(&parts.join("  "), most))
}

/// One line of at most so many characters, harmless for a terminal.
pub fn shorten(text: &str, most: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().take(most).collect();
    let line = words.join(" ");
    let line = harmless(&line);
    match line.char_indices().nth(most) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line.into_owned(),
    }
}

fn block(block: &Block) -> String {
    match &block.kind {
        Kind::Text { text } => text.clone(),
        Kind::Thinking { .. } => String::new(),
        Kind::ToolUse { name, input, .. } => match input {
            Input::Object(json) => format!("→ {name} {}", json.text()),
            Input::Raw(raw) => format!("→ {name} {raw}"),
        },
        Kind::ToolResult { result, is_error, .. } => {
            let text: Vec<String> = result.iter().map(self::block).collect();
            format!("{} {}", if *is_error { "✗" } else { "←" }, text.join(" "))
        }
        Kind::Image { media_type, .. } => format!("[{media_type}]"),
    }
}
