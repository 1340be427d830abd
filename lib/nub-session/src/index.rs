//! The whole tree of a session file: where each node lies, who its parent is, head, labels and damage.

use std::collections::HashMap;

use nub_proto::{Label, NodeKind};
use nub_sys::Fail;

use crate::open::Open;
use crate::scan::{Forward, Raw};
use crate::seen::{self, Seen};

/// A node and where its line lies.
#[derive(Debug)]
pub struct Entry {
    /// Its id.
    pub id: String,
    /// The id of the node before it, empty for a root.
    pub parent: String,
    /// What it holds.
    pub kind: NodeKind,
    /// Where its line lies.
    pub span: Span,
    /// Its line's number, from 1.
    pub line: u64,
}

/// Where a line lies in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Offset of the first byte.
    pub offset: u64,
    /// Bytes without the line end.
    pub len: u64,
}

impl From<&Raw<'_>> for Span {
    fn from(raw: &Raw<'_>) -> Span {
        Span { offset: raw.offset, len: raw.len }
    }
}

/// A name and a mark.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mark {
    /// Its name.
    pub label: Option<String>,
    /// It is marked.
    pub bookmark: bool,
}

/// Something wrong with the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Line number, from 1.
    pub line: u64,
    /// The kind of damage, a word for programs.
    pub code: &'static str,
    /// What is wrong.
    pub what: String,
}

/// The tree.
#[derive(Debug, Default)]
pub struct Index {
    /// The first session record.
    pub session: Option<Span>,
    /// Every node in file order; of two with one id the later one counts.
    pub nodes: Vec<Entry>,
    /// The node that the next message follows.
    pub head: Option<usize>,
    /// Names and marks by node.
    pub marks: HashMap<usize, Mark>,
    /// Contexts by id.
    pub contexts: HashMap<String, Span>,
    /// How many whole lines there are.
    pub lines: u64,
    /// What is wrong with single lines.
    pub damage: Vec<Damage>,
    /// The latest version of records that this program does not know.
    newer: Option<u64>,
    by_id: HashMap<String, usize>,
}

impl Index {
    /// Reads every line's beginning.
    ///
    /// # Errors
    /// The file cannot be read or holds a record of a later version.
    pub fn load(open: &Open) -> Result<Index, Fail> {
        let index = Index::survey(open)?;
        index.newer.map_or(Ok(index), |version| Err(seen::newer(&open.path, version)))
    }

    /// Reads every line's beginning, whatever is wrong with it.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn survey(open: &Open) -> Result<Index, Fail> {
        let mut index = Index::default();
        let mut lines = Forward::new(&open.file, 0);
        while let Some(raw) = lines.next().map_err(|e| open.failed(&e))? {
            if raw.offset >= open.extent.good {
                break;
            }
            index.lines += 1;
            index.add(seen::look(&open.file, &raw).map_err(|e| open.failed(&e))?, &raw);
        }
        Ok(index)
    }

    fn add(&mut self, seen: Seen, raw: &Raw) {
        let line = self.lines;
        match seen {
            Seen::Session => self.session = self.session.or(Some(raw.into())),
            Seen::Node(seed) => self.node(&seed, raw, line),
            Seen::Head(head) => self.move_head(&head, line),
            Seen::Label(label) => self.mark(label, line),
            Seen::Context(id) => {
                self.contexts.entry(id.into_owned()).or_insert(raw.into());
            }
            Seen::Other => {}
            Seen::Newer(version) => {
                self.newer = self.newer.max(Some(version));
                self.damaged(line, "version", format!("a record of version {version}"));
            }
            Seen::Damaged(what) => self.damaged(line, "no_record", what),
        }
    }

    fn node(&mut self, seed: &seen::Seed, raw: &Raw, line: u64) {
        let at = self.nodes.len();
        if self.by_id.insert(seed.id.to_string(), at).is_some() {
            self.damaged(line, "duplicate_id", format!("node '{}' was there before", seed.id));
        }
        self.nodes.push(Entry {
            id: seed.id.to_string(),
            parent: seed.parent.to_string(),
            kind: seed.kind,
            span: raw.into(),
            line,
        });
        self.head = Some(at);
    }

    fn move_head(&mut self, head: &str, line: u64) {
        if head.is_empty() {
            self.head = None;
        } else if let Some(at) = self.at(head) {
            self.head = Some(at);
        } else {
            self.damaged(
                line,
                "unknown_head",
                format!("the head moves to node '{head}', which is not there"),
            );
        }
    }

    fn mark(&mut self, label: Label, line: u64) {
        let Some(at) = self.at(&label.node) else {
            let what = format!("a label for node '{}', which is not there", label.node);
            return self.damaged(line, "unknown_label", what);
        };
        let mark = self.marks.entry(at).or_default();
        if let Some(text) = label.label {
            mark.label = (!text.is_empty()).then_some(text);
        }
        if let Some(bookmark) = label.bookmark {
            mark.bookmark = bookmark;
        }
    }

    fn damaged(&mut self, line: u64, code: &'static str, what: impl Into<String>) {
        self.damage.push(Damage { line, code, what: what.into() });
    }

    /// The position of a node.
    #[must_use]
    pub fn at(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// Whether a node is the one its id stands for: of two with one id the later.
    #[must_use]
    pub fn is_current(&self, at: usize) -> bool {
        self.at(&self.nodes[at].id) == Some(at)
    }

    /// The position of the node before; `None` for a root and where it is lost.
    #[must_use]
    pub fn parent(&self, at: usize) -> Option<usize> {
        self.at(&self.nodes[at].parent)
    }

    /// The one node a user means: by id, by label, or by the beginning or the end of its id.
    ///
    /// # Errors
    /// None or several fit.
    pub fn find(&self, word: &str) -> Result<usize, Fail> {
        if let Some(at) = self.at(word) {
            return Ok(at);
        }
        let labelled = |at: &usize| self.marks.get(at).is_some_and(|m| m.label.as_deref() == Some(word));
        let named = |at: &usize| {
            let id = &self.nodes[*at].id;
            !word.is_empty() && self.is_current(*at) && is_end_of(id, word)
        };
        let all = 0..self.nodes.len();
        let mut fits: Vec<usize> = all.clone().filter(labelled).collect();
        if fits.is_empty() {
            fits = all.filter(named).collect();
        }
        match fits[..] {
            [at] => Ok(at),
            [] => Err(Fail::usage(format!("no node '{word}' in this session"))
                .advice("nub-session tree shows the nodes")),
            [first, second, ..] => Err(Fail::usage(format!(
                "'{word}' means {} nodes, such as '{}' and '{}'",
                fits.len(),
                self.nodes[first].id,
                self.nodes[second].id
            ))),
        }
    }
}

/// Whether a word is the beginning or the end of an id, in any case.
fn is_end_of(id: &str, word: &str) -> bool {
    let (id, word) = (id.as_bytes(), word.as_bytes());
    id.len() >= word.len()
        && (id[..word.len()].eq_ignore_ascii_case(word)
            || id[id.len() - word.len()..].eq_ignore_ascii_case(word))
}
