//! Finding a program of the house: `$NUB_EXEC_PATH`, then the folder of the running program, then
//! PATH. So tests and users can put their own stage in front.

use std::env;
use std::path::{Path, PathBuf};

/// The full path of a program, or `None` when it is nowhere.
#[must_use]
pub fn find(name: &str) -> Option<PathBuf> {
    folders().into_iter().map(|folder| folder.join(name)).find(|path| is_executable(path))
}

/// Every folder that is searched, in order. Empty and relative entries of PATH are left out: the
/// repository a program works in must not choose what runs.
#[must_use]
pub fn folders() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = env::var_os("NUB_EXEC_PATH").iter().flat_map(env::split_paths).collect();
    if let Some(own) = env::current_exe().ok().as_deref().and_then(Path::parent) {
        folders.push(own.to_owned());
    }
    folders.extend(path());
    folders.retain(|folder| folder.is_absolute());
    folders
}

/// The full path of a program that is none of the house's, from PATH alone.
#[must_use]
pub fn on_path(name: &str) -> Option<PathBuf> {
    path()
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|path| is_executable(path))
}

fn path() -> impl Iterator<Item = PathBuf> {
    env::var_os("PATH")
        .map(|path| env::split_paths(&path).collect::<Vec<_>>())
        .unwrap_or_default()
        .into_iter()
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
