//! The folders of nub: XDG homes, the repo root and `.nub`.

use std::path::{Path, PathBuf};

/// Where things are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    /// The folder the program works in, absolute and resolved.
    pub cwd: PathBuf,
    /// The root of the repository around it; the folder itself where there is none.
    pub root: PathBuf,
    /// Whether there is a repository (a `.git` folder or file at the root).
    pub in_repo: bool,
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

    pub(crate) fn find(cwd: PathBuf, var: impl Fn(&str) -> Option<PathBuf>) -> Paths {
        let home = var("HOME").unwrap_or_else(|| "/".into());
        let xdg = |name: &str, below: &str| {
            var(name).filter(|path| path.is_absolute()).unwrap_or_else(|| home.join(below)).join("nub")
        };
        let root = root_of(&cwd);
        Paths {
            in_repo: root.is_some(),
            root: root.unwrap_or_else(|| cwd.clone()),
            config: xdg("XDG_CONFIG_HOME", ".config"),
            state: xdg("XDG_STATE_HOME", ".local/state"),
            cache: xdg("XDG_CACHE_HOME", ".cache"),
            cwd,
        }
    }
}

fn root_of(cwd: &Path) -> Option<PathBuf> {
    cwd.ancestors().find(|folder| folder.join(".git").exists()).map(Path::to_path_buf)
}
