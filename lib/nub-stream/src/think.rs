//! Thinking inside the text: `<think>` at the head of an answer, for endpoints whose caps say so.
//! Only a leading tag counts; tags may be cut anywhere.

use crate::assemble::Voice;
use crate::hold::{Head, head, overlap};

/// The tags that models use, with the tag that closes them.
const TAGS: &[(&str, &str)] = &[
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
];

/// The most whitespace before a tag, in bytes.
const SPACE: usize = 1 << 10;

/// Takes text and whose voice it is.
pub type Out<'a> = dyn FnMut(Voice, &str) + 'a;

/// Divides text into thinking and the rest.
#[derive(Debug)]
pub struct Splitter {
    state: State,
    /// Text that may become a tag, or whitespace before one.
    held: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// A tag may come.
    Leading,
    /// A tag may come, but the template opened it already.
    Implied,
    /// Up to this closing tag.
    Inside(&'static str),
    /// Text.
    Outside,
}

impl Splitter {
    /// For answers that open the tag themselves.
    pub fn new() -> Splitter {
        Splitter { state: State::Leading, held: String::new() }
    }

    /// For answers that begin inside the tag.
    pub fn inside() -> Splitter {
        Splitter { state: State::Implied, held: String::new() }
    }

    /// Thinking came in a field of its own: the text is not inside a tag then.
    pub fn outside(&mut self) {
        if self.state == State::Implied {
            self.state = State::Leading;
        }
    }

    /// Takes text.
    pub fn push(&mut self, text: &str, out: &mut Out<'_>) {
        if self.state == State::Outside {
            return out(Voice::Text, text);
        }
        let mut held = std::mem::take(&mut self.held);
        held.push_str(text);
        let mut rest = &*held;
        while let Some(behind) = self.step(rest, out) {
            rest = behind;
        }
    }

    /// No more text comes, or something else comes first.
    pub fn end(&mut self, out: &mut Out<'_>) {
        let held = std::mem::take(&mut self.held);
        let voice = match self.state {
            State::Inside(_) | State::Implied => Voice::Thinking,
            State::Leading | State::Outside => Voice::Text,
        };
        if !held.is_empty() {
            out(voice, &held);
        }
        self.state = State::Leading;
    }

    /// Makes one step and returns what lies behind it. `None` when more text is needed.
    fn step<'a>(&mut self, text: &'a str, out: &mut Out<'_>) -> Option<&'a str> {
        match self.state {
            State::Leading | State::Implied => self.lead(text),
            State::Inside(close) => self.think(text, close, out),
            State::Outside => {
                if !text.is_empty() {
                    out(Voice::Text, text);
                }
                None
            }
        }
    }

    fn lead<'a>(&mut self, all: &'a str) -> Option<&'a str> {
        let text = all.trim_start();
        let mut maybe = text.is_empty() && all.len() <= SPACE;
        for (open, close) in TAGS {
            for (tag, next) in [(open, State::Inside(close)), (close, State::Leading)] {
                match head(text, tag) {
                    Head::Found => {
                        self.state = next;
                        return Some(&text[tag.len()..]);
                    }
                    Head::Maybe => maybe |= all.len() <= SPACE,
                    Head::Other => {}
                }
            }
        }
        if maybe {
            all.clone_into(&mut self.held);
            return None;
        }
        self.state = if self.state == State::Implied { State::Inside(TAGS[0].1) } else { State::Outside };
        Some(all)
    }

    fn think<'a>(&mut self, text: &'a str, close: &'static str, out: &mut Out<'_>) -> Option<&'a str> {
        let found = text.find(close);
        let until = found.unwrap_or_else(|| text.len() - overlap(text, close));
        if until > 0 {
            out(Voice::Thinking, &text[..until]);
        }
        if found.is_none() {
            text[until..].clone_into(&mut self.held);
            return None;
        }
        self.state = State::Leading;
        Some(&text[until + close.len()..])
    }
}
