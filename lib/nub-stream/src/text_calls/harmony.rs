//! The channels of gpt-oss in text: analysis is thinking, commentary with a recipient is a call, the rest is text.

use super::{Names, Out, Segment};
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
    names: Names,
    state: State,
    held: String,
    /// The head of the message in hand, as it was written.
    head: String,
    /// How far a call was searched for its end.
    at: usize,
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
    /// For tools of these names.
    pub fn new(names: Names) -> Harmony {
        Harmony { names, state: State::Open, held: String::new(), head: String::new(), at: 0 }
    }

    /// Takes text.
    pub fn push(&mut self, text: &str, out: &mut Out<'_>) {
        self.held.push_str(text);
        while self.step(out) {}
    }

    /// No more text comes, or something else comes first.
    pub fn end(&mut self, out: &mut Out<'_>) {
        let held = std::mem::take(&mut self.held);
        match self.state {
            State::Open | State::Final => text(&held, out),
            State::Head => text(&held, out),
            State::Analysis => thinking(&held, out),
            State::Call => self.call(&held, "", out),
        }
        self.head.clear();
        self.at = 0;
        self.state = State::Open;
    }

    fn step(&mut self, out: &mut Out<'_>) -> bool {
        match self.state {
            State::Open => self.flow(HEADS, text, out),
            State::Head => self.read_head(out),
            State::Analysis => self.flow(ENDS, thinking, out),
            State::Final => self.flow(ENDS, text, out),
            State::Call => self.read_call(out),
        }
    }

    /// Hands text on up to a marker.
    fn flow(&mut self, markers: &[&'static str], say: fn(&str, &mut Out<'_>), out: &mut Out<'_>) -> bool {
        let Some((at, marker)) = first(&self.held, markers, 0) else {
            let until = self.held.len() - longest(&self.held, markers.iter().copied());
            say(&self.held[..until], out);
            self.held.drain(..until);
            return false;
        };
        say(&self.held[..at], out);
        self.leave(at, marker);
        true
    }

    /// Leaves a message at the marker that ends it.
    fn leave(&mut self, at: usize, marker: &str) {
        let opens = HEADS.contains(&marker);
        self.held.drain(..if opens { at } else { at + marker.len() });
        self.state = if opens { State::Head } else { State::Open };
        self.at = 0;
    }

    fn read_head(&mut self, out: &mut Out<'_>) -> bool {
        let Some(at) = self.held.find(MESSAGE) else {
            if self.held.len() <= HEAD {
                return false;
            }
            text(&std::mem::take(&mut self.held), out);
            self.state = State::Open;
            return false;
        };
        self.head = self.held.drain(..at + MESSAGE.len()).collect();
        self.state = if recipient(&self.head).is_some() {
            State::Call
        } else if self.head.contains("analysis") {
            State::Analysis
        } else {
            State::Final
        };
        true
    }

    fn read_call(&mut self, out: &mut Out<'_>) -> bool {
        let Some((at, marker)) = first(&self.held, ENDS, self.at) else {
            self.at = self.held.len() - longest(&self.held, ENDS.iter().copied());
            return false;
        };
        let body = self.held[..at].to_owned();
        self.call(&body, if HEADS.contains(&marker) { "" } else { marker }, out);
        self.leave(at, marker);
        true
    }

    /// A call, or its text unchanged when there is no such tool.
    fn call(&mut self, body: &str, end: &str, out: &mut Out<'_>) {
        match recipient(&self.head).and_then(|name| self.names.known(name)) {
            Some(name) => out(Segment::Call { id: "", name: &name, arguments: body.trim() }),
            None => text(&format!("{}{body}{end}", self.head), out),
        }
    }
}

/// The first of some markers from an offset on.
fn first(text: &str, markers: &[&'static str], from: usize) -> Option<(usize, &'static str)> {
    let found = markers.iter().filter_map(|marker| text[from..].find(marker).map(|at| (from + at, *marker)));
    found.min_by_key(|(at, _)| *at)
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
