//! The tool `edit`: replaces an exact text in a file. It never guesses: what it cannot find once is an
//! error that says where to look.

use std::borrow::Cow;
use std::sync::PoisonError;

use memchr::memmem;
use serde::Deserialize;

use crate::cancel::Cancel;
use crate::definition::Definition;
use crate::jail::Found;
use crate::magic::{self, Kind};
use crate::nearest;
use crate::outcome::Outcome;
use crate::place::{Place, cannot};
use crate::text::{self, Order};
use crate::write::{Before, MAX_OLD, save};

/// Line numbers that an error names.
const NAMED_LINES: usize = 10;

pub(crate) const DEF: Definition = Definition {
    name: "edit",
    description: "Replace text in a file. `old` must be the exact text, without line numbers, and occur once.",
    schema: r#"{"type":"object","properties":{"path":{"type":"string"},"old":{"type":"string"},"new":{"type":"string"},"replace_all":{"type":"boolean"}},"required":["path","old","new"]}"#,
};

/// The arguments.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct EditArgs {
    pub path: String,
    pub old: String,
    pub new: String,
    pub replace_all: Option<bool>,
}

/// Runs the tool.
pub(crate) fn run(place: &Place, args: EditArgs, cancel: &Cancel) -> Outcome {
    edit(place, &args, cancel).map_err(|why| cannot("edit", &args.path, why)).into()
}

fn edit(place: &Place, args: &EditArgs, cancel: &Cancel) -> Result<Outcome, String> {
    if args.old.is_empty() {
        return Err("'old' is empty; give the text to replace, or use write for a whole file".into());
    }
    if args.old == args.new {
        return Err("'old' and 'new' are the same".into());
    }
    let lock = place.lock(&place.find_to_write(&args.path)?.rel);
    let _held = lock.lock().unwrap_or_else(PoisonError::into_inner);
    let spot = place.find_to_write(&args.path)?;
    if matches!(spot.found, Found::Missing(..)) {
        return Err("no such file; use write to create it".into());
    }
    let before = Before::open(place, &spot, cancel)?;
    before.check(place, &spot, &args.path, cancel)?;
    let Some(bytes) = &before.bytes else {
        return Err(format!("it is larger than {}; use bash", magic::size(MAX_OLD)));
    };
    let change = Change { old: &args.old, new: &args.new, times: Times::from(args.replace_all) };
    let new = change.file(bytes)?;
    save(place, &spot, Some(&before), &new, cancel)
}

/// How often the text may occur.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Times {
    /// Exactly once.
    Once,
    /// At least once; all places are changed.
    All,
}

impl From<Option<bool>> for Times {
    fn from(replace_all: Option<bool>) -> Times {
        if replace_all == Some(true) { Times::All } else { Times::Once }
    }
}

/// What is replaced by what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Change<'a> {
    pub old: &'a str,
    pub new: &'a str,
    pub times: Times,
}

/// Old and new text as bytes of the file.
type Pair<'a> = (Cow<'a, [u8]>, Cow<'a, [u8]>);

impl Change<'_> {
    /// The file after the change.
    ///
    /// # Errors
    /// What stands in the way, for the model.
    pub(crate) fn file(&self, bytes: &[u8]) -> Result<Vec<u8>, String> {
        match magic::kind(&bytes[..bytes.len().min(magic::HEAD)]) {
            Kind::Utf16Le => self.utf16(bytes, Order::Little),
            Kind::Utf16Be => self.utf16(bytes, Order::Big),
            Kind::Text => self.plain(bytes),
            Kind::Image(name) | Kind::Binary(name) => Err(format!("it is binary: {name}")),
        }
    }

    fn utf16(&self, bytes: &[u8], order: Order) -> Result<Vec<u8>, String> {
        let text = text::from_utf16(bytes, order);
        if text::to_utf16(&text, order) != bytes {
            return Err("it is broken UTF-16; use bash".into());
        }
        let new = self.plain(text.as_bytes())?;
        Ok(text::to_utf16(&String::from_utf8_lossy(&new), order))
    }

    fn plain(&self, bytes: &[u8]) -> Result<Vec<u8>, String> {
        let (old, new) = self.encoded(bytes)?;
        // `read` shows no carriage returns, so a text without them stands for both kinds of line end
        let view = if old.contains(&b'\r') { View::raw(bytes) } else { View::of(bytes) };
        let places: Vec<usize> = memmem::find_iter(&view.text, &old).collect();
        let Some(first) = places.first() else { return Err(nearest::explain(&view.text, self.old)) };
        if self.times == Times::Once {
            let overlapping = memmem::find(&view.text[first + 1..], &old).is_some();
            if places.len() > 1 || overlapping {
                return Err(view.several(&places, &old));
            }
        }
        let grown = bytes.len() + places.len().saturating_mul(new.len());
        if grown as u64 > 2 * MAX_OLD {
            return Err(format!("the result would be larger than {}", magic::size(2 * MAX_OLD)));
        }
        Ok(view.replace(bytes, &places, &old, &new))
    }

    /// Both texts in the encoding of the file. Where it is no UTF-8, `read` showed it as Latin-1.
    fn encoded(&self, bytes: &[u8]) -> Result<Pair<'_>, String> {
        let plain = (Cow::Borrowed(self.old.as_bytes()), Cow::Borrowed(self.new.as_bytes()));
        let ascii = self.old.is_ascii() && self.new.is_ascii();
        let as_it_is = !self.old.is_ascii() && memmem::find(bytes, self.old.as_bytes()).is_some();
        if ascii || as_it_is || std::str::from_utf8(bytes).is_ok() {
            return Ok(plain);
        }
        match (text::to_latin1(self.old), text::to_latin1(self.new)) {
            (Some(old), Some(new)) => Ok((old.into(), new.into())),
            _ => Err("it is not UTF-8, and 'old' or 'new' holds characters beyond Latin-1; use bash".into()),
        }
    }
}

/// A file as `read` shows it: every line end is one LF.
struct View<'a> {
    text: Cow<'a, [u8]>,
    /// Where in `text` a LF stands for CRLF, ascending.
    pairs: Vec<usize>,
}

impl<'a> View<'a> {
    fn raw(bytes: &'a [u8]) -> View<'a> {
        View { text: Cow::Borrowed(bytes), pairs: Vec::new() }
    }

    fn of(bytes: &'a [u8]) -> View<'a> {
        let mut text = Vec::new();
        let mut pairs = Vec::new();
        let mut from = 0;
        for at in memmem::find_iter(bytes, b"\r\n") {
            text.extend_from_slice(&bytes[from..at]);
            pairs.push(text.len());
            from = at + 1;
        }
        if pairs.is_empty() {
            return View::raw(bytes);
        }
        text.extend_from_slice(&bytes[from..]);
        View { text: Cow::Owned(text), pairs }
    }

    /// The place in the file of a place in the text.
    fn in_file(&self, at: usize) -> usize {
        at + self.pairs.partition_point(|pair| *pair < at)
    }

    /// The line end that new lines at a place get: that of the first old line there, or the nearest.
    fn line_end(&self, from: usize, to: usize) -> &'static [u8] {
        let rest = memchr::memchr(b'\n', &self.text[from..]).map(|at| from + at);
        let next = rest.filter(|at| *at < to);
        let near = next.or(rest).or_else(|| memchr::memrchr(b'\n', &self.text[..from]));
        match near {
            Some(at) if self.pairs.binary_search(&at).is_ok() => b"\r\n",
            _ => b"\n",
        }
    }

    /// The file with `new` at every place of `old`. What both begin and end with is left alone.
    fn replace(&self, bytes: &[u8], places: &[usize], old: &[u8], new: &[u8]) -> Vec<u8> {
        // a text with carriage returns of its own says how its lines end
        let as_it_is = self.pairs.is_empty() || new.contains(&b'\r');
        let shared = if as_it_is { 0 } else { old.len().min(new.len()) };
        let head = old[..shared].iter().zip(new).take_while(|(a, b)| a == b).count();
        let tails = old[head..].iter().rev().zip(new[head..].iter().rev()).take(shared - head);
        let tail = tails.take_while(|(a, b)| a == b).count();
        let middle = &new[head..new.len() - tail];
        let mut out = Vec::with_capacity(bytes.len());
        let mut from = 0;
        for place in places {
            let (start, end) = (place + head, place + old.len() - tail);
            out.extend_from_slice(&bytes[from..self.in_file(start)]);
            if as_it_is {
                out.extend_from_slice(middle);
            } else {
                push_lines(&mut out, middle, self.line_end(*place, place + old.len()));
            }
            from = self.in_file(end);
        }
        out.extend_from_slice(&bytes[from..]);
        out
    }

    fn several(&self, places: &[usize], old: &[u8]) -> String {
        let mut places = places.to_vec();
        if let [only] = places[..] {
            let next = memmem::find(&self.text[only + 1..], old);
            places.extend(next.map(|at| only + 1 + at));
        }
        let mut lines = Vec::new();
        let (mut line, mut from) = (1, 0);
        for place in places.iter().take(NAMED_LINES) {
            line += memchr::memchr_iter(b'\n', &self.text[from..*place]).count();
            from = *place;
            lines.push(line.to_string());
        }
        let more = if places.len() > NAMED_LINES { ", ..." } else { "" };
        format!(
            "'old' occurs {} times, in lines {}{more}; give more of the text around it, or set replace_all",
            places.len(),
            lines.join(", ")
        )
    }
}

fn push_lines(out: &mut Vec<u8>, text: &[u8], end: &[u8]) {
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        match line.strip_suffix(b"\n") {
            Some(line) => {
                out.extend_from_slice(line);
                out.extend_from_slice(end);
            }
            None => out.extend_from_slice(line),
        }
    }
}
