//! The path: from the head towards the root, over summaries, as spans of the file. The usual walk reads
//! the file once, backwards, and holds nothing but the path.

use std::collections::HashSet;
use std::fs::File;
use std::io;

use nub_proto::{Block, Kind, Message, Node, NodeKind, Role};
use nub_sys::Fail;

use crate::index::{Index, Span};
use crate::open::Open;
use crate::scan::{self, Backward, Raw};
use crate::seen::{self, Seed, Seen};

/// The spans of a path's nodes, in the order in which a model reads them.
///
/// # Errors
/// The file cannot be read or holds a record of a later version.
pub fn path(open: &mut Open) -> Result<Vec<Span>, Fail> {
    if let Some(walk) = backward(open)? {
        return walk.order(&open.file).map_err(|e| open.failed(&e));
    }
    let index = Index::load(open)?;
    path_to(open, &index, index.head)
}

/// The spans of the path that ends in a node.
///
/// # Errors
/// The file cannot be read.
pub fn path_to(open: &mut Open, index: &Index, node: Option<usize>) -> Result<Vec<Span>, Fail> {
    let walk = from(open, index, node)?;
    open.notes.extend(walk.note.clone());
    walk.order(&open.file).map_err(|e| open.failed(&e))
}

/// Collects nodes from the head on.
#[derive(Debug, Default)]
struct Walk {
    /// From the head towards the root.
    spans: Vec<Span>,
    /// Where the first summary stands in `spans`, and what it replaces.
    summary: Option<(usize, HashSet<String>)>,
    /// Nothing more belongs to the path.
    done: bool,
    /// Why it ends early.
    note: Option<String>,
}

impl Walk {
    fn take(&mut self, file: &File, seed: &Seed, span: Span) -> io::Result<()> {
        match &self.summary {
            Some((_, replaced)) => {
                if replaced.contains(seed.id.as_ref()) {
                    self.done = true;
                    return Ok(());
                }
            }
            None => {
                if seed.kind == NodeKind::Summary {
                    self.summary = Some((self.spans.len(), replaces(file, span)?));
                }
            }
        }
        self.spans.push(span);
        self.done = seed.parent.is_empty();
        Ok(())
    }

    /// The summary, what it kept raw, and what came after it.
    fn order(mut self, file: &File) -> io::Result<Vec<Span>> {
        let Some((at, _)) = self.summary else {
            self.spans.reverse();
            return Ok(self.spans);
        };
        let mut kept = self.spans.split_off(at + 1);
        while let Some(first) = kept.last() {
            if !is_answer(file, *first)? {
                break;
            }
            kept.pop();
        }
        let summary = self.spans.pop();
        self.spans.reverse();
        Ok(summary.into_iter().chain(kept.into_iter().rev()).chain(self.spans).collect())
    }
}

/// What a summary's line says it replaces.
fn replaces(file: &File, span: Span) -> io::Result<HashSet<String>> {
    #[derive(serde::Deserialize)]
    struct Replaces {
        #[serde(default)]
        replaces: HashSet<String>,
    }
    let line = scan::read(file, span.offset, span.len)?;
    let found: Result<Replaces, _> = serde_json::from_str(&nub_proto::lossless(&line));
    Ok(found.map(|r| r.replaces).unwrap_or_default())
}

/// Whether a kept part must not begin with this node: results whose calls were replaced.
fn is_answer(file: &File, span: Span) -> io::Result<bool> {
    let line = scan::read(file, span.offset, span.len)?;
    let node: Result<Node<Message>, _> = serde_json::from_str(&nub_proto::lossless(&line));
    let begins = |b: &Block| matches!(b.kind, Kind::ToolResult { .. });
    Ok(node.is_ok_and(|n| n.message.role == Role::User && n.message.content.first().is_some_and(begins)))
}

/// One pass from the end. `None` when a node stands before its parent, or is lost: then the whole tree
/// must be known.
fn backward(open: &mut Open) -> Result<Option<Walk>, Fail> {
    let mut damaged = 0;
    let mut walk = Walk::default();
    let mut want: Option<String> = None;
    let mut lines = Backward::new(&open.file, open.extent);
    while let Some(raw) = lines.next().map_err(|e| open.failed(&e))? {
        match seen::look(&open.file, &raw).map_err(|e| open.failed(&e))? {
            Seen::Newer(version) => return Err(seen::newer(&open.path, version)),
            Seen::Node(seed) if !walk.done && want.as_deref().is_none_or(|want| want == seed.id) => {
                if !is_whole_node(open, &raw)? {
                    return Ok(None);
                }
                walk.take(&open.file, &seed, (&raw).into()).map_err(|e| open.failed(&e))?;
                want = Some(seed.parent.into_owned());
            }
            Seen::Head(head) if want.is_none() => {
                walk.done = head.is_empty();
                want = Some(head);
            }
            Seen::Damaged(_) => damaged += 1,
            // the version of every other line was looked at; it does not belong to the path
            Seen::Session
            | Seen::Node(_)
            | Seen::Head(_)
            | Seen::Label(_)
            | Seen::Context(_)
            | Seen::Other => {}
        }
    }
    open.notes.extend(seen::left_out(&open.path, damaged));
    Ok((walk.done || want.is_none()).then_some(walk))
}

fn is_whole_node(open: &Open, raw: &Raw) -> Result<bool, Fail> {
    seen::is_sound(&open.file, raw).map_err(|e| open.failed(&e))
}

/// The walk in a known tree, which also ends at lost parents, torn nodes and circles.
fn from(open: &Open, index: &Index, node: Option<usize>) -> Result<Walk, Fail> {
    let mut walk = Walk::default();
    let mut visited = HashSet::new();
    let mut next = node;
    while let Some(at) = next.filter(|_| !walk.done) {
        let entry = &index.nodes[at];
        let raw = Raw { offset: entry.span.offset, len: entry.span.len, head: &[], ended: true };
        let lost = if !visited.insert(at) {
            Some(format!("node '{}' is its own ancestor; the path begins behind it", entry.id))
        } else if !is_whole_node(open, &raw)? {
            Some(format!("node '{}' cannot be read; the path begins behind it", entry.id))
        } else {
            None
        };
        if lost.is_some() {
            walk.note = lost;
            break;
        }
        let seed =
            Seed { id: entry.id.as_str().into(), parent: entry.parent.as_str().into(), kind: entry.kind };
        walk.take(&open.file, &seed, entry.span).map_err(|e| open.failed(&e))?;
        next = index.parent(at);
        if next.is_none() && !walk.done {
            walk.note = Some(format!("node '{}' is not there; the path begins behind it", entry.parent));
        }
    }
    Ok(walk)
}

/// A node and all those before it, the root first, summaries or not.
pub fn ancestors(index: &Index, at: usize) -> Vec<usize> {
    let mut line = Vec::new();
    let mut visited = HashSet::new();
    let mut next = Some(at);
    while let Some(at) = next.filter(|at| visited.insert(*at)) {
        line.push(at);
        next = index.parent(at);
    }
    line.reverse();
    line
}
