//! The arguments of one call: append-only, so that they can be streamed while they arrive.

use nub_proto::{Input, Json, lossless};
use serde::de::IgnoredAny;

use crate::scan::Scan;

/// The longest text that may wait to become something else than `{}` or `null`, in bytes.
const HELD: usize = 64;

/// Argument text as it grows.
#[derive(Debug, Default)]
pub struct Arguments {
    text: String,
    sent: usize,
    scan: Scan,
    state: State,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    /// More may come.
    #[default]
    Open,
    /// A JSON object: whatever comes now is the same once more.
    Complete,
    /// The brackets are closed but it is no JSON object.
    Broken,
}

impl Arguments {
    /// Adds a fragment: a piece, the whole so far and more, or the whole once more.
    pub fn push(&mut self, fragment: &str) {
        if self.state == State::Complete {
            if self.sent > 0 || !is_bare(&self.text) || !fragment.trim_start().starts_with('{') {
                return;
            }
            *self = Arguments::default();
        }
        let fragment = match fragment.strip_prefix(&*self.text) {
            Some(tail) if !tail.is_empty() => tail,
            Some(_) | None => fragment,
        };
        self.text.push_str(fragment);
        if self.state == State::Open
            && let Some(end) = self.scan.over(fragment.as_bytes())
        {
            let whole = fragment[end..].trim().is_empty() && is_object(&self.text);
            self.state = if whole { State::Complete } else { State::Broken };
        }
    }

    /// What can be streamed now. A bare `{}` and a `null` wait: the real arguments may follow.
    pub fn unsent(&mut self) -> &str {
        if !self.flows() {
            return "";
        }
        let from = std::mem::replace(&mut self.sent, self.text.len());
        &self.text[from..]
    }

    /// Whether a part can be streamed, or was.
    pub fn flows(&self) -> bool {
        self.sent > 0
            || self.text.len() > HELD
            || !(is_bare(&self.text) || "null".starts_with(self.text.trim()))
    }

    /// Whether nothing came yet.
    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Whether the arguments are a complete object.
    pub fn is_complete(&self) -> bool {
        self.state == State::Complete
    }

    /// Whether the arguments are complete and no placeholder for others.
    pub fn is_settled(&self) -> bool {
        self.is_complete() && (self.sent > 0 || !is_bare(&self.text))
    }

    /// Whether the arguments are a complete object, or closed brackets that hold none.
    pub fn is_closed(&self) -> bool {
        self.state != State::Open
    }

    /// Whether this text is a complete object, but another one than these arguments.
    pub fn differs(&self, other: &str) -> bool {
        object(other).is_some_and(|other| object(&self.text) != Some(other))
    }

    /// Whether this text is the object that these arguments are, however it is written.
    pub fn equals(&self, other: &str) -> bool {
        object(other).is_some_and(|other| object(&self.text) == Some(other))
    }

    /// The arguments of the finished call.
    pub fn input(self) -> Input {
        let text = match self.text.trim() {
            "" | "null" => "{}",
            _ => &self.text,
        };
        match Json::parse(&lossless(text.as_bytes())) {
            Ok(json) if json.text().starts_with('{') => Input::Object(json),
            Ok(_) | Err(_) => Input::Raw(self.text),
        }
    }
}

/// Whether this is an empty object, or may become one.
fn is_bare(text: &str) -> bool {
    let text = text.trim();
    text.is_empty() || text.strip_prefix('{').is_some_and(|rest| matches!(rest.trim_start(), "" | "}"))
}

fn object(text: &str) -> Option<serde_json::Map<String, serde_json::Value>> {
    serde_json::from_str(text).ok()
}

fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok()
}
