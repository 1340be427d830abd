//! What a value must be beside its type. Each check says what is wrong, or nothing.
// a check is a plain function of the key's own type, so that the schema can name it
#![allow(clippy::ptr_arg)]

use std::collections::BTreeMap;

use crate::layer::shown;

/// A check of a value: what is wrong with it, as the words after the key's name.
pub(crate) type Check<T> = fn(&T) -> Option<String>;

/// The longest time that can be set, in seconds: about four months. Longer ones overflow deadlines.
const LONGEST: f64 = 1e7;

pub(crate) fn fine<T>(_: &T) -> Option<String> {
    None
}

fn unless(holds: bool, reason: impl Into<String>) -> Option<String> {
    (!holds).then(|| reason.into())
}

pub(crate) fn seconds(value: &f64) -> Option<String> {
    unless(*value > 0.0 && *value <= LONGEST, format!("must be more than 0 and at most {LONGEST} seconds"))
}

pub(crate) fn optional_seconds(value: &Option<f64>) -> Option<String> {
    value.as_ref().and_then(seconds)
}

pub(crate) fn share(value: &f64) -> Option<String> {
    unless((0.0..=1.0).contains(value), "must be a share from 0 to 1")
}

pub(crate) fn one_or_more_u32(value: &u32) -> Option<String> {
    unless(*value > 0, "must be at least 1")
}

pub(crate) fn one_or_more_usize(value: &usize) -> Option<String> {
    unless(*value > 0, "must be at least 1")
}

pub(crate) fn name(value: &String) -> Option<String> {
    let fits = !value.is_empty() && !value.chars().any(|c| c.is_control() || c.is_whitespace());
    unless(fits, "must be a word without blanks")
}

pub(crate) fn command(value: &String) -> Option<String> {
    unless(!value.trim().is_empty() && !value.contains('\0'), "must be a command line")
}

pub(crate) fn url(value: &String) -> Option<String> {
    let rest = value.strip_prefix("https://").or_else(|| value.strip_prefix("http://"));
    let host = rest.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
    if host.is_some_and(|host| host.contains('@')) {
        return Some("must not hold a user name or password: use api_key".into());
    }
    let fits = host.is_some_and(|host| !host.is_empty())
        && !value.chars().any(|c| c.is_control() || c.is_whitespace());
    unless(fits, "must be an address such as \"https://api.example.com/v1\"")
}

/// The value is not shown: it may be a key that was pasted here.
pub(crate) fn key_source(value: &String) -> Option<String> {
    let fits = match value.split_once(':') {
        Some(("env", name)) => is_variable(name),
        Some(("file", path)) => path.starts_with('/') || path.starts_with("~/"),
        Some(("cmd", line)) => !line.trim().is_empty() && !line.contains('\0'),
        Some(_) => false,
        None => value == "auth" || value == "none",
    };
    unless(
        fits,
        "must be \"env:NAME\", \"file:/PATH\", \"cmd:COMMAND\", \"auth\" or \"none\"; a key itself does not belong here",
    )
}

fn is_variable(name: &str) -> bool {
    !name.is_empty() && !name.contains(|c: char| c == '=' || c.is_control() || c.is_whitespace())
}

fn reference(value: &str) -> Option<String> {
    let name = value.strip_prefix("env:")?;
    unless(is_variable(name), "has a value env: without the name of a variable")
}

pub(crate) fn headers(all: &BTreeMap<String, String>) -> Option<String> {
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    all.iter().find_map(|(name, value)| {
        if name.is_empty() || !name.chars().all(token) {
            return Some(format!("has '{}', which is no name of a header", shown(name)));
        }
        if value.contains(|c: char| c.is_control() && c != '\t') {
            return Some(format!("has control characters in the value of '{name}'"));
        }
        reference(value)
    })
}

pub(crate) fn environment(all: &BTreeMap<String, String>) -> Option<String> {
    all.iter().find_map(|(name, value)| {
        if !is_variable(name) || value.contains('\0') {
            return Some(format!("has '{}', which is no variable", shown(name)));
        }
        reference(value)
    })
}

pub(crate) fn json(all: &BTreeMap<String, toml::Value>) -> Option<String> {
    all.iter().find_map(|(name, value)| {
        unless(is_json(value), format!("has '{}', a value that JSON cannot carry", shown(name)))
    })
}

fn is_json(value: &toml::Value) -> bool {
    match value {
        toml::Value::Float(number) => number.is_finite(),
        toml::Value::Datetime(_) => false,
        toml::Value::Array(list) => list.iter().all(is_json),
        toml::Value::Table(table) => table.values().all(is_json),
        toml::Value::String(_) | toml::Value::Integer(_) | toml::Value::Boolean(_) => true,
    }
}

pub(crate) fn globs(all: &Vec<String>) -> Option<String> {
    all.iter().find_map(|glob| match globset::Glob::new(glob) {
        _ if glob.is_empty() => Some("has an empty pattern".into()),
        Ok(_) => None,
        Err(e) => Some(format!("has '{}', which is no glob: {}", shown(glob), e.kind())),
    })
}

pub(crate) fn patterns(all: &Vec<String>) -> Option<String> {
    unless(!all.iter().any(|pattern| pattern.trim().is_empty()), "has an empty pattern")
}

pub(crate) fn paths(all: &Vec<String>) -> Option<String> {
    unless(!all.iter().any(|path| path.is_empty() || path.contains('\0')), "has an empty path")
}

impl crate::Permissions {
    /// Whether `deny_paths` names this path, given from the root and without links.
    #[must_use]
    pub fn denies(&self, path: &std::path::Path) -> bool {
        let globs = self.deny_paths.iter().filter_map(|glob| globset::Glob::new(glob).ok());
        globs.into_iter().any(|glob| glob.compile_matcher().is_match(path))
    }
}
