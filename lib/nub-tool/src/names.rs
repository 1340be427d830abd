//! Names and the rules on them: what no tool touches, what is never written, and how names are shown.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Files that other programs run or obey when they start; `write` and `edit` refuse them at any depth.
pub(crate) const START_UP_FILES: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".logout",
    ".inputrc",
    ".xprofile",
    ".xinitrc",
    ".xsession",
    ".xsessionrc",
    ".pam_environment",
    ".config/fish/**",
    ".config/autostart/**",
    ".config/systemd/**",
    ".config/environment.d/**",
    ".config/git/**",
    ".config/nub/**",
    ".local/bin/**",
    ".gitconfig",
    ".gitmodules",
    ".ripgreprc",
    ".curlrc",
    ".wgetrc",
    ".netrc",
    ".envrc",
    ".vimrc",
    ".gvimrc",
    ".exrc",
    ".nvimrc",
    ".config/nvim/**",
    ".emacs",
    ".emacs.d/**",
    ".tmux.conf",
    ".screenrc",
    ".gdbinit",
    ".lldbinit",
    ".pythonrc",
    ".irbrc",
    ".pryrc",
    ".rprofile",
    ".dir-locals.el",
    ".ssh/**",
    ".gnupg/**",
    ".aws/**",
    ".vscode/**",
    ".idea/**",
    ".mcp.json",
    ".cursor/**",
    ".claude/settings*.json",
    ".claude/commands/**",
    ".claude/agents/**",
    ".codex/**",
    ".gemini/**",
];

/// What people are told of the names that are refused.
pub(crate) fn help() -> String {
    let names = START_UP_FILES.join(" ");
    format!("Never written by write and edit, at any depth and in any case: .git .nub {names}")
}

/// Rules on paths from the root.
#[derive(Debug)]
pub(crate) struct Rules {
    deny: GlobSet,
    start_up: GlobSet,
}

/// Why a path may not be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protected {
    /// It belongs to git.
    Git,
    /// It belongs to nub.
    Nub,
    /// Another program runs or obeys it.
    StartUp,
}

impl Rules {
    /// Reads the globs of `deny_paths`; those that start with `root` are taken from there.
    ///
    /// # Errors
    /// A glob is none: its text and why.
    pub(crate) fn new(root: &Path, deny: &[String]) -> Result<Rules, String> {
        let mut set = GlobSetBuilder::new();
        for pattern in deny {
            for form in forms(root, pattern) {
                set.add(glob(&form).map_err(|e| format!("deny_paths: {e}"))?);
            }
        }
        let deny = set.build().map_err(|e| format!("deny_paths: {e}"))?;
        let mut set = GlobSetBuilder::new();
        for pattern in START_UP_FILES {
            set.add(glob(&format!("**/{pattern}")).map_err(|e| e.to_string())?);
        }
        Ok(Rules { deny, start_up: set.build().map_err(|e| e.to_string())? })
    }

    /// Whether no tool may touch a path, or a folder it lies in.
    pub(crate) fn denied(&self, rel: &Path) -> bool {
        !self.deny.is_empty() && rel.ancestors().any(|part| self.denies(part))
    }

    /// Whether no tool may touch this very path; its folders were looked at before.
    pub(crate) fn denies(&self, rel: &Path) -> bool {
        self.deny.is_match(rel) || (!is_plain(rel) && self.deny.is_match(folded_path(rel)))
    }

    /// Whether a path may not be written by its name.
    pub(crate) fn protected(&self, rel: &Path) -> Option<Protected> {
        let folded = folded_path(rel);
        for name in folded.iter().filter_map(|name| name.to_str()) {
            match name.split(':').next().unwrap_or_default() {
                ".git" | "git~1" => return Some(Protected::Git),
                ".nub" | "nub~1" => return Some(Protected::Nub),
                _ => {}
            }
        }
        self.start_up.is_match(&folded).then_some(Protected::StartUp)
    }
}

fn glob(pattern: &str) -> Result<globset::Glob, globset::Error> {
    GlobBuilder::new(pattern).literal_separator(true).case_insensitive(true).build()
}

/// A pattern without a slash holds at any depth, one for all of a folder for the folder itself too.
fn forms(root: &Path, pattern: &str) -> Vec<String> {
    let from_root = root.to_str().and_then(|root| pattern.strip_prefix(root)).unwrap_or(pattern);
    let pattern = from_root.trim_start_matches("./").trim_start_matches('/').trim_end_matches('/');
    let mut forms = vec![pattern.to_owned()];
    forms.extend(pattern.strip_suffix("/**").map(str::to_owned));
    if !pattern.contains('/') {
        forms.push(format!("**/{pattern}"));
    }
    forms
}

/// A path as a file system that does not tell such names apart sees it.
fn folded_path(path: &Path) -> PathBuf {
    path.iter().map(|name| folded(&name.to_string_lossy())).collect()
}

/// Whether folding a path changes no more than its case, which the globs do not tell apart anyway.
fn is_plain(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    let dropped = |pair: &[u8]| matches!(pair[0], b'.' | b' ') && pair[1] == b'/';
    bytes.is_ascii() && !bytes.windows(2).any(dropped) && !bytes.ends_with(b".") && !bytes.ends_with(b" ")
}

/// One name without case, invisible characters, full-width forms, and the dots and spaces at the end
/// that some systems drop.
fn folded(name: &str) -> String {
    let plain: String = name.chars().filter(|c| !invisible(*c)).map(half_width).collect();
    let folded = plain.to_uppercase().to_lowercase();
    let trimmed = folded.trim_end_matches(['.', ' ']);
    if trimmed.is_empty() { folded } else { trimmed.to_owned() }
}

fn invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

fn half_width(c: char) -> char {
    match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(c as u32 - 0xfee0).unwrap_or(c),
        other => other,
    }
}

/// A path for one line of text: control characters are escaped, other bytes replaced.
pub(crate) fn shown(path: &Path) -> String {
    let mut out = String::new();
    for c in path.to_string_lossy().chars() {
        if c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}
