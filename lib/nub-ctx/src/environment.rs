//! What the model must know of the machine: nothing that changes from one turn to the next, so no
//! time and no git status.

use std::path::Path;

use nub_conf::Paths;

use nub_proto::Warning;

use crate::attach::one_line;
use crate::warning;

/// The block of the system prompt.
pub(crate) fn describe(paths: &Paths, warnings: &mut Vec<Warning>) -> String {
    let mut lines = vec![format!("OS: {}", std::env::consts::OS), format!("Shell: {}", shell())];
    let root = one_line(&paths.root.to_string_lossy());
    if paths.in_repo {
        lines.push(format!("Repository: {root}"));
        let branch = paths.git().and_then(|git| git.branch()).unwrap_or_else(|| {
            warnings.push(warning("git", "the branch is unknown: git's file HEAD names none"));
            "unknown".into()
        });
        lines.push(format!("Branch at the start: {branch}"));
    } else {
        lines.push(format!("Folder: {root} (no git repository)"));
    }
    let below = paths.cwd.strip_prefix(&paths.root).unwrap_or(Path::new(""));
    if !below.as_os_str().is_empty() {
        let below = one_line(&below.to_string_lossy());
        lines.push(format!("Working folder: {below} (relative paths start here)"));
    }
    lines.join("\n")
}

/// The shell that nub-tool runs commands with.
fn shell() -> &'static str {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has_bash =
        std::env::split_paths(&path).any(|folder| folder.is_absolute() && folder.join("bash").is_file());
    if has_bash { "bash" } else { "sh" }
}
