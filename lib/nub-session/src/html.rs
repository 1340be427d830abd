//! export --format html: the whole tree as one file that needs no other, with folded calls, coloured
//! diffs and links between branches.

use std::io::Write;

use nub_proto::{Block, Input, Kind, Message, Node, NodeKind};
use nub_sys::Fail;

use crate::export::{Keys, html_escape, plain};
use crate::index::Index;
use crate::open::Open;
use crate::tree::Shape;
use crate::{gist, tree};

const HEAD: &str = include_str!("head.html");

/// Prints the page: the way to the head first, then every branch that leaves it.
///
/// # Errors
/// The output cannot be written.
pub fn page(open: &Open, index: &Index, keys: Keys, output: &mut impl Write) -> Result<(), Fail> {
    let shape = Shape::of(index);
    let mut put = |text: &str| output.write_all(text.as_bytes()).map_err(|e| Fail::output(&e));
    put(HEAD)?;
    // each branch begins at a node and follows the line that leads to the head, or goes on longest
    let mut starts: Vec<usize> = shape.roots.clone();
    let mut number = 0;
    while let Some(start) = starts.pop() {
        number += 1;
        put(&format!("<section><h2>Branch {number}</h2>\n"))?;
        if let Some(parent) = index.parent(start) {
            put(&format!(
                "<p>leaves <a href=\"#n{parent}\">{}</a></p>\n",
                html_escape(&tree::short(&index.nodes[parent].id))
            ))?;
        }
        let mut next = Some(start);
        while let Some(at) = next {
            put(&article(open, index, at, &shape.children[at], keys))?;
            let (main, sides) = match shape.children[at].split_last() {
                Some((main, sides)) => (Some(*main), sides),
                None => (None, &[][..]),
            };
            starts.extend(sides);
            next = main;
        }
        put("</section>\n")?;
    }
    put("</body></html>\n")?;
    output.flush().map_err(|e| Fail::output(&e))
}

fn article(open: &Open, index: &Index, at: usize, children: &[usize], keys: Keys) -> String {
    let entry = &index.nodes[at];
    let Some(node) = gist::node(open, entry.span) else {
        return format!("<article id=\"n{at}\">cannot be read</article>\n");
    };
    let (who, _) = gist::gist(&node.message, 0);
    let who = if entry.kind == NodeKind::Summary { "summary" } else { who };
    let mut text =
        format!("<article id=\"n{at}\" class=\"{who}\"><h3>{who}{}</h3>\n", facts(index, at, &node));
    for block in &node.message.content {
        text.push_str(&part(block, keys));
    }
    if let [sides @ .., _] = children {
        for side in sides {
            let name = html_escape(&tree::short(&index.nodes[*side].id));
            text.push_str(&format!("<p class=\"way\">another way: <a href=\"#n{side}\">{name}</a></p>\n"));
        }
    }
    text + "</article>\n"
}

fn facts(index: &Index, at: usize, node: &Node<Message>) -> String {
    let mark = index.marks.get(&at).cloned().unwrap_or_default();
    let star = mark.bookmark.then(|| "★".to_owned());
    let head = (index.head == Some(at)).then(|| "head".to_owned());
    let facts = [node.meta.model.clone(), node.meta.created_at.clone(), mark.label, star, head];
    facts.into_iter().flatten().map(|fact| format!(" <small>{}</small>", html_escape(&fact))).collect()
}

fn part(block: &Block, keys: Keys) -> String {
    let shown = |text: &str| html_escape(&keys.in_text(text));
    let folded = |title: &str, body: &str| {
        format!(
            "<details><summary>{}</summary><pre>{}</pre></details>\n",
            html_escape(title),
            lines(&shown(body))
        )
    };
    match &block.kind {
        Kind::Text { text } => format!("<pre class=\"said\">{}</pre>\n", shown(text)),
        Kind::Thinking { text } => folded("thinking", text),
        Kind::ToolUse { name, input, .. } => match input {
            Input::Object(json) => folded(&format!("→ {name}"), json.text()),
            Input::Raw(raw) => folded(&format!("→ {name}"), raw),
        },
        Kind::ToolResult { result, is_error, .. } => {
            let parts: Vec<String> = result.iter().map(plain).collect();
            folded(if *is_error { "✗ error" } else { "← result" }, &parts.join("\n"))
        }
        Kind::Image { media_type, data } => image(media_type, data),
    }
}

/// Only kinds of images that run nothing, and only base64.
fn image(media_type: &str, data: &str) -> String {
    let known = ["image/png", "image/jpeg", "image/gif", "image/webp"].contains(&media_type);
    let plain = data.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=".contains(&b));
    if known && plain {
        return format!("<img src=\"data:{media_type};base64,{data}\" alt=\"\">\n");
    }
    format!("<p>[{}]</p>\n", html_escape(media_type))
}

/// Lines of a diff in colour, when there is the head of a hunk.
fn lines(escaped: &str) -> String {
    if !escaped.lines().any(|line| line.starts_with("@@ ")) {
        return escaped.to_owned();
    }
    let paint = |line: &str| match line.as_bytes().first() {
        Some(b'+') => format!("<ins>{line}</ins>"),
        Some(b'-') => format!("<del>{line}</del>"),
        Some(_) | None => line.to_owned(),
    };
    escaped.lines().map(paint).collect::<Vec<_>>().join("\n")
}
