//! What a key may come from: the class of each key, and how a repository's word on a free key is
//! combined with the user's.

/// Who may set a key. Every key of the schema has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// A table: its keys have classes of their own.
    Table,
    /// An untrusted repository may set it, as far as the rule allows.
    Free(Rule),
    /// A repository may set it once the user trusts it.
    Trusted,
    /// Only the user.
    Never,
}

/// How far an untrusted repository may go with a free key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// It says what is so anyway.
    Same,
    /// Only towards less that is allowed.
    Stricter,
    /// Only towards a lower number.
    Lower,
    /// Only towards a lower number, where 0 means that there is no limit.
    LowerOrOff,
    /// Entries are added, none is taken away.
    Grow,
    /// Plain paths inside the repository take the place of such paths; all others stay.
    Inside,
}

/// A key of the schema.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Its last word.
    pub name: &'static str,
    /// Who may set it.
    pub class: Class,
    /// The keys below it.
    pub keys: &'static [Key],
}

/// Full names of all keys below these, such as `limits.max_turns`, with their classes.
#[must_use]
pub fn leaves(keys: &'static [Key]) -> Vec<(String, Class)> {
    let mut found = Vec::new();
    for key in keys {
        if key.keys.is_empty() {
            found.push((key.name.to_owned(), key.class));
        }
        found.extend(
            leaves(key.keys).into_iter().map(|(name, class)| (format!("{}.{name}", key.name), class)),
        );
    }
    found
}

/// The valid name that a wrong one was probably meant to be: a neighbour that is spelt nearly the
/// same, or the full name of a key with that last word elsewhere.
pub(crate) fn nearest(wrong: &str, siblings: &[Key], all: &'static [Key]) -> Option<String> {
    let siblings = siblings.iter().map(|key| key.name);
    if let Some(name) = nearest_word(wrong, siblings) {
        return Some(name.to_owned());
    }
    let all = leaves(all);
    let words = all.iter().map(|(name, _)| name.rsplit('.').next().unwrap_or(name));
    let word = nearest_word(wrong, words)?;
    all.iter().map(|(name, _)| name).find(|name| name.rsplit('.').next() == Some(word)).cloned()
}

/// The word that differs in the fewest letters, when they are few enough.
pub(crate) fn nearest_word<'a>(wrong: &str, words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    /// Longer words are no misspelling of ours.
    const LONGEST: usize = 64;
    if wrong.len() > LONGEST {
        return None;
    }
    let wrong = wrong.to_ascii_lowercase().replace('-', "_");
    words
        .map(|word| (strsim::levenshtein(&wrong, word), word))
        .filter(|(distance, word)| *distance <= (word.len().max(wrong.len()) / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}
