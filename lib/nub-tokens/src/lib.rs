//! Token counts without a tokenizer: an estimate from bytes, good enough to know when a window fills,
//! and its correction by the usage that servers report.

use nub_proto::{Block, Input, Kind, Message, Request, Tool, ToolDef};

/// Bytes of Latin text in one token.
const LATIN: u64 = 4;
/// Bytes of CJK text in one token (a character is three bytes).
const CJK: u64 = 3;
/// What a message costs beside its text: role and separators.
const PER_MESSAGE: u64 = 4;
/// What an image costs where its size is unknown.
const IMAGE: u64 = 1000;

/// Estimated tokens of a text, rounded up.
#[must_use]
pub fn text(text: &str) -> u64 {
    let wide: u64 = if text.is_ascii() {
        0
    } else {
        text.chars().filter(|c| is_cjk(*c)).map(|c| c.len_utf8() as u64).sum()
    };
    let narrow = text.len() as u64 - wide;
    (narrow * CJK + wide * LATIN).div_ceil(LATIN * CJK)
}

fn is_cjk(c: char) -> bool {
    matches!(c, '\u{2E80}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7AF}' | '\u{F900}'..='\u{FAFF}' | '\u{FF00}'..='\u{FFEF}' | '\u{20000}'..='\u{3FFFF}')
}

/// Estimated tokens of a block.
#[must_use]
pub fn block(block: &Block) -> u64 {
    match &block.kind {
        Kind::Text { text: t } | Kind::Thinking { text: t } => text(t),
        Kind::ToolUse { id, name, input } => {
            let arguments = match input {
                Input::Object(json) => json.text(),
                Input::Raw(raw) => raw,
            };
            text(id) + text(name) + text(arguments)
        }
        Kind::ToolResult { tool_use_id, result, .. } => {
            text(tool_use_id) + result.iter().map(self::block).sum::<u64>()
        }
        Kind::Image { .. } => IMAGE,
    }
}

/// Estimated tokens of a message.
#[must_use]
pub fn message(message: &Message) -> u64 {
    PER_MESSAGE + message.content.iter().map(block).sum::<u64>()
}

/// Estimated tokens of what stands in every request: system prompt and tools.
#[must_use]
pub fn head<M>(request: &Request<M>) -> u64 {
    let tools = request.tools.iter().map(|t| tool(&t.name, &t.description, t.schema.text()));
    request.system.iter().map(block).chain(tools).sum()
}

/// Estimated tokens of a tool's definition.
#[must_use]
pub fn tool(name: &str, description: &str, schema: &str) -> u64 {
    PER_MESSAGE + text(name) + text(description) + text(schema)
}

/// Estimated tokens of a definition in a request.
#[must_use]
pub fn tool_def(def: &ToolDef) -> u64 {
    tool(&def.name, &def.description, def.schema.text())
}

/// Estimated tokens of a `tool` record's definition.
#[must_use]
pub fn tool_record(record: &Tool) -> u64 {
    tool(&record.name, &record.description, record.schema.text())
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn four_bytes_a_token_three_in_cjk() {
        assert_eq!(text(""), 0);
        assert_eq!(text("abcd"), 1);
        assert_eq!(text("abcde"), 2);
        assert_eq!(text("漢字"), 2);
        assert_eq!(text("漢字abcd"), 3);
    }
}
