//! The repair of a conversation whose process was killed: every call has its result, in order, in the
//! message after it, since no API takes a conversation in which one is missing.

use crate::{Block, Kind, Message, Role};

/// What the model reads in place of a result that was never stored.
pub const INTERRUPTED: &str =
    "interrupted: the program ended before this call finished; its effects are unknown";

/// Gives each `tool_use` without a result an error result. Returns whether anything was missing.
pub fn repair(messages: &mut Vec<Message>) -> bool {
    let mut changed = false;
    let mut at = 0;
    while at < messages.len() {
        let calls = calls_of(&messages[at]);
        at += 1;
        if calls.is_empty() {
            continue;
        }
        let answers = messages.get(at).map(answered).unwrap_or_default();
        let missing: Vec<Block> = calls
            .iter()
            .filter(|id| !answers.contains(id))
            .map(|id| Block::result(id.clone(), INTERRUPTED, true))
            .collect();
        if missing.is_empty() {
            continue;
        }
        changed = true;
        match messages.get_mut(at) {
            Some(next) if next.role == Role::User => {
                next.content.splice(answers.len()..answers.len(), missing);
            }
            _ => messages.insert(at, Message { role: Role::User, content: missing }),
        }
    }
    changed
}

fn calls_of(message: &Message) -> Vec<String> {
    if message.role != Role::Assistant {
        return Vec::new();
    }
    message
        .content
        .iter()
        .filter_map(|block| match &block.kind {
            Kind::ToolUse { id, .. } => Some(id.clone()),
            _ => None,
        })
        .collect()
}

/// The leading results of a user message.
fn answered(message: &Message) -> Vec<String> {
    message
        .content
        .iter()
        .map_while(|block| match &block.kind {
            Kind::ToolResult { tool_use_id, .. } => Some(tool_use_id.clone()),
            _ => None,
        })
        .collect()
}
