//! Calls between markers: text before a marker flows, a unit from marker to marker is held and then is a call
//! or text.

use nub_conf::TextToolCalls;
use nub_proto::Json;

use super::json::{self, Form};
use super::tools::Tools;
use super::{Out, Segment, Written, markup};
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
    tools: Tools,
    /// Text that is not handed on: the beginning of a marker, or the unit so far.
    held: String,
    unit: Option<Unit>,
}

/// A unit that is not complete. Offsets count from its marker.
#[derive(Debug)]
struct Unit {
    opener: Opener,
    /// How far it was read.
    at: usize,
    /// How far it was searched for the end of a function element.
    searched: usize,
    scan: Option<Scan>,
    /// Something complete lies before `at`.
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
    pub fn new(forms: &[TextToolCalls], tools: Tools) -> Option<Units> {
        let openers: Vec<Opener> = OPENERS.iter().filter(|o| forms.contains(&o.form)).copied().collect();
        (!openers.is_empty()).then(|| Units {
            openers,
            forms: forms.to_vec(),
            tools,
            held: String::new(),
            unit: None,
        })
    }

    /// Tells the schema of a tool.
    pub fn schema(&mut self, tool: &str, schema: &Json) {
        self.tools.schema(tool, schema);
    }

    /// Takes text.
    pub fn push(&mut self, text: &str, out: &mut Out<'_>) {
        let mut held = std::mem::take(&mut self.held);
        held.push_str(text);
        let mut from = 0;
        loop {
            let rest = &held[from..];
            let step = match self.unit.take() {
                None => self.look(rest, out),
                Some(unit) => self.inside(unit, rest, out),
            };
            match step {
                Some(step) => from += step,
                None => break,
            }
        }
        if self.unit.is_none() {
            from = held.len() - self.kept(&held[from..]);
        }
        held.drain(..from);
        self.held = held;
    }

    /// No more text comes, or something else comes first.
    pub fn end(&mut self, out: &mut Out<'_>) {
        let held = std::mem::take(&mut self.held);
        // the closing marker is often a stop word, and is missing then
        match self.unit.take().and_then(|unit| self.parse(&unit, &held)) {
            Some(calls) => calls.iter().for_each(|call| out(call.segment())),
            None => say(&held, out),
        }
    }

    /// How much of the end may become a marker.
    fn kept(&self, text: &str) -> usize {
        longest(text, self.openers.iter().map(|opener| opener.text))
    }

    /// Hands text on up to a marker.
    fn look(&mut self, text: &str, out: &mut Out<'_>) -> Option<usize> {
        let starts = memchr::memchr2_iter(b'<', b'[', text.as_bytes());
        let found = starts.map(|at| (at, self.openers.iter().find(|o| text[at..].starts_with(o.text))));
        let Some((at, opener)) = found.into_iter().find_map(|(at, opener)| Some((at, *opener?))) else {
            say(&text[..text.len() - self.kept(text)], out);
            return None;
        };
        say(&text[..at], out);
        self.unit = Some(Unit { opener, at: opener.start(), searched: 0, scan: None, filled: false });
        Some(at)
    }

    fn inside(&mut self, mut unit: Unit, text: &str, out: &mut Out<'_>) -> Option<usize> {
        let verdict = match unit.opener.shape {
            Shape::Tag(close) => self.tag(&mut unit, text, close),
            Shape::Mistral => unit.mistral(text),
            Shape::Until(close, _) => unit.until(text, close),
        };
        match verdict {
            Verdict::More => {
                self.unit = Some(unit);
                None
            }
            Verdict::Ends(end) => {
                match self.parse(&unit, &text[..end]) {
                    Some(calls) => calls.iter().for_each(|call| out(call.segment())),
                    None => say(&text[..end], out),
                }
                Some(end)
            }
            Verdict::Text => {
                say(unit.opener.text, out);
                Some(unit.opener.text.len())
            }
        }
    }

    fn parse(&self, unit: &Unit, text: &str) -> Option<Vec<Written>> {
        match unit.opener.shape {
            Shape::Until(_, parse) => parse(text, &self.tools),
            Shape::Mistral => markup::mistral(text.strip_prefix(unit.opener.text)?, &self.tools),
            Shape::Tag("") => markup::qwen(text, &self.tools),
            Shape::Tag(close) => {
                let inner = text.strip_prefix(unit.opener.text)?.trim();
                let inner = inner.strip_suffix(close).unwrap_or(inner);
                if inner.starts_with(FUNCTION) {
                    return markup::qwen(inner, &self.tools);
                }
                json::calls(inner, &self.tools, Form::Marked)
            }
        }
    }

    /// JSON documents or function elements up to a closing marker.
    fn tag(&self, unit: &mut Unit, text: &str, close: &str) -> Verdict {
        let close = if close.is_empty() { "</tool_call>" } else { close };
        let json = unit.opener.text != FUNCTION && self.forms.contains(&TextToolCalls::Hermes);
        let function = self.forms.contains(&TextToolCalls::QwenXml);
        loop {
            if let Some(verdict) = unit.json(text) {
                return verdict;
            }
            let rest = unit.skip(text, &[',', ';']);
            let functions = if function { head(rest, FUNCTION) } else { Head::Other };
            let closes = if unit.filled { head(rest, close) } else { Head::Other };
            match (rest.as_bytes().first(), functions, closes) {
                (None, ..) => return Verdict::More,
                (Some(b'{' | b'['), ..) if json => unit.scan = Some(Scan::default()),
                (_, Head::Found, _) => match unit.function_end(text) {
                    Some(end) => {
                        unit.at = end;
                        unit.filled = true;
                    }
                    None => return Verdict::More,
                },
                (_, _, Head::Found) => return Verdict::Ends(unit.at + close.len()),
                (_, Head::Maybe, _) | (_, _, Head::Maybe) => return Verdict::More,
                _ if unit.filled => return Verdict::Ends(unit.at),
                _ => return Verdict::Text,
            }
        }
    }
}

fn say(text: &str, out: &mut Out<'_>) {
    if !text.is_empty() {
        out(Segment::Text(text));
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
    fn json(&mut self, text: &str) -> Option<Verdict> {
        let scan = self.scan.as_mut()?;
        let Some(end) = scan.over(&text.as_bytes()[self.at..]) else {
            self.at = text.len();
            return Some(Verdict::More);
        };
        self.at += end;
        self.scan = None;
        self.filled = true;
        None
    }

    fn skip<'a>(&mut self, text: &'a str, more: &[char]) -> &'a str {
        let rest = text[self.at..].trim_start_matches(|c: char| c.is_whitespace() || more.contains(&c));
        self.at = text.len() - rest.len();
        rest
    }

    fn until(&mut self, text: &str, close: &str) -> Verdict {
        let from = text.floor_char_boundary(self.at.saturating_sub(close.len()));
        self.at = text.len();
        text[from..].find(close).map_or(Verdict::More, |at| Verdict::Ends(from + at + close.len()))
    }

    /// Where the function element at `at` ends: at a closing tag behind its head or behind a parameter, not
    /// at one inside a value.
    fn function_end(&mut self, text: &str) -> Option<usize> {
        let from = text.floor_char_boundary(self.searched.saturating_sub(FUNCTION_END.len())).max(self.at);
        let ends = text[from..].match_indices(FUNCTION_END).map(|(at, _)| from + at);
        self.searched = text.len();
        ends.into_iter().find_map(|at| {
            let before = text[self.at..at].trim_end();
            let closes =
                before.ends_with("</parameter>") || (before.ends_with('>') && !before.contains("<parameter"));
            closes.then_some(at + FUNCTION_END.len())
        })
    }

    /// `[TOOL_CALLS]` and JSON, or a name, perhaps an id, and JSON.
    fn mistral(&mut self, text: &str) -> Verdict {
        const CLOSE: &str = "[/TOOL_CALLS]";
        if !self.filled && self.scan.is_none() {
            let rest = self.skip(text, &[]);
            let json = match rest.as_bytes().first() {
                Some(b'[') if !rest.starts_with("[ARGS") => Some(0),
                _ => rest.find('{'),
            };
            match json {
                Some(at) if at <= NAME => {
                    self.at += at;
                    self.scan = Some(Scan::default());
                }
                None if rest.len() <= NAME && !rest.contains('\n') => return Verdict::More,
                Some(_) | None => return Verdict::Text,
            }
        }
        if let Some(verdict) = self.json(text) {
            return verdict;
        }
        match head(self.skip(text, &[]), CLOSE) {
            Head::Found => Verdict::Ends(self.at + CLOSE.len()),
            Head::Maybe => Verdict::More,
            Head::Other => Verdict::Ends(self.at),
        }
    }
}
