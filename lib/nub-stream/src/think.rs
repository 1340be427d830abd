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
        self.held.push_str(text);
        while self.step(out) {}
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

    /// Makes one step over what is held. False when more text is needed.
    fn step(&mut self, out: &mut Out<'_>) -> bool {
        match self.state {
            State::Leading | State::Implied => self.lead(),
            State::Inside(close) => self.think(close, out),
            State::Outside => {
                out(Voice::Text, &std::mem::take(&mut self.held));
                false
            }
        }
    }

    fn lead(&mut self) -> bool {
        let text = self.held.trim_start();
        let space = self.held.len() - text.len();
        let mut maybe = text.is_empty();
        for (open, close) in TAGS {
            for (tag, next) in [(open, State::Inside(close)), (close, State::Leading)] {
                match head(text, tag) {
                    Head::Found => {
                        self.held.drain(..space + tag.len());
                        self.state = next;
                        return true;
                    }
                    Head::Maybe => maybe = true,
                    Head::Other => {}
                }
            }
        }
        if !maybe {
            self.state = if self.state == State::Implied { State::Inside(TAGS[0].1) } else { State::Outside };
        }
        !maybe
    }

    fn think(&mut self, close: &'static str, out: &mut Out<'_>) -> bool {
        let found = self.held.find(close);
        let until = found.unwrap_or_else(|| self.held.len() - overlap(&self.held, close));
        if until > 0 {
            out(Voice::Thinking, &self.held[..until]);
        }
        self.held.drain(..until + found.map_or(0, |_| close.len()));
        if found.is_some() {
            self.state = State::Leading;
        }
        found.is_some()
    }
}
