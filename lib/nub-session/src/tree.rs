//! tree: the tree as records for programs, drawn for people.

use std::collections::HashSet;
use std::io::Write;

use nub_proto::{Head, Label, NodeKind, encode};
use nub_sys::Fail;

use crate::gist;
use crate::index::{Index, Mark};
use crate::open::Open;
use crate::print;

/// How many characters of a message a line of the drawing shows.
const SHOWN: usize = 64;
/// How many characters of an id are shown: nub's ids differ at their end.
const SHORT: usize = 8;
/// How deep branches of branches are indented, in levels.
const DEEPEST: usize = 24;

/// The session record, every node in file order, the labels and the head.
///
/// # Errors
/// The file cannot be read or the output not be written.
pub fn records(open: &Open, index: &Index, output: &mut impl Write) -> Result<(), Fail> {
    let nodes = index.nodes.iter().map(|entry| entry.span);
    let spans: Vec<_> = index.session.into_iter().chain(nodes).collect();
    print::print(open, &spans, output)?;
    let mut lines = Vec::new();
    for label in labels(index) {
        encode(&label, &mut lines).map_err(|e| Fail::output(&e))?;
    }
    let head = index.head.map(|at| index.nodes[at].id.clone()).unwrap_or_default();
    encode(&Head { head }, &mut lines).map_err(|e| Fail::output(&e))?;
    output.write_all(&lines).and_then(|()| output.flush()).map_err(|e| Fail::output(&e))
}

/// The names and marks in force, in the order of their nodes.
pub fn labels(index: &Index) -> Vec<Label> {
    let mut marks: Vec<_> = index.marks.iter().collect();
    marks.sort_by_key(|(at, _)| **at);
    let label = |(at, mark): (&usize, &Mark)| {
        let node = index.nodes[*at].id.clone();
        Label { node, label: mark.label.clone(), bookmark: mark.bookmark.then_some(true) }
    };
    marks.into_iter().map(label).collect()
}

/// A node yet to be drawn, and what stands to the left of it and of those below it.
struct Due {
    at: usize,
    first: String,
    below: String,
}

/// A line a node: branches are indented, the line that leads to the head goes straight on.
///
/// # Errors
/// The file cannot be read or the output not be written.
pub fn draw(open: &Open, index: &Index, output: &mut impl Write) -> Result<(), Fail> {
    let shape = Shape::of(index);
    let root = |at: &usize| Due { at: *at, first: String::new(), below: String::new() };
    let mut stack: Vec<Due> = shape.roots.iter().rev().map(root).collect();
    let mut drawn = 0;
    while let Some(Due { at, first, below }) = stack.pop() {
        drawn += 1;
        writeln!(output, "{first}{}", describe(open, index, at)).map_err(|e| Fail::output(&e))?;
        let Some((main, sides)) = shape.children[at].split_last() else { continue };
        let deep = below.chars().count() / 2 >= DEEPEST;
        stack.push(Due { at: *main, first: below.clone(), below: below.clone() });
        for side in sides.iter().rev() {
            let (first, below) = if deep {
                (format!("{below}├ "), below.clone())
            } else {
                (format!("{below}├─"), format!("{below}│ "))
            };
            stack.push(Due { at: *side, first, below });
        }
    }
    let lost = shape.count - drawn;
    if lost > 0 {
        let line = format!("{lost} nodes are their own ancestors and not drawn: nub-session check says more");
        writeln!(output, "{line}").map_err(|e| Fail::output(&e))?;
    }
    output.flush().map_err(|e| Fail::output(&e))
}

/// What follows what, in the order in which it is drawn: the way to the head last.
pub struct Shape {
    /// Nodes that follow none.
    pub roots: Vec<usize>,
    /// What follows each node.
    pub children: Vec<Vec<usize>>,
    count: usize,
}

impl Shape {
    /// Of the whole tree.
    pub fn of(index: &Index) -> Shape {
        let mut to_head = HashSet::new();
        let mut next = index.head;
        while let Some(at) = next.filter(|at| to_head.insert(*at)) {
            next = index.parent(at);
        }
        let mut shape = Shape { roots: Vec::new(), children: vec![Vec::new(); index.nodes.len()], count: 0 };
        for at in (0..index.nodes.len()).filter(|at| index.is_current(*at)) {
            shape.count += 1;
            match index.parent(at) {
                Some(parent) => shape.children[parent].push(at),
                None => shape.roots.push(at),
            }
        }
        for family in shape.children.iter_mut().chain([&mut shape.roots]) {
            family.sort_by_key(|at| to_head.contains(at));
        }
        shape
    }
}

/// A node in one line.
pub fn describe(open: &Open, index: &Index, at: usize) -> String {
    let entry = &index.nodes[at];
    let sign = if index.head == Some(at) { '◉' } else { '○' };
    let mut line = format!("{sign} {}  ", short(&entry.id));
    match gist::node(open, entry.span) {
        Some(node) => {
            let (who, text) = gist::gist(&node.message, SHOWN);
            let who = if entry.kind == NodeKind::Summary { "summary" } else { who };
            let tokens = nub_tokens::message(&node.message);
            line.push_str(&format!("{who:<9} {tokens:>6}  {text}"));
        }
        None => line.push_str("cannot be read"),
    }
    if let Some(mark) = index.marks.get(&at) {
        if mark.bookmark {
            line.push_str("  ★");
        }
        if let Some(label) = &mark.label {
            line.push_str(&format!("  [{}]", gist::shorten(label, SHOWN)));
        }
    }
    if !entry.parent.is_empty() && index.parent(at).is_none() {
        line.push_str("  (its parent is not there)");
    }
    if index.head == Some(at) {
        line.push_str("  ← head");
    }
    line
}

/// The end of an id, harmless for a terminal.
pub fn short(id: &str) -> String {
    let from = id.char_indices().rev().nth(SHORT - 1).map_or(0, |(at, _)| at);
    gist::shorten(&id[from..], SHORT)
}
