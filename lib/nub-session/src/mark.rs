//! branch, label and bookmark: records about nodes, written under the lock.

use std::path::Path;

use nub_proto::{Head, Label, Record, encode};
use nub_sys::Fail;

use crate::NAME;
use crate::index::Index;
use crate::journal::{Journal, cannot_write};
use crate::open::Open;

/// What to write about a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The head moves there.
    Branch,
    /// It gets this name; an empty one takes it away.
    Label(String),
    /// It is marked, or no more.
    Bookmark(bool),
}

/// The name of the state before the first message.
const ROOT: &str = "root";

/// Writes the change and returns the record's line.
///
/// # Errors
/// There is no such node, or the file cannot be written.
pub fn mark(path: &Path, node: &str, change: Change) -> Result<Vec<u8>, Fail> {
    // opening for writing would make a file that is not there
    Open::read(path)?;
    let mut journal = Journal::open(path)?;
    journal.notes.iter().for_each(|note| nub_sys::warn(NAME, note));
    let index = Index::load(&Open::read(path)?)?;
    let id = match change {
        Change::Branch if node == ROOT => String::new(),
        _ => index.nodes[index.find(node)?].id.clone(),
    };
    let line = match change {
        Change::Branch => line(&Head { head: id }),
        Change::Label(text) => line(&Label { node: id, label: Some(text), bookmark: None }),
        Change::Bookmark(is) => line(&Label { node: id, label: None, bookmark: Some(is) }),
    }?;
    journal.store(&line).map_err(|e| cannot_write(path, &e))?;
    Ok(line)
}

fn line<T: Record>(record: &T) -> Result<Vec<u8>, Fail> {
    let mut line = Vec::new();
    encode(record, &mut line).map_err(|e| Fail::output(&e))?;
    Ok(line)
}
