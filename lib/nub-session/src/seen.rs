//! What a line of a session file is, mostly from its first bytes: nub writes id, parent and kind in
//! front. Lines in another field order, as other programs write them, are read in full.

use std::borrow::Cow;
use std::fs::File;
use std::io;

use nub_proto::{Label, Line, MAX_LINE, NodeKind, VERSION};
use serde::Deserialize;

use crate::scan::{self, Raw};

/// A line's meaning.
#[derive(Debug)]
pub enum Seen<'a> {
    /// The first line.
    Session,
    /// A node.
    Node(Seed<'a>),
    /// The head moves.
    Head(String),
    /// A name or a mark.
    Label(Label),
    /// A context and its id.
    Context(Cow<'a, str>),
    /// A record that is none of these, or a blank line.
    Other,
    /// No record that could be read, and why.
    Damaged(&'static str),
    /// A record of this later version.
    Newer(u64),
}

/// What says where a node belongs.
#[derive(Debug, Deserialize)]
pub struct Seed<'a> {
    /// Its id.
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    /// The node before it, empty for a root.
    #[serde(borrow)]
    pub parent: Cow<'a, str>,
    /// What it holds.
    pub kind: NodeKind,
}

impl Seed<'_> {
    fn owned(self) -> Seed<'static> {
        Seed {
            id: Cow::Owned(self.id.into_owned()),
            parent: Cow::Owned(self.parent.into_owned()),
            kind: self.kind,
        }
    }
}

#[derive(Deserialize)]
struct Id {
    id: String,
}

const NODE: &[u8] = br#"{"v":1,"type":"node","id":""#;
const CONTEXT: &[u8] = br#"{"v":1,"type":"context","id":""#;
const SESSION: &[u8] = br#"{"v":1,"type":"session","#;

/// Looks at one line.
pub fn look<'a>(file: &File, raw: &Raw<'a>) -> io::Result<Seen<'a>> {
    if let Some(seen) = quick(raw) {
        return Ok(seen);
    }
    if raw.len > MAX_LINE as u64 {
        return Ok(Seen::Damaged("a line longer than 64 MiB"));
    }
    let line = if raw.is_whole() { raw.head.to_vec() } else { scan::read(file, raw.offset, raw.len)? };
    Ok(whole(line))
}

fn quick<'a>(raw: &Raw<'a>) -> Option<Seen<'a>> {
    if !raw.ended || (raw.is_whole() && raw.head.last() != Some(&b'}')) || raw.len > MAX_LINE as u64 {
        return None;
    }
    if let Some(rest) = raw.head.strip_prefix(NODE) {
        let (id, rest) = plain(rest)?;
        let (parent, rest) = plain(rest.strip_prefix(br#","parent":""#)?)?;
        let rest = rest.strip_prefix(br#","kind":""#)?;
        let kind = if rest.starts_with(br#"message","message":{"#) {
            NodeKind::Message
        } else if rest.starts_with(br#"summary","message":{"#) {
            NodeKind::Summary
        } else {
            return None;
        };
        return Some(Seen::Node(Seed { id: id.into(), parent: parent.into(), kind }));
    }
    if let Some(rest) = raw.head.strip_prefix(CONTEXT) {
        return Some(Seen::Context(plain(rest)?.0.into()));
    }
    raw.head.starts_with(SESSION).then_some(Seen::Session)
}

/// A string without escapes up to its closing quote, and what follows.
fn plain(text: &[u8]) -> Option<(&str, &[u8])> {
    let end = memchr::memchr2(b'"', b'\\', text)?;
    (text[end] == b'"').then_some(())?;
    Some((std::str::from_utf8(&text[..end]).ok()?, &text[end + 1..]))
}

/// Reads a whole line.
pub fn whole(line: Vec<u8>) -> Seen<'static> {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Seen::Other;
    }
    let line = match Line::check(line, 0) {
        Ok(line) => line,
        Err(nub_proto::FrameError::Version { version, .. }) => return Seen::Newer(version),
        Err(_) => return Seen::Damaged("a line that is no record"),
    };
    typed(&line).unwrap_or(Seen::Damaged("a record with fields of another shape"))
}

fn typed(line: &Line) -> Option<Seen<'static>> {
    Some(match line.kind() {
        "session" => Seen::Session,
        "node" => Seen::Node(seed(line)?),
        "head" => Seen::Head(line.read::<nub_proto::Head>().ok()?.head),
        "label" => Seen::Label(line.read().ok()?),
        "context" => Seen::Context(line.read::<Id>().ok()?.id.into()),
        _ => Seen::Other,
    })
}

fn seed(line: &Line) -> Option<Seed<'static>> {
    serde_json::from_slice::<Seed>(line.raw())
        .map(Seed::owned)
        .or_else(|_| serde_json::from_str::<Seed>(&nub_proto::lossless(line.raw())).map(Seed::owned))
        .ok()
}

/// Whether a node's line holds the node its beginning promises: a line that was torn and then written
/// on welds two records into one.
pub fn is_sound(file: &File, raw: &Raw) -> io::Result<bool> {
    if raw.is_whole() {
        return Ok(has_node(raw.head));
    }
    Ok(has_node(&scan::read(file, raw.offset, raw.len)?))
}

/// The marks of a welded or blotted line; without them its end is trusted, since reading every byte
/// as JSON would cost more than the whole walk.
fn has_node(line: &[u8]) -> bool {
    let suspicious = memchr::memchr(0, line).is_some()
        || memchr::memmem::find(&line[1..], br#"{"v":"#).is_some()
        || line.last() != Some(&b'}')
        || !line.starts_with(NODE);
    !suspicious || serde_json::from_str::<serde::de::IgnoredAny>(&nub_proto::lossless(line)).is_ok()
}

/// What to say about lines that cannot be read.
pub fn left_out(path: &std::path::Path, damaged: u64) -> Option<String> {
    (damaged > 0).then(|| {
        let path = path.display();
        format!("{damaged} lines of '{path}' cannot be read and are left out (nub-session check says more)")
    })
}

/// What to say about a record of a later version.
pub fn newer(path: &std::path::Path, version: u64) -> nub_sys::Fail {
    nub_sys::Fail::usage(format!(
        "'{}' holds a record of version {version}; this program knows version {VERSION}",
        path.display()
    ))
    .advice("a newer nub wrote it: update nub to read it; nothing was changed")
}
