//! Calls in the markup that model families were trained on, once a whole unit is there.

use super::Written;
use super::json::{self, Form};
use super::tools::Tools;

/// Reads the calls of a unit. `None` when something in it is no call of a known tool.
pub type Parse = fn(&str, &Tools) -> Option<Vec<Written>>;

/// What stands between two markers, and the rest behind the second one.
fn between<'a>(text: &'a str, from: &str, to: &str) -> Option<(&'a str, &'a str)> {
    let inner = &text[text.find(from)? + from.len()..];
    let end = inner.find(to)?;
    Some((&inner[..end], &inner[end + to.len()..]))
}

/// The text up to the first of some markers, or all of it.
fn up_to<'a>(text: &'a str, ends: &[&str]) -> &'a str {
    let end = ends.iter().filter_map(|end| text.find(end)).min().unwrap_or(text.len());
    &text[..end]
}

fn some(calls: Vec<Written>) -> Option<Vec<Written>> {
    (!calls.is_empty()).then_some(calls)
}

/// Arguments as one object, in order.
fn object(pairs: &[(String, String)]) -> Option<String> {
    let entry =
        |(key, value): &(String, String)| Some(format!("{}:{value}", serde_json::to_string(key).ok()?));
    let entries: Option<Vec<String>> = pairs.iter().map(entry).collect();
    Some(format!("{{{}}}", entries?.join(",")))
}

/// `<|tool_call_begin|>functions.NAME:0<|tool_call_argument_begin|>{...}<|tool_call_end|>`, repeated.
pub fn kimi(unit: &str, tools: &Tools) -> Option<Vec<Written>> {
    let mut calls = Vec::new();
    let mut rest = unit;
    while let Some((id, behind)) = between(rest, "<|tool_call_begin|>", "<|tool_call_argument_begin|>") {
        let arguments = up_to(behind, &["<|tool_call_end|>", "<|tool_calls_section_end|>"]);
        let id = id.trim();
        let name = tools.known(id.rsplit_once(':').map_or(id, |(name, _)| name))?;
        calls.push(Written { id: id.to_owned(), name, arguments: arguments.trim().to_owned() });
        rest = &behind[arguments.len()..];
    }
    some(calls)
}

/// Behind `[TOOL_CALLS]`: a list, an object, or `NAME[ARGS]{...}` with an optional `[CALL_ID]ID`.
pub fn mistral(text: &str, tools: &Tools) -> Option<Vec<Written>> {
    let text = text.trim();
    let text = text.strip_suffix("[/TOOL_CALLS]").unwrap_or(text).trim_end();
    if text.starts_with('{') || text.starts_with('[') {
        return json::calls(text, tools, Form::Marked);
    }
    let (head, arguments) = text.split_at(text.find('{')?);
    let name = tools.known(up_to(head, &["[CALL_ID]", "[ARGS]"]))?;
    some(vec![Written { id: String::new(), name, arguments: arguments.to_owned() }])
}

/// `<function=NAME><parameter=KEY>VALUE</parameter></function>`, repeated. Only the schema tells which values
/// are no strings.
pub fn qwen(unit: &str, tools: &Tools) -> Option<Vec<Written>> {
    let mut calls = Vec::new();
    for element in unit.split("<function=").skip(1) {
        let (name, body) = element.split_once('>')?;
        let name = tools.known(name)?;
        let mut pairs: Vec<(String, String)> = Vec::new();
        for parameter in body.split("<parameter=").skip(1) {
            let (key, value) = parameter.split_once('>')?;
            let end =
                value.rfind("</parameter>").or_else(|| value.rfind("</function>")).unwrap_or(value.len());
            let key = key.trim().trim_matches('"');
            pairs.push((key.to_owned(), tools.value(&name, key, unframed(&value[..end]))?));
        }
        calls.push(Written { id: String::new(), name, arguments: object(&pairs)? });
    }
    some(calls)
}

/// Without the one newline behind the opening tag and the one before the closing tag.
fn unframed(value: &str) -> &str {
    let value = value.strip_prefix("\r\n").or_else(|| value.strip_prefix('\n')).unwrap_or(value);
    value.strip_suffix("\r\n").or_else(|| value.strip_suffix('\n')).unwrap_or(value)
}

/// `<｜DSML｜invoke name="NAME"><｜DSML｜parameter name="KEY" string="true">VALUE</｜DSML｜parameter>...`.
pub fn dsml(unit: &str, tools: &Tools) -> Option<Vec<Written>> {
    let mut calls = Vec::new();
    for element in unit.split("<｜DSML｜invoke").skip(1) {
        let (tag, body) = element.split_once('>')?;
        let mut pairs = Vec::new();
        for parameter in body.split("<｜DSML｜parameter").skip(1) {
            let (tag, value) = parameter.split_once('>')?;
            let value = &value[..value.rfind("</｜DSML｜parameter>").unwrap_or(value.len())];
            let json = attribute(tag, "string") == Some("false")
                && serde_json::from_str::<serde::de::IgnoredAny>(value).is_ok();
            let value = if json { value.trim().to_owned() } else { serde_json::to_string(value).ok()? };
            pairs.push((attribute(tag, "name")?.to_owned(), value));
        }
        calls.push(Written {
            id: String::new(),
            name: tools.known(attribute(tag, "name")?)?,
            arguments: object(&pairs)?,
        });
    }
    some(calls)
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    between(tag, &format!("{name}=\""), "\"").map(|(value, _)| value)
}

/// `<｜tool▁call▁begin｜>NAME<｜tool▁sep｜>{...}<｜tool▁call▁end｜>`, or with the word `function` before the
/// separator and the arguments in a fence.
pub fn deepseek(unit: &str, tools: &Tools) -> Option<Vec<Written>> {
    let mut calls = Vec::new();
    let mut rest = unit;
    while let Some((first, behind)) = between(rest, "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>") {
        let second = up_to(behind, &["<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>"]);
        rest = &behind[second.len()..];
        let (name, arguments) = match first.trim() {
            "function" => second.split_once('\n').unwrap_or((second, "")),
            name => (name, second),
        };
        let arguments = arguments.trim();
        let arguments =
            arguments.strip_prefix("```json").and_then(|a| a.strip_suffix("```")).unwrap_or(arguments);
        let name = tools.known(name)?;
        calls.push(Written { id: String::new(), name, arguments: arguments.trim().to_owned() });
    }
    some(calls)
}
