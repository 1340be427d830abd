//! An answer that is nothing but calls: JSON in fences or bare, as Qwen2.5-Coder writes them. One word of prose
//! and all of it is text.

use super::json::{self, Form};
use super::tools::Tools;
use super::{Out, Segment, Written};
use crate::scan::Scan;

/// The longest word behind a fence, and the longest tag inside one, in bytes.
const WORD: usize = 24;
/// How soon the first key of a call must come, in bytes.
const HEAD: usize = 256;
const FENCE: &str = "```";

/// Watches an answer from its beginning.
#[derive(Debug)]
pub struct Fence {
    tools: Tools,
    state: State,
    held: String,
    /// How far it was read.
    at: usize,
    calls: Vec<Written>,
}

#[derive(Debug)]
enum State {
    /// Outside of a fence.
    Between,
    /// Behind the opening fence, up to the end of its line.
    Word,
    /// Inside a fence.
    Body,
    /// In a JSON document that began here, inside a fence or not.
    Json(Scan, usize, Around),
    /// It is text.
    Passing,
}

#[derive(Debug, Clone, Copy)]
enum Around {
    Nothing,
    Fence,
}

impl Around {
    fn state(self) -> State {
        match self {
            Around::Nothing => State::Between,
            Around::Fence => State::Body,
        }
    }
}

/// What a step told.
enum Step {
    On,
    More,
    Text,
}

impl Fence {
    /// For these tools.
    pub fn new(tools: Tools) -> Fence {
        Fence { tools, state: State::Between, held: String::new(), at: 0, calls: Vec::new() }
    }

    /// Takes text.
    pub fn push(&mut self, text: &str, out: &mut Out<'_>) {
        if matches!(self.state, State::Passing) {
            return out(Segment::Text(text));
        }
        self.held.push_str(text);
        loop {
            match self.step() {
                Step::On => {}
                Step::More => return,
                Step::Text => {
                    self.state = State::Passing;
                    return out(Segment::Text(&std::mem::take(&mut self.held)));
                }
            }
        }
    }

    /// No more text comes, or something else comes first.
    pub fn end(&mut self, out: &mut Out<'_>) {
        let held = std::mem::take(&mut self.held);
        let complete = matches!(self.state, State::Between | State::Body)
            && held[self.at..].trim_matches('`').trim().is_empty();
        if complete && !self.calls.is_empty() {
            self.calls.iter().for_each(|call| out(call.segment()));
        } else if !held.is_empty() {
            out(Segment::Text(&held));
        }
        *self = Fence { state: State::Passing, ..Fence::new(self.tools.clone()) };
    }

    fn step(&mut self) -> Step {
        match &mut self.state {
            State::Passing => Step::Text,
            State::Json(scan, start, around) => {
                let (start, around) = (*start, *around);
                let Some(end) = scan.over(&self.held.as_bytes()[self.at..]) else {
                    self.at = self.held.len();
                    return if is_call_like(&self.held[start..]) { Step::More } else { Step::Text };
                };
                self.at += end;
                self.state = around.state();
                match json::calls(&self.held[start..self.at], &self.tools, Form::Bare) {
                    Some(calls) => {
                        self.calls.extend(calls);
                        Step::On
                    }
                    None => Step::Text,
                }
            }
            State::Word => self.word(),
            State::Between => self.token(Around::Nothing),
            State::Body => self.token(Around::Fence),
        }
    }

    fn word(&mut self) -> Step {
        let rest = &self.held[self.at..];
        let end = rest.find(['\n', '{', '[', '<']);
        let word = rest[..end.unwrap_or(rest.len())].trim();
        if word.len() > WORD || !word.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-')) {
            return Step::Text;
        }
        let Some(end) = end else {
            return Step::More;
        };
        self.at += end;
        self.state = State::Body;
        Step::On
    }

    fn token(&mut self, around: Around) -> Step {
        let rest =
            self.held[self.at..].trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ';'));
        self.at = self.held.len() - rest.len();
        match (rest.as_bytes().first(), around) {
            (None, _) => Step::More,
            (Some(b'{' | b'['), _) => {
                self.state = State::Json(Scan::default(), self.at, around);
                Step::On
            }
            (Some(b'`'), _) if rest.starts_with(FENCE) => {
                self.at += FENCE.len();
                self.state = match around {
                    Around::Nothing => State::Word,
                    Around::Fence => State::Between,
                };
                Step::On
            }
            (Some(b'`'), _) if FENCE.starts_with(rest) => Step::More,
            (Some(b'<'), _) => self.tag(),
            (Some(_), _) => Step::Text,
        }
    }

    /// A tag around the JSON, whatever it is called.
    fn tag(&mut self) -> Step {
        let rest = &self.held[self.at..];
        let Some(end) = rest.find('>') else {
            return if rest.len() > WORD { Step::Text } else { Step::More };
        };
        let word = rest[1..end].trim_start_matches('/');
        if word.len() > WORD || !word.chars().all(|c| c.is_alphanumeric() || c == '_') {
            return Step::Text;
        }
        self.at += end + 1;
        Step::On
    }
}

/// Whether JSON that is not complete may become a call, by its first key.
fn is_call_like(json: &str) -> bool {
    let begin = &json[..json.floor_char_boundary(HEAD)];
    let inside = begin.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '{' | '['));
    match inside.strip_prefix('"').map(|key| key.split_once('"')) {
        Some(Some((key, _))) => json::is_key(key),
        Some(None) => json.len() < HEAD,
        None => inside.is_empty() && json.len() < HEAD,
    }
}
