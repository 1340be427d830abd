//! Context files: what the repository (and the user's home) tells every model, root first. Everything
//! in them is foreign: links out of the repository, binaries, giants and hidden text end in a warning.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nub_conf::Loaded;
use nub_proto::Warning;

use crate::args::{Job, WithFiles};
use crate::attach::one_line;
use crate::head::Part;
use crate::{hidden, warning};

/// The part of a file that is read, in bytes.
const LARGEST: u64 = 4 << 20;
/// Below this many tokens a shortened file says nothing: it is left out.
const LEAST: u64 = 32;

/// A file as it was found.
struct Found {
    text: String,
    /// Device and inode: a link to a file that is there already adds nothing.
    identity: (u64, u64),
    /// What the user should know about it.
    notes: Vec<String>,
}

/// Reads the context files, in order, as long as they fit `context.max_tokens` and half of the window
/// (of that many tokens, 0 = unknown).
pub(crate) fn read(job: &Job, loaded: &Loaded, window: u64, warnings: &mut Vec<Warning>) -> Vec<Part> {
    if job.with_files == WithFiles::No {
        return Vec::new();
    }
    let half = if window == 0 { u64::MAX } else { window / 2 };
    let limit = loaded.config.context.max_tokens.min(half);
    let name_of_limit = if limit == half { "half of the window" } else { "context.max_tokens" };
    let mut left = limit;
    let mut seen = Vec::new();
    let mut parts = Vec::new();
    for (path, origin) in candidates(loaded) {
        let name = one_line(&origin).replace('"', "'");
        let mut warn = |code, words: &str| warnings.push(warning(code, &format!("'{name}' {words}")));
        let found = match open(&path, loaded) {
            Ok(Some(found)) if !seen.contains(&found.identity) => found,
            Ok(_) => continue,
            Err(reason) => {
                warn("context_file", &format!("is left out: {reason}"));
                continue;
            }
        };
        found.notes.iter().for_each(|note| warn("context_file", note));
        seen.push(found.identity);
        match fit(&name, &found.text, left) {
            Some((part, lost)) => {
                if lost > 0 {
                    warn(
                        "context_truncated",
                        &format!("is shortened: {lost} bytes do not fit {name_of_limit} ({limit})"),
                    );
                }
                left = left.saturating_sub(nub_tokens::text(&part.text));
                parts.push(part);
            }
            None => {
                warn("context_truncated", &format!("is left out: it does not fit {name_of_limit} ({limit})"))
            }
        }
    }
    parts
}

/// Where context files may be, with the name of each: the user's own first, then from the root down.
fn candidates(loaded: &Loaded) -> Vec<(PathBuf, String)> {
    let paths = &loaded.paths;
    let is_own = |name: &&String| name.starts_with('~') || name.starts_with('/');
    let (own, plain): (Vec<_>, Vec<_>) = loaded.config.context.files.iter().partition(is_own);
    let mut folders = vec![paths.cwd.as_path()];
    if loaded.config.context.walk_up {
        folders = paths.cwd.ancestors().take_while(|folder| folder.starts_with(&paths.root)).collect();
        folders.reverse();
    }
    let named = |folder: &Path, name: &String| {
        let path = folder.join(name);
        let origin = path.strip_prefix(&paths.root).unwrap_or(&path).to_string_lossy().into_owned();
        (path, origin)
    };
    let own = own.into_iter().map(|name| (paths.expand(name), name.clone()));
    own.chain(folders.into_iter().flat_map(|folder| plain.iter().map(move |name| named(folder, name))))
        .collect()
}

/// Reads a context file; nothing when it is not there or empty.
fn open(path: &Path, loaded: &Loaded) -> Result<Option<Found>, String> {
    let root = &loaded.paths.root;
    let real = match fs::symlink_metadata(path).and_then(|_| path.canonicalize()) {
        Ok(real) => real,
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(e) => return Err(e.to_string()),
    };
    // what lies below the root may only lead there; what the user named elsewhere may lead anywhere
    if path.starts_with(root) && real != path {
        let below = real.strip_prefix(root).map_err(|_| "it leads out of the repository")?;
        if loaded.config.permissions.denies(below) {
            return Err("it leads to a file that permissions.deny_paths names".into());
        }
    }
    let meta = fs::metadata(&real).map_err(|e| e.to_string())?;
    if !meta.is_file() {
        return Err("it is no plain file".into());
    }
    let mut bytes = Vec::new();
    File::open(&real)
        .and_then(|file| file.take(LARGEST).read_to_end(&mut bytes))
        .map_err(|e| e.to_string())?;
    let (text, mut notes) = text_of(&bytes)?;
    if meta.len() > LARGEST {
        notes.push(format!("is larger than {} MiB: the rest is not read", LARGEST >> 20));
    }
    let identity = (meta.dev(), meta.ino());
    Ok((!text.trim().is_empty()).then_some(Found { text, identity, notes }))
}

fn text_of(bytes: &[u8]) -> Result<(String, Vec<String>), String> {
    if bytes.starts_with(b"\xFF\xFE") || bytes.starts_with(b"\xFE\xFF") {
        return Err("it is UTF-16, not UTF-8".into());
    }
    if bytes.contains(&0) {
        return Err("it is binary".into());
    }
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let mut notes = Vec::new();
    let text = String::from_utf8_lossy(bytes);
    if text.len() != bytes.len() || text != std::str::from_utf8(bytes).unwrap_or_default() {
        notes.push("is no UTF-8: some characters are replaced".to_owned());
    }
    let (text, found) = hidden::clean(&text);
    notes.extend(found);
    Ok((text, notes))
}

/// A file as a part of the system prompt of at most that many tokens, and the bytes that were lost.
fn fit(name: &str, text: &str, limit: u64) -> Option<(Part, usize)> {
    let wrap = |text: &str| format!("<context_file path=\"{name}\">\n{}\n</context_file>", text.trim_end());
    let part = |text: String, truncated| Part { text, path: name.to_owned(), kind: "file", truncated };
    let whole = wrap(text);
    if nub_tokens::text(&whole) <= limit {
        return Some((part(whole, false), 0));
    }
    let mark = |lost: usize| format!("\n[shortened here: {lost} bytes more are in the file]");
    let room =
        limit.checked_sub(nub_tokens::text(&wrap(&mark(text.len()))) + 1).filter(|room| *room >= LEAST)?;
    let kept = prefix(text, room);
    let lost = text.len() - kept.len();
    Some((part(wrap(&format!("{}{}", kept.trim_end(), mark(lost))), true), lost))
}

/// The longest beginning of whole lines that costs at most that many tokens; of a first line that is
/// too long by itself, the beginning.
pub(crate) fn prefix(text: &str, room: u64) -> &str {
    let mut end = 0;
    // a prefix never costs more than its lines do one by one
    let mut left = room;
    for line in text.split_inclusive('\n') {
        match left.checked_sub(nub_tokens::text(line)) {
            Some(rest) => left = rest,
            None => break,
        }
        end += line.len();
    }
    if end == 0 {
        // a token has at least one byte and, by the estimate, never less than three
        end = text.floor_char_boundary(
            usize::try_from(room).unwrap_or(usize::MAX).saturating_mul(3).min(text.len()),
        );
    }
    &text[..end]
}
