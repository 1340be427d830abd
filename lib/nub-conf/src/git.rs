//! What git knows about a repository, read from its files: nub runs no git for it, since a repository
//! can name programs that git would run.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The longest of git's one-line files that is read, in bytes.
const LONGEST: u64 = 8 << 10;

/// Where git keeps the state of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitDir {
    /// That of this working tree.
    pub own: PathBuf,
    /// That of all working trees of the repository.
    pub common: PathBuf,
}

impl GitDir {
    /// The state of the repository whose root this is. `.git` is a folder, or a file that names one
    /// (worktrees, submodules); it counts only when it has a HEAD.
    #[must_use]
    pub fn of(root: &Path) -> Option<GitDir> {
        let dot_git = root.join(".git");
        let meta = fs::metadata(&dot_git).ok()?;
        let own = if meta.is_dir() {
            dot_git
        } else {
            root.join(line_of(&dot_git)?.strip_prefix("gitdir:")?.trim_start())
        };
        fs::symlink_metadata(own.join("HEAD")).ok()?;
        let common = line_of(&own.join("commondir")).map_or_else(|| own.clone(), |line| own.join(line));
        Some(GitDir { own, common })
    }

    /// The branch that is checked out, or `detached at HASH`; none when HEAD holds neither.
    #[must_use]
    pub fn branch(&self) -> Option<String> {
        /// How much of a commit's name is shown, in digits.
        const SHORT: usize = 12;
        let head = line_of(&self.own.join("HEAD"))?;
        if let Some(branch) = head.strip_prefix("ref: refs/heads/") {
            // the form names may have, so that a made-up HEAD cannot speak to the model
            let fits = branch.len() < 200 && !branch.contains(|c: char| c.is_whitespace() || c.is_control());
            return (fits && branch != ".invalid").then(|| branch.to_owned());
        }
        let hash = head.len() >= 40 && head.bytes().all(|byte| byte.is_ascii_hexdigit());
        hash.then(|| format!("detached at {}", &head[..SHORT]))
    }
}

/// The one line of a small plain file.
fn line_of(path: &Path) -> Option<String> {
    let text = read_plain(path, LONGEST).ok()?;
    Some(text.trim_end_matches(['\n', '\r']).to_owned())
}

/// The text of a plain file no longer than that; nothing that could block is opened.
pub(crate) fn read_plain(path: &Path, longest: u64) -> io::Result<String> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no plain file"));
    }
    let mut text = String::new();
    File::open(path)?.take(longest + 1).read_to_string(&mut text)?;
    if text.len() as u64 > longest {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is too long"));
    }
    Ok(text)
}
