//! The folders of nub: XDG homes, the repo root and `.nub`.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::{ConfError, GitDir};

/// Where things are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    /// The folder the program works in, absolute and resolved.
    pub cwd: PathBuf,
    /// The root of the repository around it; the folder itself where there is none.
    pub root: PathBuf,
    /// Whether there is a repository (a `.git` folder or file at the root).
    pub in_repo: bool,
    /// The user's home.
    pub home: PathBuf,
    /// `$XDG_CONFIG_HOME/nub`.
    pub config: PathBuf,
    /// `$XDG_STATE_HOME/nub`.
    pub state: PathBuf,
    /// `$XDG_CACHE_HOME/nub`.
    pub cache: PathBuf,
}

impl Paths {
    /// `.nub` at the root.
    #[must_use]
    pub fn dot_nub(&self) -> PathBuf {
        self.root.join(".nub")
    }

    /// Where sessions of this repository lie.
    #[must_use]
    pub fn sessions(&self) -> PathBuf {
        self.dot_nub().join("sessions")
    }

    /// Where the log lies.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.state.join("log")
    }

    /// Where git keeps this repository's state, if there is one.
    #[must_use]
    pub fn git(&self) -> Option<GitDir> {
        if self.in_repo { GitDir::of(&self.root) } else { None }
    }

    /// A path as the configuration writes it: `~/x` lies in the home, anything else relative in the root.
    #[must_use]
    pub fn expand(&self, path: &str) -> PathBuf {
        match path.strip_prefix('~') {
            Some("") => self.home.clone(),
            Some(rest) if rest.starts_with('/') => self.home.join(rest.trim_start_matches('/')),
            Some(_) | None => self.root.join(path),
        }
    }

    /// A path as it was typed: relative to the folder of `-C`.
    pub(crate) fn cwd_of(&self, path: &Path) -> PathBuf {
        self.cwd.join(path)
    }

    pub(crate) fn find(cwd: PathBuf, var: impl Fn(&str) -> Option<PathBuf>) -> Result<Paths, ConfError> {
        // without HOME the user database is asked
        let home = var("HOME").or_else(std::env::home_dir).filter(|home| home.is_absolute());
        let home = home.ok_or_else(|| ConfError::new("no home folder: HOME is no absolute path"))?;
        // the specification: a relative path is to be ignored
        let xdg = |name: &str, below: &str| {
            var(name).filter(|path| path.is_absolute()).unwrap_or_else(|| home.join(below)).join("nub")
        };
        let root = root_of(&cwd, &home);
        Ok(Paths {
            in_repo: root.is_some(),
            root: root.unwrap_or_else(|| cwd.clone()),
            config: xdg("XDG_CONFIG_HOME", ".config"),
            state: xdg("XDG_STATE_HOME", ".local/state"),
            cache: xdg("XDG_CACHE_HOME", ".cache"),
            home,
            cwd,
        })
    }
}

/// The nearest folder above that git would take for a repository. Like git it stays on the file system
/// it began on; and a home that is a repository itself is the root only for work in the home itself:
/// it would open everything the user has to the file tools.
fn root_of(cwd: &Path, home: &Path) -> Option<PathBuf> {
    let device = fs::metadata(cwd).ok()?.dev();
    // the working folder is without links, so the home must be too
    let home = home.canonicalize().unwrap_or_else(|_| home.to_owned());
    for folder in cwd.ancestors() {
        if folder != cwd && (folder == home || fs::metadata(folder).is_ok_and(|meta| meta.dev() != device)) {
            return None;
        }
        if GitDir::of(folder).is_some() {
            return Some(folder.to_owned());
        }
    }
    None
}
