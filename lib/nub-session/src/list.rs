//! list: one line a session.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, SystemTime};

use nub_conf::Paths;
use nub_proto::{Meta, Role, Session, encode};
use nub_sys::{Fail, clock};
use serde::{Deserialize, Serialize};

use crate::cache::Cache;
use crate::choose::{self, Found};
use crate::folders;
use crate::gist;
use crate::index::Index;
use crate::open::Open;

/// How many characters of the first prompt make a title.
const TITLE: usize = 60;

/// A listed session: a `session` record with more fields than the file's.
#[derive(Debug, Clone, Serialize)]
pub struct Listed {
    /// Its id: the file's name.
    id: String,
    /// The file.
    path: String,
    /// When it was written last, RFC 3339.
    written_at: String,
    /// It came with the repository or belongs to somebody else.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    foreign: bool,
    #[serde(flatten)]
    content: Content,
}

impl nub_proto::Record for Listed {
    const TYPE: &'static str = "session";
}

/// What only reading the file tells.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// RFC 3339; empty when the file does not say.
    pub created_at: String,
    /// The folder it was made in.
    pub cwd: String,
    /// Its name, or the beginning of the first prompt.
    pub title: String,
    /// Answers of the model.
    pub turns: u64,
    /// Tokens in and out of all turns.
    pub tokens: u64,
    /// Nodes that none follows.
    pub branches: u64,
    /// Why it cannot be read.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub damage: String,
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
    let mut cache = Cache::load(&paths.cache);
    let mut listed: Vec<Listed> = found.into_iter().map(|found| listed(found, &mut cache)).collect();
    cache.save();
    // a file in which nothing stands: its writer was killed, or had no room
    listed.retain(|one| one.content != Content::default());
    Ok(listed)
}

/// One damaged file hides no other.
fn listed(found: Found, cache: &mut Cache) -> Listed {
    let content = cache.content(&found, || {
        read(&found.path).unwrap_or_else(|e| Content { damage: e.message().to_owned(), ..Content::default() })
    });
    Listed {
        path: found.path.to_string_lossy().into_owned(),
        written_at: clock::rfc3339(found.written),
        foreign: found.foreign,
        id: found.id,
        content,
    }
}

fn read(path: &Path) -> Result<Content, Fail> {
    let open = Open::read(path)?;
    let index = Index::load(&open)?;
    let mut content = Content::default();
    if let Some(session) = index.session.and_then(|span| gist::read::<Session>(&open, span)) {
        content.created_at = session.created_at;
        content.cwd = session.cwd;
        content.title = session.title.unwrap_or_default();
    }
    let mut parents: Vec<bool> = (0..index.nodes.len()).map(|at| !index.is_current(at)).collect();
    for (at, entry) in index.nodes.iter().enumerate().filter(|(at, _)| index.is_current(*at)) {
        if let Some(parent) = index.parent(at) {
            parents[parent] = true;
        }
        let Some(node) = gist::read::<Light>(&open, entry.span) else { continue };
        if node.message.role == Role::Assistant {
            content.turns += 1;
            let usage = node.meta.usage.unwrap_or_default();
            content.tokens =
                content.tokens.saturating_add(usage.input_tokens).saturating_add(usage.output_tokens);
        } else if content.title.is_empty() {
            let title = gist::node(&open, entry.span).map(|node| gist::gist(&node.message, TITLE).1);
            content.title = title.unwrap_or_default();
        }
    }
    content.branches = parents.iter().filter(|is_parent| !**is_parent).count() as u64;
    Ok(content)
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
        let content = &one.content;
        let age = clock::parse(&one.written_at).map(age).unwrap_or_default();
        let id = gist::shorten(&one.id, 26);
        text.push_str(&format!(
            "{id:<26}  {age:>4} {:>6} {:>8} {:>8}  ",
            content.turns, content.tokens, content.branches
        ));
        if one.foreign {
            text.push_str("(foreign) ");
        }
        let title = if content.damage.is_empty() { &content.title } else { &content.damage };
        text.push_str(&gist::shorten(title, 2 * TITLE));
        if folders {
            text.push_str(&format!("  {}", gist::shorten(&content.cwd, 4 * TITLE)));
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
