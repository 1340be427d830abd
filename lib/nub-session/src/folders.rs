//! The session folders of every repository: a list in the state folder, so that a session is found from
//! anywhere.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nub_sys::log::{self, Level};

const NAME: &str = "session-folders";

/// Session folders that are still there.
pub fn known(state: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(state.join(NAME)).unwrap_or_default();
    let mut folders: Vec<PathBuf> = text.lines().map(PathBuf::from).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders.dedup();
    folders
}

/// Adds a folder. Failing costs only comfort, so it is logged and no more.
pub fn remember(state: &Path, sessions: &Path) {
    if let Err(e) = add(state, sessions) {
        log::write(Level::Warn, &format!("cannot remember '{}': {e}", sessions.display()));
    }
}

fn add(state: &Path, sessions: &Path) -> std::io::Result<()> {
    let Some(line) = sessions.to_str().filter(|path| !path.contains('\n')) else { return Ok(()) };
    let path = state.join(NAME);
    if fs::read_to_string(&path).is_ok_and(|text| text.lines().any(|known| known == line)) {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(state)?;
    let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
    file.write_all(format!("{line}\n").as_bytes())
}
