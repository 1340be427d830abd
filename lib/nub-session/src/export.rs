//! export: a conversation to read elsewhere, as Markdown, or the whole tree as one JSON document.

use std::borrow::Cow;
use std::io::Write;

use nub_proto::{Input, Kind, Message, Node, NodeKind, Role};
use nub_sys::Fail;

use crate::index::{Index, Span};
use crate::open::Open;
use crate::redact::redact;
use crate::{gist, path, scan};

/// Whether keys are masked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    /// They stay.
    Kept,
    /// They are masked.
    Masked,
}

impl Keys {
    /// A text as it leaves.
    pub fn in_text(self, text: &str) -> Cow<'_, str> {
        match self {
            Keys::Kept => Cow::Borrowed(text),
            Keys::Masked => redact(text),
        }
    }
}

/// The path to the head as Markdown.
///
/// # Errors
/// The file cannot be read or the output not be written.
pub fn markdown(open: &mut Open, keys: Keys, output: &mut impl Write) -> Result<(), Fail> {
    let mut first = true;
    for span in path::path(open)? {
        let Some(node) = gist::node(open, span) else { continue };
        let mut text = String::new();
        if std::mem::take(&mut first) {
            text = format!("# {}\n", gist::gist(&node.message, 72).1.trim_start_matches('#'));
        }
        section(&node, &mut text);
        output.write_all(keys.in_text(&text).as_bytes()).map_err(|e| Fail::output(&e))?;
    }
    output.flush().map_err(|e| Fail::output(&e))
}

fn section(node: &Node<Message>, text: &mut String) {
    let title = match (node.kind, node.message.role) {
        (NodeKind::Summary, _) => "Summary",
        (NodeKind::Message, Role::Assistant) => "Assistant",
        (NodeKind::Message, Role::User) if gist::gist(&node.message, 0).0 == "tool" => "",
        (NodeKind::Message, Role::User) => "User",
    };
    if !title.is_empty() {
        text.push_str(&format!("\n## {title}\n"));
    }
    for block in &node.message.content {
        text.push('\n');
        match &block.kind {
            Kind::Text { text: said } => text.push_str(&format!("{}\n", said.trim_end())),
            Kind::Thinking { text: thought } => folded("Thinking", thought, text),
            Kind::ToolUse { name, input, .. } => match input {
                Input::Object(json) => folded(&format!("Call: {name}"), json.text(), text),
                Input::Raw(raw) => folded(&format!("Call: {name}"), raw, text),
            },
            Kind::ToolResult { result, is_error, .. } => {
                let parts: Vec<String> = result.iter().map(plain).collect();
                folded(if *is_error { "Error" } else { "Result" }, &parts.join("\n"), text);
            }
            Kind::Image { .. } => text.push_str(&format!("{}\n", plain(block))),
        }
    }
}

/// The text of a block inside a result.
pub fn plain(block: &nub_proto::Block) -> String {
    match &block.kind {
        Kind::Text { text } => text.clone(),
        Kind::Image { media_type, .. } => format!("[{media_type}]"),
        Kind::Thinking { .. } | Kind::ToolUse { .. } | Kind::ToolResult { .. } => String::new(),
    }
}

/// A part that opens on a click, in a fence longer than any in it.
fn folded(title: &str, body: &str, text: &mut String) {
    let ticks = body.split(|c| c != '`').map(str::len).max().unwrap_or(0).max(2) + 1;
    let fence = "`".repeat(ticks);
    let title = html_escape(title);
    text.push_str(&format!(
        "<details><summary>{title}</summary>\n\n{fence}\n{}\n{fence}\n\n</details>\n",
        body.trim_end()
    ));
}

/// Text as HTML shows it.
pub fn html_escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The whole tree: `{"session":...,"head":"...","nodes":[...],"labels":[...]}`.
///
/// # Errors
/// The file cannot be read or the output not be written.
pub fn json(open: &Open, index: &Index, keys: Keys, output: &mut impl Write) -> Result<(), Fail> {
    let mut put = |text: &str| output.write_all(keys.in_text(text).as_bytes()).map_err(|e| Fail::output(&e));
    let session = index.session.map(|span| line(open, span)).transpose()?;
    let head = index.head.map(|at| index.nodes[at].id.as_str()).unwrap_or_default();
    let head = serde_json::to_string(head).map_err(|e| Fail::failure(e.to_string()))?;
    put(&format!("{{\"session\":{},\n\"head\":{head},\n\"nodes\":[", session.as_deref().unwrap_or("null")))?;
    let mut comma = "\n";
    for entry in &index.nodes {
        if gist::node(open, entry.span).is_some() {
            put(&format!("{comma}{}", line(open, entry.span)?.trim()))?;
            comma = ",\n";
        }
    }
    put("\n],\n\"labels\":[")?;
    let mut comma = "\n";
    for label in crate::tree::labels(index) {
        let label = serde_json::to_string(&label).map_err(|e| Fail::failure(e.to_string()))?;
        put(&format!("{comma}{label}"))?;
        comma = ",\n";
    }
    put("\n]}\n")?;
    output.flush().map_err(|e| Fail::output(&e))
}

fn line(open: &Open, span: Span) -> Result<String, Fail> {
    let line = scan::read(&open.file, span.offset, span.len).map_err(|e| open.failed(&e))?;
    Ok(nub_proto::lossless(&line).into_owned())
}
