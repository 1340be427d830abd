//! check --repair: a copy of a damaged session that is a valid tree. The damaged file stays as it is,
//! and every record that can be read is in the copy.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use nub_conf::Paths;
use nub_proto::{
    Head, Json, Label, Message, Meta, Node, NodeKind, Record, Role, Session, encode, lossless, repair,
};
use nub_sys::{Fail, clock};

use crate::index::{Index, Span};
use crate::journal::{Journal, cannot_write};
use crate::open::Open;
use crate::scan::Forward;
use crate::seen::{self, Seen};
use crate::{check, gist, place, scan};

/// How much is stored at once, in bytes.
const BATCH: usize = 1 << 20;
/// Where a record begins that was welded to a torn one.
const START: &[u8] = br#"{"v":1,"type":""#;

/// Writes the copy and returns its session record.
///
/// # Errors
/// The file cannot be read or the copy not be written.
pub fn copy(open: &Open, index: &Index, paths: &Paths) -> Result<Session, Fail> {
    let (spans, there) = readable(open)?;
    let journal = place::create(paths, &place::plan(paths))?;
    let fresh = place::session(&journal.path, paths);
    let session = match index.session.and_then(|span| gist::read::<Session>(open, span)) {
        Some(old) => Session { id: fresh.id, parent: Some(old.id), ..old },
        None => fresh,
    };
    let cut = check::circles(index).into_iter().map(|at| index.nodes[at].id.clone()).collect();
    let mut copy = Copy {
        journal,
        batch: Vec::new(),
        there,
        cut,
        now: HashMap::new(),
        copied: HashSet::new(),
        calls: BTreeMap::new(),
        head: String::new(),
    };
    copy.put(&session)?;
    for span in spans {
        let line = scan::read(&open.file, span.offset, span.len).map_err(|e| open.failed(&e))?;
        copy.record(&line)?;
    }
    copy.finish()?;
    Ok(session)
}

/// Where every readable record lies, welded ones too, and the ids of the nodes among them.
fn readable(open: &Open) -> Result<(Vec<Span>, HashSet<String>), Fail> {
    let (mut spans, mut ids) = (Vec::new(), HashSet::new());
    let mut lines = Forward::new(&open.file, 0);
    while let Some(raw) = lines.next().map_err(|e| open.failed(&e))? {
        let span = Span::from(&raw);
        if is_readable(open, span, &mut ids) {
            spans.push(span);
            continue;
        }
        let line = scan::read(&open.file, span.offset, span.len).map_err(|e| open.failed(&e))?;
        let mut welded = memchr::memmem::find_iter(&line, START)
            .filter(|at| *at > 0)
            .map(|at| Span { offset: span.offset + at as u64, len: span.len - at as u64 });
        spans.extend(welded.find(|span| is_readable(open, *span, &mut ids)));
    }
    Ok((spans, ids))
}

fn is_readable(open: &Open, span: Span, ids: &mut HashSet<String>) -> bool {
    let Ok(line) = scan::read(&open.file, span.offset, span.len) else { return false };
    match seen::whole(line) {
        Seen::Damaged(_) | Seen::Newer(_) => false,
        Seen::Node(seed) => {
            let readable = gist::node(open, span).is_some();
            if readable {
                ids.insert(seed.id.into_owned());
            }
            readable
        }
        Seen::Session | Seen::Head(_) | Seen::Label(_) | Seen::Context(_) | Seen::Other => true,
    }
}

struct Copy {
    journal: Journal,
    batch: Vec<u8>,
    /// Ids of every node that can be read.
    there: HashSet<String>,
    /// Nodes where a circle is cut: they become roots.
    cut: HashSet<String>,
    /// Nodes in the copy: the id each has now, by the one it had.
    now: HashMap<String, String>,
    /// Hashes of the lines of nodes, to know a line that stands there twice.
    copied: HashSet<u64>,
    /// Answers with calls, by id, and whether anything follows them.
    calls: BTreeMap<String, (Message, bool)>,
    head: String,
}

impl Copy {
    fn record(&mut self, line: &[u8]) -> Result<(), Fail> {
        match seen::whole(line.to_vec()) {
            Seen::Node(_) => self.node(line),
            Seen::Head(head) => {
                if head.is_empty() || self.now.contains_key(&head) {
                    self.head = self.now.get(&head).cloned().unwrap_or_default();
                }
                Ok(())
            }
            Seen::Label(label) => match self.now.get(&label.node).cloned() {
                Some(node) => self.put(&Label { node, ..label }),
                None => Ok(()),
            },
            Seen::Context(_) | Seen::Other => self.raw(line),
            // there is one session record, and what cannot be read did not come here
            Seen::Session | Seen::Damaged(_) | Seen::Newer(_) => Ok(()),
        }
    }

    fn node(&mut self, line: &[u8]) -> Result<(), Fail> {
        let mut hasher = DefaultHasher::new();
        line.hash(&mut hasher);
        let Ok(old) = serde_json::from_str::<Node<Json>>(&lossless(line)) else { return Ok(()) };
        let Ok(message) = old.message.read::<Message>() else { return Ok(()) };
        if !self.copied.insert(hasher.finish()) {
            return Ok(());
        }
        let id =
            if self.now.contains_key(&old.id) { self.journal.next_id().to_string() } else { old.id.clone() };
        let parent = self.parent(&old);
        let (parent, answered) = self.answer(parent, &message)?;
        self.now.insert(old.id.clone(), id.clone());
        self.head.clone_from(&id);
        let same = answered.is_none() && id == old.id && parent == old.parent;
        let message = answered.unwrap_or(message);
        if message.role == Role::Assistant && repair(&mut vec![message.clone()]) {
            self.calls.insert(id.clone(), (message.clone(), false));
        }
        if same {
            return self.raw(line);
        }
        self.put(&Node { id, parent, message: json(&message)?, ..old })
    }

    /// The node before: under the id it has now, or none where it is lost or leads in a circle.
    fn parent(&self, node: &Node<Json>) -> String {
        if self.cut.contains(&node.id) {
            return String::new();
        }
        let to_come = || self.there.contains(&node.parent).then(|| node.parent.clone());
        self.now.get(&node.parent).cloned().or_else(to_come).unwrap_or_default()
    }

    /// Results for calls that this message leaves without: in front of it, or as a node of their own.
    fn answer(&mut self, parent: String, message: &Message) -> Result<(String, Option<Message>), Fail> {
        let Some((call, followed)) = self.calls.get_mut(&parent) else { return Ok((parent, None)) };
        *followed = true;
        let mut pair = vec![call.clone(), message.clone()];
        if !repair(&mut pair) {
            return Ok((parent, None));
        }
        if let [_, answered] = &pair[..] {
            return Ok((parent, Some(answered.clone())));
        }
        Ok((self.results(parent, &pair.swap_remove(1))?, None))
    }

    /// Adds a node with results and returns its id.
    fn results(&mut self, parent: String, message: &Message) -> Result<String, Fail> {
        let id = self.journal.next_id().to_string();
        let meta = Meta { created_at: Some(clock::now()), ..Meta::default() };
        let kind = NodeKind::Message;
        let message = json(message)?;
        self.put(&Node { id: id.clone(), parent, kind, message, replaces: Vec::new(), meta })?;
        Ok(id)
    }

    /// Results where nothing followed, then the head.
    fn finish(&mut self) -> Result<(), Fail> {
        for (id, (call, followed)) in std::mem::take(&mut self.calls) {
            let mut pair = vec![call];
            if !followed && repair(&mut pair) {
                let results = self.results(id.clone(), &pair[1])?;
                if self.head == id {
                    self.head = results;
                }
            }
        }
        self.put(&Head { head: self.head.clone() })?;
        self.store()
    }

    fn put<T: Record>(&mut self, record: &T) -> Result<(), Fail> {
        encode(record, &mut self.batch).map_err(|e| Fail::failure(format!("cannot encode a record: {e}")))?;
        if self.batch.len() < BATCH { Ok(()) } else { self.store() }
    }

    fn raw(&mut self, line: &[u8]) -> Result<(), Fail> {
        self.batch.extend_from_slice(line);
        self.batch.push(b'\n');
        if self.batch.len() < BATCH { Ok(()) } else { self.store() }
    }

    fn store(&mut self) -> Result<(), Fail> {
        self.journal.store(&self.batch).map_err(|e| cannot_write(&self.journal.path, &e))?;
        self.batch.clear();
        Ok(())
    }
}

fn json(message: &Message) -> Result<Json, Fail> {
    Json::of(message).map_err(|e| Fail::failure(e.to_string()))
}
