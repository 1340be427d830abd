//! Calls as JSON objects: `{"name": ..., "arguments": {...}}` and its relatives.

use std::collections::HashMap;

use nub_proto::lossless;
use serde_json::value::RawValue;

use super::Written;
use super::tools::Tools;

const NAME: &[&str] = &["name", "function", "tool", "tool_name", "function_name"];
const ARGUMENTS: &[&str] = &["arguments", "parameters", "args", "input", "tool_input", "kwargs"];
const BESIDE: &[&str] = &["type", "id", "index"];
/// A list of calls under one key.
const LIST: &str = "tool_calls";
/// A call inside a list inside an object, and nothing deeper.
const DEPTH: u8 = 3;

/// How sure the surroundings make that a call is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Markers say so: arguments may be missing, other keys are ignored.
    Marked,
    /// Only the shape says so: it must be exact.
    Bare,
}

/// The calls in a text of one or more JSON documents. `None` when something in it is no call of a tool.
pub fn calls(text: &str, tools: &Tools, form: Form) -> Option<Vec<Written>> {
    let mut found = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let mut documents = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
        let document = documents.next()?.ok()?;
        let end = documents.byte_offset();
        read(document.get(), tools, form, DEPTH, &mut found)?;
        rest = rest[end..].trim_start_matches(|c: char| c.is_whitespace() || c == ',' || c == ';');
    }
    (!found.is_empty()).then_some(found)
}

/// Whether a first key can be that of a call.
pub fn is_key(key: &str) -> bool {
    key == LIST || [NAME, ARGUMENTS, BESIDE].concat().contains(&key)
}

fn read(json: &str, tools: &Tools, form: Form, depth: u8, found: &mut Vec<Written>) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    if json.starts_with('[') {
        let list: Vec<&RawValue> = serde_json::from_str(json).ok()?;
        return list.into_iter().try_for_each(|one| read(one.get(), tools, form, depth, found));
    }
    let object: HashMap<String, &RawValue> = serde_json::from_str(json).ok()?;
    if let Some(list) = object.get(LIST) {
        return read(list.get(), tools, form, depth, found);
    }
    let get = |keys: &[&str]| keys.iter().find_map(|key| object.get(*key).copied());
    if let Some(function) = object.get("function").filter(|value| value.get().starts_with('{')) {
        return read(function.get(), tools, form, depth, found);
    }
    let name: String = serde_json::from_str(get(NAME)?.get()).ok()?;
    let input = get(ARGUMENTS);
    if form == Form::Bare && (input.is_none() || !object.keys().all(|key| is_key(key))) {
        return None;
    }
    // some write the object into a string
    let arguments = match input.map_or("", RawValue::get) {
        text if text.starts_with('"') => serde_json::from_str(&lossless(text.as_bytes())).ok()?,
        json => json.to_owned(),
    };
    found.push(Written { id: String::new(), name: tools.known(&name)?, arguments });
    Some(())
}
