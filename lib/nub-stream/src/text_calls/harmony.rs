//! The channels of gpt-oss in text: analysis is thinking, commentary with a recipient is a call, the rest is text.

use super::tools::Tools;
use super::{Out, Segment};
use crate::hold::longest;

const CHANNEL: &str = "<|channel|>";
const MESSAGE: &str = "<|message|>";
const START: &str = "<|start|>";
/// What ends a message.
const ENDS: &[&str] = &["<|end|>", "<|call|>", "<|return|>", START, CHANNEL];
/// What begins a head.
const HEADS: &[&str] = &[START, CHANNEL];
/// The longest head of a message, in bytes.
const HEAD: usize = 512;

/// Divides text by its channels.
#[derive(Debug)]
pub struct Harmony {
    tools: Tools,
    state: State,
    held: String,
    /// The head of the message in hand, as it was written.
    head: String,
    /// How far a call was searched for its end.
    at: usize,
    /// How much of the text in hand is wanted again.
    keep: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Outside of a message: text that has no channel.
    Open,
    /// In the head of a message.
    Head,
    /// In a message that is thinking.
    Analysis,
    /// In a message for the user.
    Final,
    /// In a message for a tool.
    Call,
}

impl Harmony {
    /// For these tools.
    pub fn new(tools: Tools) -> Harmony {
        Harmony { tools, state: State::Open, held: String::new(), head: String::new(), at: 0, keep: 0 }
    }

    /// Takes text.
    pub fn push(&mut self, text: &str, out: &mut Out<'_>) {
        let mut held = std::mem::take(&mut self.held);
        held.push_str(text);
        let mut from = 0;
        while let Some(step) = self.step(&held[from..], out) {
            from += step;
        }
        held.drain(..from);
        let kept = held.len() - self.keep;
        held.drain(..kept);
        self.held = held;
    }

    /// No more text comes, or something else comes first.
    pub fn end(&mut self, out: &mut Out<'_>) {
        let held = std::mem::take(&mut self.held);
        match self.state {
            State::Open | State::Final | State::Head => text(&held, out),
            State::Analysis => thinking(&held, out),
            State::Call => self.call(&held, "", out),
        }
        *self = Harmony::new(self.tools.clone());
    }

    /// Makes one step over a text and returns its length. `None` when more text is needed: then `keep` says
    /// how much of the end is wanted again.
    fn step(&mut self, held: &str, out: &mut Out<'_>) -> Option<usize> {
        match self.state {
            State::Open => self.flow(held, HEADS, text, out),
            State::Head => self.read_head(held, out),
            State::Analysis => self.flow(held, ENDS, thinking, out),
            State::Final => self.flow(held, ENDS, text, out),
            State::Call => self.read_call(held, out),
        }
    }

    /// Hands text on up to a marker.
    fn flow(
        &mut self,
        held: &str,
        markers: &[&'static str],
        say: fn(&str, &mut Out<'_>),
        out: &mut Out<'_>,
    ) -> Option<usize> {
        let Some((at, marker)) = first(held, markers, 0) else {
            self.keep = longest(held, markers.iter().copied());
            say(&held[..held.len() - self.keep], out);
            return None;
        };
        say(&held[..at], out);
        Some(self.leave(at, marker))
    }

    /// Leaves a message at the marker that ends it.
    fn leave(&mut self, at: usize, marker: &str) -> usize {
        let opens = HEADS.contains(&marker);
        self.state = if opens { State::Head } else { State::Open };
        self.at = 0;
        if opens { at } else { at + marker.len() }
    }

    fn read_head(&mut self, held: &str, out: &mut Out<'_>) -> Option<usize> {
        let Some(at) = within(held, HEAD).find(MESSAGE) else {
            if held.len() <= HEAD {
                self.keep = held.len();
                return None;
            }
            // not a head: its marker is text
            let marker = if held.starts_with(START) { START } else { CHANNEL };
            text(marker, out);
            self.state = State::Open;
            return Some(marker.len());
        };
        held[..at + MESSAGE.len()].clone_into(&mut self.head);
        self.state = if recipient(&self.head).is_some() {
            State::Call
        } else if self.head.contains("analysis") {
            State::Analysis
        } else {
            State::Final
        };
        Some(self.head.len())
    }

    fn read_call(&mut self, held: &str, out: &mut Out<'_>) -> Option<usize> {
        let Some((at, marker)) = first(held, ENDS, self.at) else {
            self.keep = held.len();
            self.at = held.len() - longest(held, ENDS.iter().copied());
            return None;
        };
        self.call(&held[..at], if HEADS.contains(&marker) { "" } else { marker }, out);
        Some(self.leave(at, marker))
    }

    /// A call, or its text unchanged when there is no such tool.
    fn call(&mut self, body: &str, end: &str, out: &mut Out<'_>) {
        match recipient(&self.head).and_then(|name| self.tools.known(name)) {
            Some(name) => out(Segment::Call { id: "", name: &name, arguments: body.trim() }),
            None => text(&format!("{}{body}{end}", self.head), out),
        }
    }
}

/// The first of some markers from an offset on.
fn first(text: &str, markers: &[&'static str], from: usize) -> Option<(usize, &'static str)> {
    let starts = text[from..].match_indices("<|").map(|(at, _)| from + at);
    let marked = starts.map(|at| (at, markers.iter().find(|marker| text[at..].starts_with(**marker))));
    marked.into_iter().find_map(|(at, marker)| Some((at, *marker?)))
}

/// The beginning of a text, of about this length.
fn within(text: &str, length: usize) -> &str {
    &text[..text.floor_char_boundary(length)]
}

/// Whom a message is for: `to=NAME` in its head.
fn recipient(head: &str) -> Option<&str> {
    let name = &head[head.find("to=")? + "to=".len()..];
    Some(&name[..name.find(|c: char| c.is_whitespace() || c == '<').unwrap_or(name.len())])
}

fn text(text: &str, out: &mut Out<'_>) {
    if !text.is_empty() {
        out(Segment::Text(text));
    }
}

fn thinking(text: &str, out: &mut Out<'_>) {
    if !text.is_empty() {
        out(Segment::Thinking(text));
    }
}
