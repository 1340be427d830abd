//! What belongs to git under another name: the folder a `.git` file points to, and folders that git
//! itself would take for a repository.

use std::io::Read;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, FileType, OFlags};

use crate::jail::Jail;

/// The longest `.git` or `commondir` file, in bytes.
const MAX_POINTER: u64 = 4096;

/// Whether a path from the root lies in a folder of git.
pub(crate) fn holds(jail: &Jail, rel: &Path) -> bool {
    rel.ancestors().skip(1).any(|folder| looks_like_git(jail, folder) || points_at(jail, folder, rel))
}

/// A `.git` file in `folder` (a worktree, a submodule) that points at a folder `rel` lies in.
fn points_at(jail: &Jail, folder: &Path, rel: &Path) -> bool {
    let Some(text) = pointer(jail, &folder.join(".git")) else { return false };
    let Some(target) = text.strip_prefix("gitdir:") else { return false };
    let Some(git) = resolved(jail, folder, target.trim()) else { return false };
    let common = pointer(jail, &git.join("commondir")).and_then(|text| resolved(jail, &git, text.trim()));
    rel.starts_with(&git) || common.is_some_and(|common| rel.starts_with(common))
}

fn pointer(jail: &Jail, rel: &Path) -> Option<String> {
    let file = jail.beneath(rel, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY).ok()?;
    let stat = rustix::fs::fstat(&file).ok()?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return None;
    }
    let mut bytes = Vec::new();
    std::fs::File::from(file).take(MAX_POINTER).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Where a pointer leads, from the root: through links where there is something, else by its text.
fn resolved(jail: &Jail, folder: &Path, target: &str) -> Option<PathBuf> {
    let path = folder.join(target);
    if let Ok(spot) = jail.follow(&path) {
        return Some(spot.rel);
    }
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => out.push(name),
            Component::ParentDir => drop(out.pop()),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(out)
}

/// As git decides: `HEAD`, and either objects and refs or a pointer to the folder that has them.
fn looks_like_git(jail: &Jail, folder: &Path) -> bool {
    let Ok(folder) = jail.beneath(folder, OFlags::RDONLY | OFlags::DIRECTORY) else { return false };
    let has = |name: &str| rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok();
    has("HEAD") && ((has("objects") && has("refs")) || has("commondir"))
}
