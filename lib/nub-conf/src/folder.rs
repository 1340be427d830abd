//! The folder `.nub` of a repository: made for its owner alone, and kept out of the history.

use std::fs::{self, DirBuilder, Metadata, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

use crate::git::GitDir;
use crate::{ConfError, Notice, Paths};

/// For its owner alone.
const MODE: u32 = 0o700;
/// The line that keeps it out of the history.
const LINE: &str = ".nub/";
/// The longest exclude file that is searched, in bytes.
const LONGEST: u64 = 1 << 20;

/// Makes `.nub` where it is missing, tightens its mode, and names it in the repository's
/// `info/exclude`. What the user should know comes back: an exclude file that cannot be written.
///
/// # Errors
/// `.nub` is a link or no folder, belongs to somebody else, or cannot be made.
pub fn ensure_dot_nub(paths: &Paths) -> Result<Vec<Notice>, ConfError> {
    let folder = paths.dot_nub();
    ensure_own_folder(&folder)
        .map_err(|e| ConfError::new(format!("cannot use '{}': {e}", folder.display())))?;
    let Some(git) = paths.git() else { return Ok(Vec::new()) };
    Ok(match exclude(&git) {
        Ok(()) => Vec::new(),
        Err(e) => vec![Notice {
            code: "exclude",
            message: format!(
                "cannot add {LINE} to '{}': {e}",
                git.common.join("info/exclude").to_string_lossy()
            ),
        }],
    })
}

/// Makes a folder for its owner alone where it is missing; tightens its mode.
///
/// # Errors
/// As [`is_own_folder`], or it cannot be made.
pub fn ensure_own_folder(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(MODE).create(folder) {
        Ok(()) => return Ok(()),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
        Err(e) => return Err(e),
    }
    let meta = is_own_folder(folder)?;
    if meta.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(folder, Permissions::from_mode(MODE))?;
    }
    Ok(())
}

/// Whether a folder may be written to: it is no link, which a repository can bring, and the user's own.
///
/// # Errors
/// It is a link, no folder, belongs to somebody else, or is not there.
pub fn is_own_folder(folder: &Path) -> io::Result<Metadata> {
    let meta = fs::symlink_metadata(folder)?;
    if meta.is_symlink() {
        return Err(io::Error::other("it is a link"));
    }
    if !meta.is_dir() {
        return Err(io::Error::other("it is no folder"));
    }
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other("it belongs to another user"));
    }
    Ok(meta)
}

/// Adds the line once, also when several programs start at the same time.
fn exclude(git: &GitDir) -> io::Result<()> {
    let info = git.common.join("info");
    let path = info.join("exclude");
    match fs::symlink_metadata(&path) {
        Ok(meta) if !meta.is_file() => return Err(io::Error::other("it is no plain file")),
        Ok(_) => {}
        Err(e) if e.kind() == io::ErrorKind::NotFound => fs::create_dir_all(&info)?,
        Err(e) => return Err(e),
    }
    let mut text = Vec::new();
    if let Ok(file) = fs::File::open(&path) {
        file.take(LONGEST).read_to_end(&mut text)?;
        if is_named(&text) {
            return Ok(());
        }
    }
    let mut file = OpenOptions::new().read(true).append(true).create(true).open(&path)?;
    file.lock()?;
    text.clear();
    (&mut file).take(LONGEST).read_to_end(&mut text)?;
    if is_named(&text) {
        return Ok(());
    }
    let start = if text.is_empty() || text.ends_with(b"\n") { "" } else { "\n" };
    file.write_all(format!("{start}{LINE}\n").as_bytes())
}

fn is_named(text: &[u8]) -> bool {
    let forms: [&[u8]; 4] = [b".nub/", b"/.nub/", b".nub", b"/.nub"];
    text.split(|byte| *byte == b'\n').any(|line| forms.contains(&line.trim_ascii()))
}
