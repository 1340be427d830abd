//! One layer laid over the configuration: a file or a variable, key by key, with every fault and its
//! place, every key an untrusted repository may not set, and the origin of what was set.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::Config;
use crate::check::Check;
use crate::class::{Class, Key, Rule, nearest};

/// A value and its place in the text.
pub(crate) type Value<'a> = Spanned<DeValue<'a>>;

/// Where the value of a key was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// In a file.
    File {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
    },
    /// In a variable of the environment.
    Env {
        /// Its name.
        name: String,
    },
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Origin::File { path, line, column } => {
                write!(f, "{}:{line}:{column}", shown(&path.to_string_lossy()))
            }
            Origin::Env { name } => f.write_str(&shown(name)),
        }
    }
}

/// Full names of the keys that were set, such as `limits.max_turns` or `endpoint.NAME.base_url`.
pub type Origins = BTreeMap<String, Origin>;

/// Where a layer comes from.
#[derive(Clone, Copy)]
pub(crate) enum Place<'a> {
    /// A file and its text.
    File(&'a Path, &'a str),
    /// A variable.
    Env(&'a str),
}

impl Place<'_> {
    pub(crate) fn origin(&self, offset: usize) -> Origin {
        match self {
            Place::File(path, text) => {
                let before = text.get(..offset).unwrap_or(text);
                let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
                let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
                Origin::File { path: path.to_path_buf(), line, column }
            }
            Place::Env(name) => Origin::Env { name: (*name).to_owned() },
        }
    }
}

/// Whose word a layer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Voice {
    /// The user's.
    User,
    /// That of a repository nobody vouched for.
    Repo,
}

/// A layer while it is laid.
pub(crate) struct Layer<'a> {
    place: Place<'a>,
    voice: Voice,
    path: Vec<String>,
    origins: &'a mut Origins,
    /// Faults with their offsets.
    pub(crate) faults: Vec<(usize, String)>,
    /// Keys that this voice may not set.
    pub(crate) ignored: Vec<String>,
}

/// Faults beyond this many get no hint: looking for one takes time, and a file may be all faults.
const HINTED: usize = 64;
/// The most of a foreign word that a message shows, in characters.
const SHOWN: usize = 60;

/// A foreign word as a message may show it: short, and harmless on a terminal.
pub(crate) fn shown(text: &str) -> String {
    let mut short: String = text.chars().take(SHOWN).collect::<String>().escape_debug().to_string();
    if text.chars().nth(SHOWN).is_some() {
        short.push('…');
    }
    short.replace("\\'", "'").replace("\\\"", "\"")
}

/// What is wrong with a value of another kind than the key's.
pub(crate) fn mismatch<T: Field>(value: &DeValue) -> String {
    let kind = match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    };
    format!("must be {}, not {kind}", T::WANT)
}

/// A type that a key can have.
pub(crate) trait Field: Sized + PartialEq {
    /// The keys below, when it is a table or a list of tables.
    const KEYS: &'static [Key] = &[];
    /// What must stand in the file.
    const WANT: &'static str;

    /// Reads a value, or says what is wrong with it.
    fn read(value: &DeValue) -> Result<Self, String> {
        Err(mismatch::<Self>(value))
    }

    /// The value that a variable's text stands for.
    fn typed(text: &str) -> DeValue<'_> {
        DeValue::String(Cow::Borrowed(text))
    }

    /// The repository's value as far as the rule lets it go; none when it goes further.
    fn tighten(&self, _: Rule, _: Self) -> Option<Self> {
        None
    }

    /// Lays a value over this one.
    fn lay(&mut self, layer: &mut Layer, class: Class, check: Check<Self>, value: &Value) {
        layer.leaf(self, class, check, value);
    }
}

/// A table with known keys.
pub(crate) trait Section: Field {
    /// Lays one key; false when there is none of that name.
    fn lay_key(&mut self, name: &str, layer: &mut Layer, value: &Value) -> bool;
}

/// A table that stands in a list and has a name there.
pub(crate) trait Named: Section + Default {
    /// Its name.
    fn name(&self) -> &str;

    /// What it cannot do without, or has too much of.
    fn missing(&self) -> Option<&'static str>;
}

impl<'a> Layer<'a> {
    pub(crate) fn new(place: Place<'a>, voice: Voice, origins: &'a mut Origins) -> Layer<'a> {
        Layer { place, voice, path: Vec::new(), origins, faults: Vec::new(), ignored: Vec::new() }
    }

    /// The key that is being laid.
    pub(crate) fn name(&self) -> String {
        self.path.join(".")
    }

    pub(crate) fn fault(&mut self, offset: usize, reason: &str) {
        self.faults.push((offset, format!("{} {reason}", self.name())));
    }

    /// Lays a key, unless this voice may not set it.
    pub(crate) fn key<T: Field>(&mut self, target: &mut T, class: Class, check: Check<T>, value: &Value) {
        match (self.voice, class) {
            (Voice::Repo, Class::Trusted | Class::Never) => self.ignore(value),
            (Voice::User, _) | (Voice::Repo, Class::Table | Class::Free(_)) => {
                target.lay(self, class, check, value);
            }
        }
    }

    /// Names what is ignored: the key, or the keys of the table or list of tables that stands there.
    fn ignore(&mut self, value: &Value) {
        let own = self.name();
        let mut names = Vec::new();
        let mut below = |table: &DeTable| {
            names.extend(table.keys().map(|key| format!("{own}.{}", shown(key.get_ref()))));
        };
        match value.get_ref() {
            DeValue::Table(table) => below(table),
            DeValue::Array(list) => list.iter().for_each(|item| {
                if let DeValue::Table(table) = item.get_ref() {
                    below(table)
                }
            }),
            DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_) => {}
        }
        if names.is_empty() {
            names.push(own);
        }
        self.ignored.extend(names);
    }

    pub(crate) fn table<S: Section>(&mut self, target: &mut S, value: &Value) {
        match value.get_ref() {
            DeValue::Table(table) => self.keys(target, table),
            other => self.fault(value.span().start, &mismatch::<S>(other)),
        }
    }

    pub(crate) fn keys<S: Section>(&mut self, target: &mut S, table: &DeTable) {
        for (key, value) in table {
            self.path.push(shown(key.get_ref()));
            if !target.lay_key(key.get_ref(), self, value) {
                let hint = (self.faults.len() < HINTED)
                    .then(|| nearest(key.get_ref(), S::KEYS, Config::KEYS))
                    .flatten();
                let hint = hint.map(|name| format!("; did you mean '{name}'?")).unwrap_or_default();
                let reason = format!("unknown key '{}'{hint}", self.name());
                self.faults.push((key.span().start, reason));
            }
            self.path.pop();
        }
    }

    fn read<T: Field>(&self, value: &Value) -> Result<T, String> {
        match (self.place, value.get_ref()) {
            (Place::Env(_), DeValue::String(text)) => T::read(&T::typed(text)),
            (Place::Env(_) | Place::File(..), other) => T::read(other),
        }
    }

    fn leaf<T: Field>(&mut self, target: &mut T, class: Class, check: Check<T>, value: &Value) {
        let new = match self.read(value) {
            Ok(new) => new,
            Err(reason) => return self.fault(value.span().start, &reason),
        };
        if let Some(reason) = check(&new) {
            return self.fault(value.span().start, &reason);
        }
        let new = match (self.voice, class) {
            (Voice::Repo, Class::Free(rule)) => target.tighten(rule, new),
            (Voice::Repo, Class::Table | Class::Trusted | Class::Never) => None,
            (Voice::User, _) => Some(new),
        };
        let Some(new) = new else { return self.ignored.push(self.name()) };
        if self.voice == Voice::User || *target != new {
            *target = new;
            self.set(value.span().start);
        }
    }

    fn set(&mut self, offset: usize) {
        let origin = self.place.origin(offset);
        self.origins.insert(self.name(), origin);
    }

    /// Lays one entry of a table whose keys are free words.
    fn entry<T: Field>(&mut self, map: &mut BTreeMap<String, T>, key: &Spanned<Cow<str>>, value: &Value) {
        self.path.push(shown(key.get_ref()));
        match self.read(value) {
            Ok(new) => drop(map.insert(key.get_ref().to_string(), new)),
            Err(reason) => self.fault(value.span().start, &reason),
        }
        self.path.pop();
    }

    /// Lays one table of a list: over the one of its name, or behind the others.
    fn element<T: Named>(&mut self, all: &mut Vec<T>, seen: &mut Vec<String>, value: &Value) {
        let DeValue::Table(table) = value.get_ref() else {
            let reason = format!("must be a list of tables: write [[{}]]", self.name());
            return self.fault(value.span().start, &reason);
        };
        let at = value.span().start;
        let Some(name) = table.get("name").and_then(|name| name.get_ref().as_str()) else {
            let key = if table.contains_key("name") { "has a name that is no string" } else { "has no name" };
            return self.fault(at, key);
        };
        if seen.iter().any(|other| other == name) {
            return self.fault(at, &format!("'{}' stands here twice", shown(name)));
        }
        seen.push(name.to_owned());
        let old = all.iter().position(|one| one.name() == name);
        let mut one = T::default();
        let target = match old.and_then(|old| all.get_mut(old)) {
            Some(old) => old,
            None => &mut one,
        };
        self.path.push(shown(name));
        let faults = self.faults.len();
        self.keys(target, table);
        if let Some(reason) = target.missing().filter(|_| self.faults.len() == faults) {
            self.fault(at, reason);
        }
        self.path.pop();
        if old.is_none() {
            all.push(one);
        }
    }
}

impl<T: Field> Field for BTreeMap<String, T> {
    const WANT: &'static str = "a table";

    fn lay(&mut self, layer: &mut Layer, _: Class, check: Check<Self>, value: &Value) {
        let DeValue::Table(table) = value.get_ref() else {
            return layer.fault(value.span().start, &mismatch::<Self>(value.get_ref()));
        };
        for (key, value) in table {
            layer.entry(self, key, value);
        }
        layer.set(value.span().start);
        if let Some(reason) = check(self) {
            layer.fault(value.span().start, &reason);
        }
    }
}

impl<T: Named> Field for Vec<T> {
    const KEYS: &'static [Key] = T::KEYS;
    const WANT: &'static str = "a list of tables";

    fn lay(&mut self, layer: &mut Layer, _: Class, _: Check<Self>, value: &Value) {
        let DeValue::Array(list) = value.get_ref() else {
            let reason = format!("must be a list of tables: write [[{}]]", layer.name());
            return layer.fault(value.span().start, &reason);
        };
        let mut seen = Vec::new();
        for value in list.iter() {
            layer.element(self, &mut seen, value);
        }
    }
}

impl<T: Field> Field for Option<T> {
    const WANT: &'static str = T::WANT;

    fn read(value: &DeValue) -> Result<Option<T>, String> {
        T::read(value).map(Some)
    }

    fn typed(text: &str) -> DeValue<'_> {
        T::typed(text)
    }
}
