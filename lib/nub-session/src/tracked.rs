//! Which session files came with the repository: those that git tracks.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use nub_conf::GitDir;

/// Ids of the files in a session folder that are in the index of its repository.
pub fn names(sessions: &Path) -> HashSet<String> {
    let Some(root) = sessions.parent().and_then(Path::parent) else { return HashSet::new() };
    match GitDir::of(root).and_then(|git| fs::read(git.own.join("index")).ok()) {
        Some(index) if may_hold(&index) => ask_git(root).unwrap_or_default(),
        _ => HashSet::new(),
    }
}

/// Asking git costs milliseconds, so it is asked only when the index names the folder, or is of a kind
/// in which names are not plain: version 4 shortens them, a split index keeps them elsewhere.
fn may_hold(index: &[u8]) -> bool {
    let version = index.get(4..8).and_then(|v| v.try_into().ok()).map(u32::from_be_bytes);
    !matches!(version, Some(2 | 3))
        || memchr::memmem::find(index, b".nub/sessions/").is_some()
        || memchr::memmem::find(index, b"link").is_some()
}

fn ask_git(root: &Path) -> Option<HashSet<String>> {
    let output = Command::new(nub_sys::sibling::find("git")?)
        .args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"])
        .args(["ls-files", "-z", "--", ".nub/sessions"])
        .current_dir(root)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let list = String::from_utf8_lossy(&output.stdout).into_owned();
    Some(
        list.split('\0').filter_map(|path| Path::new(path).file_stem()?.to_str().map(String::from)).collect(),
    )
}
