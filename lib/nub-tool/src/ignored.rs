//! The ignore files of a folder and those above it, with ripgrep's precedence: `.rgignore`, `.ignore`,
//! `.gitignore`, `.git/info/exclude`, git's global file; in each the deepest folder first. They are
//! read through the jail, with bounds.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fd::BorrowedFd;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::place::Place;

/// The longest ignore file that counts, in bytes; more of it is not read.
const MAX_IGNORE_FILE: u64 = 1024 * 1024;

/// One folder that has ignore files, or is a repository of its own.
#[derive(Debug, Default)]
pub(crate) struct Level {
    above: Option<Arc<Level>>,
    ripgrep: Gitignores,
    any: Gitignores,
    git: Gitignores,
    exclude: Gitignores,
    /// A repository begins here: rules of git from above do not reach in.
    is_repo: bool,
}

type Gitignores = Option<Gitignore>;

/// What the ignore files say of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing.
    Unknown,
    /// It is left out.
    Out,
    /// It is taken, though it may be hidden.
    In,
}

impl Level {
    /// The level of a folder: a new one if it has something to say, else the one above. `has` tells
    /// which names are in it.
    pub(crate) fn enter(
        place: &Place,
        above: Option<Arc<Level>>,
        rel: &Path,
        fd: BorrowedFd,
        has: &dyn Fn(&str) -> bool,
    ) -> Option<Arc<Level>> {
        let rules = |name: &str| if has(name) { rules(place, rel, fd, name) } else { None };
        let mut level = Level {
            ripgrep: rules(".rgignore"),
            any: rules(".ignore"),
            git: rules(".gitignore"),
            is_repo: has(".git"),
            ..Level::default()
        };
        if level.is_repo {
            let exclude = place.jail.follow(&rel.join(".git/info/exclude")).ok();
            level.exclude = exclude.and_then(|spot| rules_at(place, rel, spot.rel));
        }
        let silent = level.ripgrep.is_none() && level.any.is_none() && level.git.is_none();
        if silent && !level.is_repo {
            return above;
        }
        level.above = above;
        Some(Arc::new(level))
    }

    /// What is said of a path below this folder.
    pub(crate) fn verdict(level: Option<&Level>, global: &Gitignore, path: &Path, what: What) -> Verdict {
        let mut found = [Verdict::Unknown; 4];
        let mut inside_repo = true;
        let mut next = level;
        while let Some(level) = next {
            let git = if inside_repo { [&level.git, &level.exclude] } else { [&None, &None] };
            let sets = [&level.ripgrep, &level.any, git[0], git[1]];
            for (verdict, set) in found.iter_mut().zip(sets) {
                if let (Verdict::Unknown, Some(set)) = (*verdict, set) {
                    *verdict = said(set, path, what);
                }
            }
            inside_repo &= !level.is_repo;
            next = level.above.as_deref();
        }
        let first = found.into_iter().find(|verdict| *verdict != Verdict::Unknown);
        first.unwrap_or_else(|| said(global, path, what))
    }
}

/// What a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Folder,
    File,
}

fn said(set: &Gitignore, path: &Path, what: What) -> Verdict {
    match set.matched(path, what == What::Folder) {
        Match::None => Verdict::Unknown,
        Match::Ignore(_) => Verdict::Out,
        Match::Whitelist(_) => Verdict::In,
    }
}

fn rules(place: &Place, rel: &Path, folder: BorrowedFd, name: &str) -> Gitignores {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match rustix::fs::openat(folder, name, flags, Mode::empty()) {
        Err(Errno::LOOP) => rules_at(place, rel, rel.join(name)),
        Err(_) => None,
        Ok(fd) => {
            let stat = rustix::fs::fstat(&fd).ok()?;
            crate::place::regular(&stat).ok()?;
            parse(rel, std::fs::File::from(fd))
        }
    }
}

/// Through links, as long as they stay inside.
fn rules_at(place: &Place, rel: &Path, path: PathBuf) -> Gitignores {
    let spot = place.jail.follow(&path).ok()?;
    parse(rel, place.open_file(&spot).ok()?.0)
}

fn parse(rel: &Path, file: std::fs::File) -> Gitignores {
    let mut bytes = Vec::new();
    file.take(MAX_IGNORE_FILE).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let mut builder = GitignoreBuilder::new(rel);
    for line in text.lines() {
        // a line that is no glob is skipped, as git does
        let _ = builder.add_line(None, line);
    }
    builder.build().ok()
}
