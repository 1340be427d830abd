//! What a request is made of, for people: a table of every source and its cost, or the request itself.

use nub_proto::{Block, Context, Kind, Message, Request, Role};

use crate::args::Job;

/// The table for `--explain`, else the request as text.
pub(crate) fn text(job: &Job, context: &Context, request: &Request) -> String {
    if job.explain { table(context, request) } else { plain(request) }
}

/// A row for every source.
fn table(context: &Context, request: &Request) -> String {
    let mut rows: Vec<[String; 4]> = vec![["SOURCE", "KIND", "TOKENS", ""].map(String::from)];
    let mut total = 0;
    let mut add = |name: &str, kind: &str, tokens: u64, note: &str| {
        total += tokens;
        rows.push([shown(name), kind.into(), tokens.to_string(), note.into()]);
    };
    for source in &context.sources {
        add(&source.path, &source.kind, source.tokens, if source.truncated { "shortened" } else { "" });
    }
    for tool in &context.tools {
        add(&tool.name, &format!("tool {}", tool.source), nub_tokens::tool_def(tool), "");
    }
    for message in &request.messages {
        let name = match message.role {
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        add(name, "message", nub_tokens::message(message), &beginning(message));
    }
    rows.push(["total".into(), String::new(), total.to_string(), "estimated".into()]);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (first, second, third) = (width(0), width(1), width(2));
    let mut out = String::new();
    for [name, kind, tokens, note] in &rows {
        let line = format!("{name:first$}  {kind:second$}  {tokens:>third$}  {note}");
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// The first words of a message.
fn beginning(message: &Message) -> String {
    /// How much is shown, in characters.
    const SHOWN: usize = 48;
    let text = message.content.iter().map(block).collect::<Vec<_>>().join(" ");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = words.chars().take(SHOWN).collect();
    shown(&if short.len() < words.len() { format!("{short}…") } else { short })
}

/// The request as a person reads it.
fn plain(request: &Request) -> String {
    let or = |name: &str| if name.is_empty() { "chosen by nub-stream".to_owned() } else { name.to_owned() };
    let mut out = format!("model: {}\nendpoint: {}\n", or(&request.model), or(&request.endpoint));
    let names: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    out.push_str(&format!("tools: {}\n", if names.is_empty() { "none".into() } else { names.join(", ") }));
    for part in &request.system {
        out.push_str(&format!("\n--- system\n{}\n", block(part).trim_end()));
    }
    for message in &request.messages {
        let name = match message.role {
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        let content = message.content.iter().map(block).collect::<Vec<_>>().join("\n");
        out.push_str(&format!("\n--- {name}\n{}\n", content.trim_end()));
    }
    shown(&out)
}

fn block(block: &Block) -> String {
    match &block.kind {
        Kind::Text { text } | Kind::Thinking { text } => text.clone(),
        Kind::ToolUse { name, .. } => format!("[call of {name}]"),
        Kind::ToolResult { result, .. } => result.iter().map(self::block).collect::<Vec<_>>().join("\n"),
        Kind::Image { media_type, data } => format!("[{media_type}, {} bytes]", data.len() / 4 * 3),
    }
}

/// Harmless on a terminal: control characters other than line ends and tabs become visible.
fn shown(text: &str) -> String {
    let visible = |c: char| if c.is_control() && c != '\n' && c != '\t' { '\u{FFFD}' } else { c };
    text.chars().map(visible).collect()
}
