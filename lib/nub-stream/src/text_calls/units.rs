//! Calls between markers: text before a marker flows, a unit from marker to marker is held and then is a call
//! or text.

use nub_conf::TextToolCalls;

use super::json::{self, Form};
use super::{Names, Out, Segment, Written, markup};
use crate::hold::{Head, head, longest};
use crate::scan::Scan;

/// A marker that may open a unit.
#[derive(Debug, Clone, Copy)]
struct Opener {
    text: &'static str,
    form: TextToolCalls,
    shape: Shape,
}

#[derive(Debug, Clone, Copy)]
enum Shape {
    /// JSON documents, or `<function=...>` elements, up to this marker.
    Tag(&'static str),
    /// JSON, or a name and JSON.
    Mistral,
    /// Anything up to this marker.
    Until(&'static str, markup::Parse),
}

const fn opener(form: TextToolCalls, text: &'static str, shape: Shape) -> Opener {
    Opener { text, form, shape }
}

const OPENERS: &[Opener] = &[
    opener(TextToolCalls::Hermes, "<tool_call>", Shape::Tag("</tool_call>")),
    opener(TextToolCalls::Hermes, "<function_call>", Shape::Tag("</function_call>")),
    opener(TextToolCalls::Hermes, "<tool_calls>", Shape::Tag("</tool_calls>")),
    opener(TextToolCalls::QwenXml, "<tool_call>", Shape::Tag("</tool_call>")),
    opener(TextToolCalls::QwenXml, "<function=", Shape::Tag("")),
    opener(TextToolCalls::Mistral, "[TOOL_CALLS]", Shape::Mistral),
    opener(
        TextToolCalls::Kimi,
        "<|tool_calls_section_begin|>",
        Shape::Until("<|tool_calls_section_end|>", markup::kimi),
    ),
    opener(
        TextToolCalls::Kimi,
        "<|tool_call_section_begin|>",
        Shape::Until("<|tool_call_section_end|>", markup::kimi),
    ),
    opener(TextToolCalls::Kimi, "<|tool_call_begin|>", Shape::Until("<|tool_call_end|>", markup::kimi)),
    opener(
        TextToolCalls::Dsml,
        "<｜DSML｜function_calls>",
        Shape::Until("</｜DSML｜function_calls>", markup::dsml),
    ),
    opener(TextToolCalls::Dsml, "<｜DSML｜tool_calls>", Shape::Until("</｜DSML｜tool_calls>", markup::dsml)),
    opener(TextToolCalls::Dsml, "<｜DSML｜invoke", Shape::Until("</｜DSML｜invoke>", markup::dsml)),
    opener(
        TextToolCalls::Dsml,
        "<｜tool▁calls▁begin｜>",
        Shape::Until("<｜tool▁calls▁end｜>", markup::deepseek),
    ),
    opener(
        TextToolCalls::Dsml,
        "<｜tool▁call▁begin｜>",
        Shape::Until("<｜tool▁call▁end｜>", markup::deepseek),
    ),
];

const FUNCTION: &str = "<function=";
const FUNCTION_END: &str = "</function>";
/// The longest name of a tool that is waited for.
const NAME: usize = 128;

/// Finds units.
#[derive(Debug)]
pub struct Units {
    openers: Vec<Opener>,
    forms: Vec<TextToolCalls>,
    names: Names,
    /// Text that is not handed on: the beginning of a marker, or the unit so far.
    held: String,
    unit: Option<Unit>,
}

/// A unit that is not complete.
#[derive(Debug)]
struct Unit {
    opener: Opener,
    /// How far it was looked at.
    at: usize,
    scan: Option<Scan>,
    /// Something complete lies behind `at`.
    filled: bool,
}

/// What a look at a unit told.
enum Verdict {
    /// More text is needed.
    More,
    /// It ends here.
    Ends(usize),
    /// It is none.
    Text,
}

impl Units {
    /// For the forms that are units; `None` when there is none among them.
    pub fn new(forms: &[TextToolCalls], names: Names) -> Option<Units> {
        let openers: Vec<Opener> = OPENERS.iter().filter(|o| forms.contains(&o.form)).copied().collect();
        (!openers.is_empty()).then(|| Units {
            openers,
            forms: forms.to_vec(),
            names,
            held: String::new(),
            unit: None,
        })
    }

    /// Takes text.
    pub fn push(&mut self, text: &str, out: &mut Out<'_>) {
        self.held.push_str(text);
        loop {
            let again = match self.unit.take() {
                None => self.look(out),
                Some(unit) => self.inside(unit, out),
            };
            if !again {
                return;
            }
        }
    }

    /// No more text comes, or something else comes first.
    pub fn end(&mut self, out: &mut Out<'_>) {
        while let Some(unit) = self.unit.take() {
            // the closing marker is often a stop word, and is missing then
            if let Some(calls) = self.parse(&unit, &self.held) {
                self.held.clear();
                calls.iter().for_each(|call| out(call.segment()));
            } else {
                self.emit(unit.opener.text.len(), out);
                while self.unit.is_none() && self.look(out) {}
            }
        }
        self.emit(self.held.len(), out);
    }

    fn emit(&mut self, length: usize, out: &mut Out<'_>) {
        if length > 0 {
            out(Segment::Text(&self.held[..length]));
            self.held.drain(..length);
        }
    }

    /// Looks for a marker; text before it goes on.
    fn look(&mut self, out: &mut Out<'_>) -> bool {
        let found = self.openers.iter().filter_map(|o| self.held.find(o.text).map(|at| (at, o)));
        if let Some((at, opener)) = found.min_by_key(|(at, opener)| (*at, usize::MAX - opener.text.len())) {
            let opener = *opener;
            self.unit = Some(Unit { opener, at: opener.start(), scan: None, filled: false });
            self.emit(at, out);
            return true;
        }
        let keep = longest(&self.held, self.openers.iter().map(|opener| opener.text));
        self.emit(self.held.len() - keep, out);
        false
    }

    fn inside(&mut self, mut unit: Unit, out: &mut Out<'_>) -> bool {
        let verdict = match unit.opener.shape {
            Shape::Tag(close) => self.tag(&mut unit, close),
            Shape::Mistral => mistral(&mut unit, &self.held),
            Shape::Until(close, _) => unit.until(&self.held, close),
        };
        match verdict {
            Verdict::More => {
                self.unit = Some(unit);
                return false;
            }
            Verdict::Ends(end) => match self.parse(&unit, &self.held[..end]) {
                Some(calls) => {
                    self.held.drain(..end);
                    calls.iter().for_each(|call| out(call.segment()));
                }
                None => self.emit(end, out),
            },
            Verdict::Text => self.emit(unit.opener.text.len(), out),
        }
        true
    }

    fn parse(&self, unit: &Unit, text: &str) -> Option<Vec<Written>> {
        match unit.opener.shape {
            Shape::Until(_, parse) => parse(text, &self.names),
            Shape::Mistral => markup::mistral(text.strip_prefix(unit.opener.text)?, &self.names),
            Shape::Tag(close) => {
                let inner = if close.is_empty() { text } else { text.strip_prefix(unit.opener.text)? };
                let inner = inner.trim();
                let inner = if close.is_empty() { inner } else { inner.strip_suffix(close).unwrap_or(inner) };
                if inner.starts_with(FUNCTION) {
                    return markup::qwen(inner, &self.names);
                }
                json::calls(inner, &self.names, Form::Marked)
            }
        }
    }

    /// JSON documents or function elements up to a closing marker.
    fn tag(&self, unit: &mut Unit, close: &str) -> Verdict {
        loop {
            if let Some(verdict) = unit.json(&self.held) {
                return verdict;
            }
            let rest = unit.skip(&self.held, &[',', ';']);
            let json = self.forms.contains(&TextToolCalls::Hermes);
            let function = self.forms.contains(&TextToolCalls::QwenXml);
            match rest.as_bytes().first() {
                None => return Verdict::More,
                Some(b'{' | b'[') if json && !close.is_empty() => unit.scan = Some(Scan::default()),
                _ if function && head(rest, FUNCTION) == Head::Found => match function_end(rest) {
                    Some(end) => {
                        unit.at += end;
                        unit.filled = true;
                    }
                    None => return Verdict::More,
                },
                _ if unit.filled && !close.is_empty() && head(rest, close) == Head::Found => {
                    return Verdict::Ends(unit.at + close.len());
                }
                _ if function && head(rest, FUNCTION) == Head::Maybe => return Verdict::More,
                _ if unit.filled && !close.is_empty() && head(rest, close) == Head::Maybe => {
                    return Verdict::More;
                }
                _ if unit.filled && unit.wrapped(rest) => return Verdict::More,
                _ if unit.filled => return Verdict::Ends(unit.at),
                _ => return Verdict::Text,
            }
        }
    }
}

impl Opener {
    /// Where the inside begins.
    fn start(&self) -> usize {
        if self.text == FUNCTION { 0 } else { self.text.len() }
    }
}

impl Unit {
    /// Goes on over a JSON document. `None` when none is open any more.
    fn json(&mut self, held: &str) -> Option<Verdict> {
        let scan = self.scan.as_mut()?;
        let Some(end) = scan.over(&held.as_bytes()[self.at..]) else {
            self.at = held.len();
            return Some(Verdict::More);
        };
        self.at += end;
        self.scan = None;
        self.filled = true;
        None
    }

    fn skip<'a>(&mut self, held: &'a str, more: &[char]) -> &'a str {
        let rest = held[self.at..].trim_start_matches(|c: char| c.is_whitespace() || more.contains(&c));
        self.at = held.len() - rest.len();
        rest
    }

    /// Whether what follows may be the end of a wrapper that a bare function stands in.
    fn wrapped(&self, rest: &str) -> bool {
        self.opener.text == FUNCTION && head(rest, "</tool_call>") == Head::Maybe
    }

    fn until(&mut self, held: &str, close: &str) -> Verdict {
        let mut from = self.at.saturating_sub(close.len()).max(self.opener.text.len());
        while !held.is_char_boundary(from) {
            from -= 1;
        }
        self.at = held.len();
        held[from..].find(close).map_or(Verdict::More, |at| Verdict::Ends(from + at + close.len()))
    }
}

/// Where a function element ends: at a closing tag behind its head or behind a parameter, not at one inside a
/// value.
fn function_end(text: &str) -> Option<usize> {
    text.match_indices(FUNCTION_END).map(|(at, tag)| (at, at + tag.len())).find_map(|(at, end)| {
        let before = text[..at].trim_end();
        let closes =
            before.ends_with("</parameter>") || (before.ends_with('>') && !before.contains("<parameter"));
        closes.then_some(end)
    })
}

/// `[TOOL_CALLS]` and JSON, or a name, perhaps an id, and JSON.
fn mistral(unit: &mut Unit, held: &str) -> Verdict {
    const CLOSE: &str = "[/TOOL_CALLS]";
    if let Some(verdict) = unit.json(held) {
        return verdict;
    }
    if unit.filled {
        let rest = held[unit.at..].trim_start();
        return match head(rest, CLOSE) {
            Head::Found => Verdict::Ends(held.len() - rest.len() + CLOSE.len()),
            Head::Maybe => Verdict::More,
            Head::Other => Verdict::Ends(unit.at),
        };
    }
    let start = unit.opener.text.len();
    let rest = held[start..].trim_start();
    let json = match rest.as_bytes().first() {
        Some(b'[') if !rest.starts_with("[ARGS") => Some(0),
        _ => rest.find('{'),
    };
    match json {
        Some(at) if at <= NAME => {
            unit.at = held.len() - rest.len() + at;
            unit.scan = Some(Scan::default());
            mistral(unit, held)
        }
        None if rest.len() <= NAME && !rest.contains('\n') => Verdict::More,
        Some(_) | None => Verdict::Text,
    }
}
