//! check: every kind of damage that a session file can have.

use std::collections::{HashMap, HashSet};
use std::io::Write;

use nub_proto::{Message, Role, Warning, encode, repair};
use nub_sys::{Exit, Fail};

use crate::NAME;
use crate::gist;
use crate::index::{Damage, Index};
use crate::job::Style;
use crate::open::Open;

/// Everything that is wrong, by line.
pub fn faults(open: &Open, index: &Index) -> Vec<Damage> {
    let mut faults = index.damage.clone();
    let mut add = |line, code, what: String| faults.push(Damage { line, code, what });
    if index.session.is_none() {
        add(1, "no_session", "no session record".into());
    }
    for at in circles(index) {
        let entry = &index.nodes[at];
        add(entry.line, "cycle", format!("node '{}' is its own ancestor", entry.id));
    }
    for (at, entry) in index.nodes.iter().enumerate() {
        if !entry.parent.is_empty() && index.parent(at).is_none() {
            let what = format!("node '{}' follows node '{}', which is not there", entry.id, entry.parent);
            add(entry.line, "unknown_parent", what);
        }
    }
    for (at, what) in messages(open, index) {
        let entry = &index.nodes[at];
        let (code, what) = match what {
            Fault::Unreadable => ("no_record", format!("node '{}' cannot be read", entry.id)),
            Fault::Unanswered => {
                ("missing_results", format!("node '{}' has calls without results", entry.id))
            }
        };
        add(entry.line, code, what);
    }
    if open.extent.torn > 0 {
        let what = format!("a torn line of {} bytes", open.extent.torn);
        faults.push(Damage { line: index.lines + 1, code: "torn_tail", what });
    }
    faults.sort_by_key(|fault| fault.line);
    faults
}

/// Prints what is wrong. Exit 1 when anything is.
///
/// # Errors
/// The output cannot be written.
pub fn print(open: &Open, index: &Index, style: Style, output: &mut impl Write) -> Result<Exit, Fail> {
    let faults = faults(open, index);
    let mut lines = Vec::new();
    for Damage { line, code, what } in &faults {
        let message = format!("line {line}: {what}");
        if style == Style::Text {
            lines.extend(format!("{}\n", nub_render::harmless(&message)).bytes());
        } else {
            let warning = Warning { source: NAME.into(), code: (*code).into(), message };
            encode(&warning, &mut lines).map_err(|e| Fail::output(&e))?;
        }
    }
    output.write_all(&lines).map_err(|e| Fail::output(&e))?;
    Ok(if faults.is_empty() { Exit::Success } else { Exit::Failure })
}

/// One node of each circle: the first in the file.
pub fn circles(index: &Index) -> Vec<usize> {
    let mut settled = HashSet::new();
    let mut found = Vec::new();
    for start in 0..index.nodes.len() {
        let mut way = Vec::new();
        let mut on_way = HashSet::new();
        let mut next = Some(start);
        while let Some(at) = next.filter(|at| !settled.contains(at)) {
            if !on_way.insert(at) {
                let circle = &way[way.iter().position(|step| *step == at).unwrap_or_default()..];
                found.extend(circle.iter().min());
                break;
            }
            way.push(at);
            next = index.parent(at);
        }
        settled.extend(way);
    }
    found
}

enum Fault {
    Unreadable,
    Unanswered,
}

/// Nodes that cannot be read, and calls that a node behind them, or nothing, leaves without results.
fn messages(open: &Open, index: &Index) -> Vec<(usize, Fault)> {
    let mut found = Vec::new();
    // answers that wait for what follows them, by node
    let mut calls: HashMap<usize, (Message, bool)> = HashMap::new();
    for (at, entry) in index.nodes.iter().enumerate() {
        let Some(node) = gist::node(open, entry.span) else {
            found.push((at, Fault::Unreadable));
            continue;
        };
        if let Some((call, followed)) = index.parent(at).and_then(|parent| calls.get_mut(&parent)) {
            *followed = true;
            if repair(&mut vec![call.clone(), node.message.clone()]) {
                found.push((index.parent(at).unwrap_or(at), Fault::Unanswered));
            }
        }
        let alone = node.message.role == Role::Assistant && repair(&mut vec![node.message.clone()]);
        if alone {
            calls.insert(at, (node.message, false));
        }
    }
    found.extend(
        calls.into_iter().filter(|(_, (_, followed))| !followed).map(|(at, _)| (at, Fault::Unanswered)),
    );
    found
}
