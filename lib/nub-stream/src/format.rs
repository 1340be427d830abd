//! Answers of a given form from a server that cannot be made to keep to it: an instruction, a check, and
//! one more round in which the model sees what was wrong.

use nub_proto::{
    Block, BlockDelta, BlockStart, BlockStop, Format, Input, Json, Kind, Message, Request, Role,
};
use serde_json::Value;

use crate::answer::Event;

/// Deeper values are not looked into.
const DEEPEST: usize = 64;

/// The same request with the instruction at the end of its system prompt.
#[must_use]
pub fn instructed(request: &Request, format: &Format) -> Request {
    let mut request = request.clone();
    request.format = None;
    request.system.push(Block::text(format!(
        "Answer with one JSON value that matches this JSON Schema, and nothing else:\n{}",
        format.schema.text()
    )));
    request
}

/// The request of the second round.
#[must_use]
pub fn corrected(mut request: Request, answer: Message, fault: &str) -> Request {
    let answer = if answer.content.is_empty() {
        Message { role: Role::Assistant, content: vec![Block::text("(nothing)")] }
    } else {
        answer
    };
    request.messages.push(answer);
    request.messages.push(Message::user(format!(
        "That does not match the schema: {fault}. Answer again, with the JSON value alone."
    )));
    request
}

/// The JSON text in an answer, when it matches the schema.
///
/// # Errors
/// What is wrong with it.
pub fn check(message: &Message, format: &Format) -> Result<String, String> {
    let texts = message.content.iter().filter_map(|block| match &block.kind {
        Kind::Text { text } => Some(text.as_str()),
        _ => None,
    });
    let text = texts.collect::<Vec<_>>().join("");
    let (json, value) = extract(&text).ok_or("it holds no JSON value")?;
    let schema: Value = format.schema.read().map_err(|e| format!("the schema is no JSON: {e}"))?;
    validate(&schema, &schema, &value, "$", 0)?;
    Ok(json.to_owned())
}

/// The value itself, in a fence, or between words.
fn extract(text: &str) -> Option<(&str, Value)> {
    let read = |text: &'_ str| serde_json::from_str::<Value>(text).ok();
    let whole = text.trim();
    if let Some(value) = read(whole) {
        return Some((whole, value));
    }
    let fenced = || {
        let (_, rest) = whole.split_once("```")?;
        let (_, rest) = rest.split_once('\n')?;
        Some(rest.split_once("```")?.0.trim())
    };
    let between = |open, close| whole.get(whole.find(open)?..=whole.rfind(close)?);
    [fenced(), between('{', '}'), between('[', ']')]
        .into_iter()
        .flatten()
        .find_map(|part| read(part).map(|value| (part, value)))
}

/// Checks a value. Of JSON Schema this knows what small schemas use; what it does not know it lets pass.
fn validate(root: &Value, schema: &Value, value: &Value, at: &str, depth: usize) -> Result<(), String> {
    let Value::Object(rules) = schema else {
        return if *schema == Value::Bool(false) { Err(format!("{at} is not allowed")) } else { Ok(()) };
    };
    if depth > DEEPEST {
        return Ok(());
    }
    if let Some(name) = rules.get("$ref").and_then(Value::as_str) {
        let target = name.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return target.map_or(Ok(()), |target| validate(root, target, value, at, depth + 1));
    }
    kind(rules.get("type"), value, at)?;
    if let Some(allowed) = rules.get("enum").and_then(Value::as_array)
        && !allowed.contains(value)
    {
        return Err(format!("{at} must be one of {}", Value::Array(allowed.clone())));
    }
    if rules.get("const").is_some_and(|only| only != value) {
        return Err(format!("{at} must be {}", rules["const"]));
    }
    bounds(rules, value, at)?;
    choices(root, rules, value, at, depth)?;
    match value {
        Value::Object(fields) => object(root, rules, fields, at, depth),
        Value::Array(items) => {
            let Some(rule) = rules.get("items") else { return Ok(()) };
            items.iter().enumerate().try_for_each(|(index, item)| {
                validate(root, rule, item, &format!("{at}[{index}]"), depth + 1)
            })
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

fn kind(rule: Option<&Value>, value: &Value, at: &str) -> Result<(), String> {
    let is = |word: &str| match word {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => true,
    };
    let words: Vec<&str> = match rule {
        Some(Value::String(word)) => vec![word],
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).collect(),
        _ => return Ok(()),
    };
    if words.iter().any(|word| is(word)) {
        Ok(())
    } else {
        Err(format!("{at} must be {}", words.join(" or ")))
    }
}

fn bounds(rules: &serde_json::Map<String, Value>, value: &Value, at: &str) -> Result<(), String> {
    let size = match value {
        Value::Number(number) => number.as_f64().map(|number| (number, "minimum", "maximum")),
        Value::String(text) => Some((text.chars().count() as f64, "minLength", "maxLength")),
        Value::Array(items) => Some((items.len() as f64, "minItems", "maxItems")),
        Value::Null | Value::Bool(_) | Value::Object(_) => None,
    };
    let Some((size, least, most)) = size else { return Ok(()) };
    let bound = |key: &str| rules.get(key).and_then(Value::as_f64);
    if bound(least).is_some_and(|bound| size < bound) {
        return Err(format!("{at} is below its {least} {}", rules[least]));
    }
    if bound(most).is_some_and(|bound| size > bound) {
        return Err(format!("{at} is above its {most} {}", rules[most]));
    }
    Ok(())
}

fn choices(
    root: &Value,
    rules: &serde_json::Map<String, Value>,
    value: &Value,
    at: &str,
    depth: usize,
) -> Result<(), String> {
    let branches = |key: &str| rules.get(key).and_then(Value::as_array);
    for branch in branches("allOf").into_iter().flatten() {
        validate(root, branch, value, at, depth + 1)?;
    }
    for key in ["anyOf", "oneOf"] {
        let Some(any) = branches(key) else { continue };
        let mut faults = any.iter().map(|branch| validate(root, branch, value, at, depth + 1));
        if !faults.any(|fault| fault.is_ok()) {
            return Err(format!("{at} matches no branch of {key}"));
        }
    }
    Ok(())
}

fn object(
    root: &Value,
    rules: &serde_json::Map<String, Value>,
    fields: &serde_json::Map<String, Value>,
    at: &str,
    depth: usize,
) -> Result<(), String> {
    let required = rules.get("required").and_then(Value::as_array);
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        if !fields.contains_key(name) {
            return Err(format!("{at} lacks '{name}'"));
        }
    }
    let known = rules.get("properties").and_then(Value::as_object);
    for (name, field) in fields {
        match known.and_then(|known| known.get(name)) {
            Some(rule) => validate(root, rule, field, &format!("{at}.{name}"), depth + 1)?,
            None => match rules.get("additionalProperties") {
                Some(Value::Bool(false)) => return Err(format!("{at} must not have '{name}'")),
                Some(rule) => validate(root, rule, field, &format!("{at}.{name}"), depth + 1)?,
                None => {}
            },
        }
    }
    Ok(())
}

/// The events of an answer that was checked before it is shown.
#[must_use]
pub fn events(message: &Message) -> Vec<Event<'_>> {
    let mut events = Vec::new();
    for (index, block) in message.content.iter().enumerate() {
        let mut delta = BlockDelta { index, text: None, partial_json: None };
        let mut empty = block.clone();
        empty.raw = None;
        match (&mut empty.kind, &block.kind) {
            (
                Kind::Text { text: hidden } | Kind::Thinking { text: hidden },
                Kind::Text { text } | Kind::Thinking { text },
            ) => {
                hidden.clear();
                delta.text = Some(text.into());
            }
            (Kind::ToolUse { input: hidden, .. }, Kind::ToolUse { input, .. }) => {
                delta.partial_json = Some(match input {
                    Input::Object(json) => json.text().into(),
                    Input::Raw(text) => text.into(),
                });
                if let Ok(nothing) = Json::parse("{}") {
                    *hidden = Input::Object(nothing);
                }
            }
            _ => {}
        }
        events.push(Event::Start(BlockStart { index, block: empty }));
        events.push(Event::Delta(delta));
        events.push(Event::Stop(BlockStop { index, raw: block.raw.clone() }));
    }
    events
}
