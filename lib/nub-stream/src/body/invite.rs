//! How a model whose calls are read from its text is told to write them. Without this line small models
//! repeat the definitions that the server's template shows them (seen with Qwen2.5-Coder on llama.cpp); with an
//! example of a real tool they call that example.

use nub_conf::{Caps, TextToolCalls};
use nub_proto::{Block, Request, ToolChoice};

const FENCE: &str = "To call a tool, answer with only this JSON in a code fence, filled in:\n```json\n{\"name\": \"TOOL\", \"arguments\": {\"ARGUMENT\": \"VALUE\"}}\n```\nWhen its result has come, tell the user what it says, or call the next tool.";
const TAGS: &str = "To call a tool, answer with only this, filled in:\n<tool_call>\n{\"name\": \"TOOL\", \"arguments\": {\"ARGUMENT\": \"VALUE\"}}\n</tool_call>\nWhen its result has come, tell the user what it says, or call the next tool.";

/// The system prompt of a request, with the invitation where the first form that is looked for needs one.
/// The other forms are what models were trained on: they are looked for, not asked for.
pub(super) fn system(request: &Request, caps: &Caps) -> Vec<Block> {
    let mut system = request.system.clone();
    if request.tools.is_empty() || request.tool_choice == Some(ToolChoice::None) {
        return system;
    }
    match caps.text_tool_calls.first() {
        Some(TextToolCalls::JsonFence) => system.push(Block::text(FENCE)),
        Some(TextToolCalls::Hermes) => system.push(Block::text(TAGS)),
        Some(
            TextToolCalls::QwenXml
            | TextToolCalls::Mistral
            | TextToolCalls::Kimi
            | TextToolCalls::Dsml
            | TextToolCalls::Harmony,
        )
        | None => {}
    }
    system
}
