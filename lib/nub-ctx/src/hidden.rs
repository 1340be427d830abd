//! Characters that a person does not see and a model reads: ways to hide instructions in a file. They
//! are left out, and the user is told. Joiners and selectors where writing systems and emoji need them
//! stay.

/// What is hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Tag,
    ZeroWidth,
    Bidi,
    SoftHyphen,
    Selector,
}

const CLASSES: [(Class, &str); 5] = [
    (Class::Tag, "tag"),
    (Class::ZeroWidth, "zero-width"),
    (Class::Bidi, "bidirectional control"),
    (Class::SoftHyphen, "soft hyphen"),
    (Class::Selector, "variation selector"),
];

/// The text without hidden characters, and a note for each class that was found: how many there are
/// and where the first one is.
pub(crate) fn clean(text: &str) -> (String, Vec<String>) {
    if text.is_ascii() {
        return (text.to_owned(), Vec::new());
    }
    let mut kept = String::with_capacity(text.len());
    let mut found: Vec<(Class, usize, usize)> = Vec::new();
    let mut in_flag = false;
    let mut before = '\n';
    for (at, c) in text.char_indices() {
        in_flag = c == '\u{1F3F4}' || in_flag && matches!(c, '\u{E0020}'..='\u{E007F}');
        let after = || text[at + c.len_utf8()..].chars().next().unwrap_or('\n');
        match class(c, before, after, in_flag) {
            None => kept.push(c),
            Some(class) => match found.iter_mut().find(|(other, ..)| *other == class) {
                Some((_, count, _)) => *count += 1,
                None => found.push((class, 1, at)),
            },
        }
        before = c;
    }
    let note = |(class, count, at): &(Class, usize, usize)| {
        let name = CLASSES.iter().find(|(other, _)| other == class).map_or("", |(_, name)| name);
        format!("has hidden characters, left out: {count} of class {name}, the first at byte {at}")
    };
    (kept, found.iter().map(note).collect())
}

fn class(c: char, before: char, after: impl Fn() -> char, in_flag: bool) -> Option<Class> {
    match c {
        // flags of regions such as Scotland are a black flag and tags
        '\u{E0000}'..='\u{E007F}' if !in_flag => Some(Class::Tag),
        '\u{200B}' | '\u{2060}'..='\u{2064}' | '\u{FEFF}' | '\u{180E}' => Some(Class::ZeroWidth),
        // joiners shape emoji and many scripts; between Latin letters they only hide
        '\u{200C}' | '\u{200D}' if before.is_ascii() || after().is_ascii() && c == '\u{200D}' => {
            Some(Class::ZeroWidth)
        }
        '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => Some(Class::Bidi),
        '\u{AD}' => Some(Class::SoftHyphen),
        '\u{E0100}'..='\u{E01EF}' if !is_han(before) => Some(Class::Selector),
        // after a digit, # or * they make keycaps
        '\u{FE00}'..='\u{FE0F}' if is_selector(before) || before.is_ascii() && !is_keycap(before) => {
            Some(Class::Selector)
        }
        _ => None,
    }
}

fn is_han(c: char) -> bool {
    matches!(c, '\u{2E80}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

fn is_selector(c: char) -> bool {
    matches!(c, '\u{FE00}'..='\u{FE0F}')
}

fn is_keycap(c: char) -> bool {
    c.is_ascii_digit() || c == '#' || c == '*'
}
