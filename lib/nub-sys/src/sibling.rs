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
    folders.extend(env::var_os("PATH").iter().flat_map(env::split_paths));
    folders.retain(|folder| folder.is_absolute());
    folders
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
