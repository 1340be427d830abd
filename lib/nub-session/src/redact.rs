//! Key-like strings, made unreadable in what leaves the house.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// What stands in the place of a key.
const MASK: &str = "[redacted]";

/// Keys with a known beginning, private keys, and values of fields that are named like secrets.
const KEYS: &str = r#"(?x)
    \b(?: sk-[A-Za-z0-9_-]{16,} | gh[pousr]_[A-Za-z0-9]{20,} | github_pat_[A-Za-z0-9_]{20,}
        | glpat-[A-Za-z0-9_-]{16,} | AKIA[A-Z0-9]{16} | ASIA[A-Z0-9]{16} | AIza[A-Za-z0-9_-]{30,}
        | xox[abprs]-[A-Za-z0-9-]{10,} | hf_[A-Za-z0-9]{20,} | npm_[A-Za-z0-9]{30,}
        | eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,} )
    | -----BEGIN\ [A-Z\ ]*PRIVATE\ KEY-----(?s:.)*?(?:-----END\ [A-Z\ ]*PRIVATE\ KEY-----|\z)
    | (?P<name> (?i: \bbearer\s+ | \b[\w-]*(?:api[_-]?key|secret|token|passwd|password)[\w-]*\\?["']?\s*[:=]\s*\\?["']? ) )
      [A-Za-z0-9_./+=~-]{8,}
"#;

/// Masks every key-like string.
pub fn redact(text: &str) -> Cow<'_, str> {
    static REGEX: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(KEYS).ok());
    match &*REGEX {
        Some(regex) => regex.replace_all(text, |found: &Captures| {
            format!("{}{MASK}", found.name("name").map_or("", |name| name.as_str()))
        }),
        // a test builds the expression; showing nothing is right where it could not be built
        None => Cow::Borrowed(MASK),
    }
}
