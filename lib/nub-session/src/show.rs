//! show: one node, as it lies in the file or for people.

use std::io::Write;

use nub_proto::{Input, Kind, Message};
use nub_render::harmless;
use nub_sys::Fail;

use crate::index::Index;
use crate::job::Style;
use crate::open::Open;
use crate::{gist, print};

/// Prints a node.
///
/// # Errors
/// It cannot be read, or the output not be written.
pub fn show(
    open: &Open,
    index: &Index,
    at: usize,
    style: Style,
    output: &mut impl Write,
) -> Result<(), Fail> {
    let entry = &index.nodes[at];
    if style != Style::Text {
        return print::print(open, &[entry.span], output);
    }
    let Some(node) = gist::node(open, entry.span) else {
        return Err(Fail::failure(format!("node '{}' cannot be read", entry.id)));
    };
    let meta = &node.meta;
    let facts = [
        ("node", Some(&node.id)),
        ("parent", Some(&node.parent)),
        ("created", meta.created_at.as_ref()),
        ("model", meta.model.as_ref()),
        ("context", meta.context.as_ref()),
    ];
    let mut text = String::new();
    for (name, value) in facts.into_iter().filter_map(|(name, value)| Some((name, value?))) {
        text.push_str(&format!("{name:<8} {}\n", harmless(value)));
    }
    text.push('\n');
    text.push_str(&words(&node.message));
    output.write_all(text.as_bytes()).and_then(|()| output.flush()).map_err(|e| Fail::output(&e))
}

/// A message in full, for people.
pub fn words(message: &Message) -> String {
    let mut text = String::new();
    for block in &message.content {
        let part = match &block.kind {
            Kind::Text { text } => text.clone(),
            Kind::Thinking { text } => format!("(thinking)\n{text}"),
            Kind::ToolUse { id, name, input } => match input {
                Input::Object(json) => format!("→ {name} {} ({id})", json.text()),
                Input::Raw(raw) => format!("→ {name} {raw} ({id})"),
            },
            Kind::ToolResult { tool_use_id, result, is_error } => {
                let sign = if *is_error { "✗" } else { "←" };
                let inner = Message { role: message.role, content: result.clone() };
                format!("{sign} {tool_use_id}\n{}", words(&inner))
            }
            Kind::Image { media_type, data } => format!("[{media_type}, {} bytes of base64]", data.len()),
        };
        text.push_str(&harmless(&part));
        text.push('\n');
    }
    text
}
