//! Calls that a model wrote into its text, for endpoints whose caps say so. What turns out to be no call,
//! or names no tool of the request, stays text unchanged.

mod fence;
mod harmony;
mod json;
mod markup;
#[cfg(test)]
mod tests;
mod tools;
mod units;

use nub_conf::TextToolCalls;
use nub_proto::Json;

use self::fence::Fence;
use self::harmony::Harmony;
use self::tools::Tools;
use self::units::Units;

/// A part of the text.
#[derive(Debug, PartialEq, Eq)]
pub enum Segment<'a> {
    /// Text.
    Text(&'a str),
    /// Thinking.
    Thinking(&'a str),
    /// A call of a known tool. `id` is empty when the model wrote none.
    Call {
        /// Id.
        id: &'a str,
        /// Tool.
        name: &'a str,
        /// Argument text.
        arguments: &'a str,
    },
}

/// Takes segments.
pub type Out<'a> = dyn FnMut(Segment<'_>) + 'a;

/// A call as it was written.
#[derive(Debug, PartialEq, Eq)]
struct Written {
    id: String,
    name: String,
    arguments: String,
}

impl Written {
    fn segment(&self) -> Segment<'_> {
        Segment::Call { id: &self.id, name: &self.name, arguments: &self.arguments }
    }
}

/// Looks for calls: first the channels of harmony, then an answer that is nothing but calls, then calls
/// between markers.
#[derive(Debug)]
pub struct Scanner {
    harmony: Option<Harmony>,
    fence: Option<Fence>,
    units: Option<Units>,
}

impl Scanner {
    /// A scanner for these forms; none when there is nothing to look for.
    pub fn new(forms: &[TextToolCalls], tools: &[String]) -> Option<Scanner> {
        if forms.is_empty() {
            return None;
        }
        let tools = Tools::new(tools);
        Some(Scanner {
            harmony: forms.contains(&TextToolCalls::Harmony).then(|| Harmony::new(tools.clone())),
            fence: forms.contains(&TextToolCalls::JsonFence).then(|| Fence::new(tools.clone())),
            units: Units::new(forms, tools),
        })
    }

    /// Tells the schema of a tool, for forms that do not tell a number from a string.
    pub fn schema(&mut self, tool: &str, schema: &Json) {
        if let Some(units) = &mut self.units {
            units.schema(tool, schema);
        }
    }

    /// Takes text.
    pub fn push(&mut self, text: &str, out: &mut Out<'_>) {
        let Scanner { harmony, fence, units } = self;
        match harmony {
            Some(harmony) => harmony.push(text, &mut |segment| behind_harmony(segment, fence, units, out)),
            None => behind_harmony(Segment::Text(text), fence, units, out),
        }
    }

    /// No more text comes, or something else comes first.
    pub fn end(&mut self, out: &mut Out<'_>) {
        let Scanner { harmony, fence, units } = self;
        if let Some(harmony) = harmony {
            harmony.end(&mut |segment| behind_harmony(segment, fence, units, out));
        }
        if let Some(fence) = fence {
            fence.end(&mut |segment| behind_fence(segment, units, out));
        }
        if let Some(units) = units {
            units.end(out);
        }
    }
}

fn behind_harmony(
    segment: Segment<'_>,
    fence: &mut Option<Fence>,
    units: &mut Option<Units>,
    out: &mut Out<'_>,
) {
    match (segment, fence) {
        (Segment::Text(text), Some(fence)) => {
            fence.push(text, &mut |segment| behind_fence(segment, units, out));
        }
        (segment, _) => behind_fence(segment, units, out),
    }
}

fn behind_fence(segment: Segment<'_>, units: &mut Option<Units>, out: &mut Out<'_>) {
    match (segment, units) {
        (Segment::Text(text), Some(units)) => units.push(text, out),
        (segment, _) => out(segment),
    }
}
