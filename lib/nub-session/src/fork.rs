//! fork: a new session that begins as another one did, up to a node.

use nub_conf::Paths;
use nub_proto::{Meta, Session, encode};
use nub_sys::Fail;
use serde::Deserialize;

use crate::index::{Index, Span};
use crate::journal::cannot_write;
use crate::open::Open;
use crate::{gist, path, place, print, tree};

#[derive(Deserialize)]
struct Shaped {
    #[serde(default)]
    meta: Meta,
}

/// Copies a node, those before it, their contexts, names and marks. Returns the new session record.
///
/// # Errors
/// The file cannot be read or the new one not be written.
pub fn fork(open: &Open, index: &Index, at: usize, paths: &Paths) -> Result<Session, Fail> {
    let mut journal = place::create(paths, &place::plan(paths))?;
    let fresh = place::session(&journal.path, paths);
    let old: Option<Session> = index.session.and_then(|span| gist::read(open, span));
    let session = Session {
        title: old.as_ref().and_then(|old| old.title.clone()),
        parent: old.map(|old| old.id),
        ..fresh
    };
    let nodes = path::ancestors(index, at);
    let mut spans: Vec<Span> = Vec::new();
    let mut stored = std::collections::HashSet::new();
    for at in &nodes {
        let shaped: Option<Shaped> = gist::read(open, index.nodes[*at].span);
        let context = shaped.and_then(|node| node.meta.context).filter(|id| stored.insert(id.clone()));
        spans.extend(context.and_then(|id| index.contexts.get(&id)));
        spans.push(index.nodes[*at].span);
    }
    let mut lines = Vec::new();
    encode(&session, &mut lines).map_err(|e| Fail::output(&e))?;
    print::print(open, &spans, &mut lines)?;
    for label in tree::labels(index) {
        if index.at(&label.node).is_some_and(|at| nodes.contains(&at)) {
            encode(&label, &mut lines).map_err(|e| Fail::output(&e))?;
        }
    }
    journal.store(&lines).map_err(|e| cannot_write(&journal.path, &e))?;
    Ok(session)
}
