//! list: one line a session.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, SystemTime};

use nub_conf::Paths;
use nub_proto::{Meta, Role, Session, encode};
use nub_sys::{Fail, clock};
use serde::{Deserialize, Serialize};

use crate::choose::{self, Found};
use crate::folders;
use crate::gist;
use crate::index::Index;
use crate::open::Open;

/// How many characters of the first prompt make a title.
const TITLE: usize = 60;

/// What is known about a session; a `session` record with more fields than the file's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// Its id: the file's name.
    pub id: String,
    /// RFC 3339; empty when the file does not say.
    pub created_at: String,
    /// The folder it was made in.
    pub cwd: String,
    /// Its name, or the beginning of the first prompt.
    pub title: String,
    /// The file.
    pub path: String,
    /// When it was written last, RFC 3339.
    pub written_at: String,
    /// Answers of the model.
    pub turns: u64,
    /// Tokens in and out of all turns.
    pub tokens: u64,
    /// Nodes that none follows.
    pub branches: u64,
    /// It came with the repository or belongs to somebody else.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub foreign: bool,
    /// Why it cannot be read.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub damage: String,
}

impl nub_proto::Record for Listed {
    const TYPE: &'static str = "session";
}

/// The sessions of this repository, or of every known one.
///
/// # Errors
/// A folder cannot be read.
pub fn gather(paths: &Paths, all: bool) -> Result<Vec<Listed>, Fail> {
    let mut found = choose::list(&paths.sessions())?;
    if all {
        for folder in folders::known(&paths.state) {
            if folder != paths.sessions() {
                found.extend(choose::list(&folder).unwrap_or_default());
            }
        }
        found.sort_by_key(|one| std::cmp::Reverse(one.written));
    }
    Ok(found.iter().map(look).collect())
}

/// One damaged file hides no other.
fn look(found: &Found) -> Listed {
    let mut listed = Listed {
        id: found.id.clone(),
        created_at: String::new(),
        cwd: String::new(),
        title: String::new(),
        path: found.path.to_string_lossy().into_owned(),
        written_at: clock::rfc3339(found.written),
        turns: 0,
        tokens: 0,
        branches: 0,
        foreign: found.foreign,
        damage: String::new(),
    };
    if let Err(e) = fill(&mut listed, &found.path) {
        listed.damage = e.message().to_owned();
    }
    listed
}

fn fill(listed: &mut Listed, path: &Path) -> Result<(), Fail> {
    let open = Open::read(path)?;
    let index = Index::load(&open)?;
    if let Some(session) = index.session.and_then(|span| gist::read::<Session>(&open, span)) {
        listed.created_at = session.created_at;
        listed.cwd = session.cwd;
        listed.title = session.title.unwrap_or_default();
    }
    let mut parents = vec![false; index.nodes.len()];
    for (at, entry) in index.nodes.iter().enumerate() {
        if let Some(parent) = index.parent(at) {
            parents[parent] = true;
        }
        let Some(node) = gist::read::<Light>(&open, entry.span) else { continue };
        if node.message.role == Role::Assistant {
            listed.turns += 1;
            let usage = node.meta.usage.unwrap_or_default();
            listed.tokens += usage.input_tokens + usage.output_tokens;
        } else if listed.title.is_empty() {
            listed.title = gist::node(&open, entry.span)
                .map(|node| gist::gist(&node.message, TITLE).1)
                .unwrap_or_default();
        }
    }
    listed.branches = parents.iter().filter(|is_parent| !**is_parent).count() as u64;
    Ok(())
}

/// A node without its content.
#[derive(Deserialize)]
struct Light {
    message: Speaker,
    #[serde(default)]
    meta: Meta,
}

#[derive(Deserialize)]
struct Speaker {
    role: Role,
}

/// One record a session.
///
/// # Errors
/// The output cannot be written.
pub fn records(sessions: &[Listed], output: &mut impl Write) -> Result<(), Fail> {
    let mut lines = Vec::new();
    for session in sessions {
        encode(session, &mut lines).map_err(|e| Fail::output(&e))?;
    }
    output.write_all(&lines).and_then(|()| output.flush()).map_err(|e| Fail::output(&e))
}

/// A table for people.
///
/// # Errors
/// The output cannot be written.
pub fn table(sessions: &[Listed], folders: bool, output: &mut impl Write) -> Result<(), Fail> {
    let mut text = String::new();
    if !sessions.is_empty() {
        text =
            format!("{:<26}  {:>4} {:>6} {:>8} {:>8}  TITLE\n", "ID", "AGE", "TURNS", "TOKENS", "BRANCHES");
    }
    for one in sessions {
        let age = clock::parse(&one.written_at).map(age).unwrap_or_default();
        let id = gist::shorten(&one.id, 26);
        text.push_str(&format!(
            "{id:<26}  {age:>4} {:>6} {:>8} {:>8}  ",
            one.turns, one.tokens, one.branches
        ));
        if one.foreign {
            text.push_str("(foreign) ");
        }
        let title = if one.damage.is_empty() { &one.title } else { &one.damage };
        text.push_str(&gist::shorten(title, 2 * TITLE));
        if folders {
            text.push_str(&format!("  {}", gist::shorten(&one.cwd, 4 * TITLE)));
        }
        text.push('\n');
    }
    output.write_all(text.as_bytes()).and_then(|()| output.flush()).map_err(|e| Fail::output(&e))
}

/// How long ago, in the largest unit that fits.
fn age(then: SystemTime) -> String {
    let seconds = SystemTime::now().duration_since(then).unwrap_or(Duration::ZERO).as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}
