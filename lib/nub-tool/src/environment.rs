//! The environment of commands: the user's own without what opens doors, and with what keeps programs
//! from waiting for somebody.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};

/// Words of a name that make it look like a secret.
const SECRET: &[&str] = &[
    "KEY",
    "KEYS",
    "APIKEY",
    "TOKEN",
    "TOKENS",
    "SECRET",
    "SECRETS",
    "PASSPHRASE",
    "CREDENTIAL",
    "CREDENTIALS",
];
/// Parts of a name that make it look like a secret.
const SECRET_PARTS: &[&str] = &["PASSWORD", "PASSWD", "_KEY", "_TOKEN", "_SECRET"];

/// Variables of nub's own, of a git hook that started it, and of shells, that would change what a
/// command does here.
const DROPPED: &[&str] = &[
    "NUB_COPROCESS",
    "BASH_ENV",
    "ENV",
    "CDPATH",
    "IFS",
    "GREP_OPTIONS",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_COUNT",
    "GIT_OBJECT_DIRECTORY",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_GRAFT_FILE",
    "GIT_INDEX_FILE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_REPLACE_REF_BASE",
    "GIT_PREFIX",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_QUARANTINE_PATH",
];

/// No pager, editor or prompt can wait for somebody who is not there. The sequence editor fails, since
/// a rebase that opened it would otherwise do something nobody wrote.
const SET: &[(&str, &str)] = &[
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", "true"),
    ("GIT_SEQUENCE_EDITOR", "false"),
    ("EDITOR", "true"),
    ("VISUAL", "true"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", "false"),
    ("SSH_ASKPASS", "false"),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("TERM", "dumb"),
    ("NUB", "1"),
];

/// Builds it from the user's variables. `secrets` are names that keys come from, `passed` names that
/// get through although they look like secrets.
pub(crate) fn build(
    own: impl Iterator<Item = (OsString, OsString)>,
    secrets: &BTreeSet<String>,
    passed: &[String],
) -> Vec<(OsString, OsString)> {
    let is_kept = |name: &OsStr| {
        let text = name.to_string_lossy();
        if passed.iter().any(|passed| *passed == text) {
            return true;
        }
        let is_dropped = DROPPED.contains(&&*text) || text.starts_with("BASH_FUNC_");
        !is_dropped && !secrets.contains(&*text) && !looks_secret(&text)
    };
    let is_set = |name: &OsStr| SET.iter().any(|(set, _)| name == *set);
    let mut built: Vec<(OsString, OsString)> =
        own.filter(|(name, _)| is_kept(name) && !is_set(name)).collect();
    built.extend(SET.iter().map(|(name, value)| (name.into(), value.into())));
    built
}

fn looks_secret(name: &str) -> bool {
    let name = name.to_uppercase();
    SECRET_PARTS.iter().any(|part| name.contains(part))
        || name.split(|c: char| !c.is_alphanumeric()).any(|word| SECRET.contains(&word))
}
