//! `nub NAME ...` runs nub-NAME, ours or a foreign one on PATH.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nub_sys::{Exit, Fail, sibling};

/// Names that nub knows without a program behind them.
const OWN: &[&str] = &["demo", "help", "models", "resume", "sessions"];

/// Becomes nub-NAME.
///
/// # Errors
/// There is no such program, or it cannot be started.
pub(crate) fn run(name: &str, args: &[OsString]) -> Result<Exit, Fail> {
    let found = is_name(name).then(|| sibling::find(&format!("nub-{name}"))).flatten();
    let Some(path) = found else { return Err(unknown(name)) };
    let e = Command::new(&path).args(args).exec();
    Err(Fail::failure(format!("cannot start '{}': {e}", path.display())))
}

/// A name is a word, never a path.
pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

fn unknown(name: &str) -> Fail {
    let fail = Fail::usage(format!("there is no program 'nub-{name}'"));
    if !is_name(name) {
        return Fail::usage(format!("unknown command '{name}'")).advice("to ask the agent: nub -p PROMPT");
    }
    match nearest(name, &names()) {
        Some(near) => fail.advice(format!("did you mean 'nub {near}'? To ask the agent: nub -p PROMPT")),
        None => fail.advice("see 'nub --help'; to ask the agent: nub -p PROMPT"),
    }
}

/// Every name that would work.
fn names() -> Vec<String> {
    let mut names: Vec<String> = OWN.iter().copied().map(String::from).collect();
    for entry in sibling::folders().iter().filter_map(|folder| folder.read_dir().ok()).flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_str().and_then(|name| name.strip_prefix("nub-")).filter(|name| is_name(name));
        names.extend(name.map(String::from));
    }
    names.sort();
    names.dedup();
    names
}

/// The name that is most like `typed`, unless none is like it.
pub(crate) fn nearest<'a>(typed: &str, names: &'a [String]) -> Option<&'a str> {
    let most = (typed.len() / 3).max(1);
    let distances = names.iter().map(|name| (strsim::levenshtein(typed, name), name.as_str()));
    distances.filter(|(distance, _)| *distance <= most).min().map(|(_, name)| name)
}
