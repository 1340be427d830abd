//! Arguments as models write them, checked against the schema of the tool and read into its type.
//! Tolerated without a word: numbers and booleans as strings, an absent optional as null, a path given
//! as `file_path`. Everything else that is wrong gets a text that names the argument, what came and
//! what is expected.

use nub_proto::Json;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::definition::Definition;

/// How many characters of a wrong value an error shows.
const SHOWN: usize = 60;

/// Reads arguments into the type of a tool.
///
/// # Errors
/// A text for the model: which argument, what came, what is expected.
pub(crate) fn read<T: DeserializeOwned>(def: &Definition, arguments: &Json) -> Result<T, String> {
    let schema: Value = serde_json::from_str(def.schema).map_err(|e| format!("{}: {e}", def.name))?;
    let value = serde_json::from_str(arguments.text())
        .map_err(|e| format!("{}: the arguments cannot be read: {e}", def.name))?;
    let Value::Object(given) = value else {
        return Err(format!("{}: expected an object of arguments, got {}", def.name, shown(&value)));
    };
    let checked = object("", &schema, given).map_err(|e| format!("{}: {e}", def.name))?;
    serde_json::from_value(Value::Object(checked)).map_err(|e| format!("{}: {e}", def.name))
}

/// Checks an object: `at` is the name of the argument it stands in, empty for the arguments as a whole.
fn object(at: &str, schema: &Value, mut given: Map<String, Value>) -> Result<Map<String, Value>, String> {
    let none = Map::new();
    let known = schema["properties"].as_object().unwrap_or(&none);
    rename_path(known, &mut given);
    let mut checked = Map::new();
    let mut missing = None;
    for (name, expected) in known {
        match given.remove(name) {
            Some(value) if !value.is_null() => {
                let value = check(&inside(at, name), expected, value)?;
                checked.insert(name.clone(), value);
            }
            _ if is_required(schema, name) => missing = missing.or(Some((name, expected))),
            _ => {}
        }
    }
    given.retain(|_, value| !value.is_null());
    let unknown = given.iter().next().map(|(name, value)| {
        let takes: Vec<&str> = known.keys().map(String::as_str).collect();
        format!(
            "there is no argument '{}' (got {}); expected {}",
            inside(at, &cut(name)),
            shown(value),
            takes.join(", ")
        )
    });
    match (missing, unknown) {
        (Some((name, expected)), unknown) => Err(format!(
            "argument '{}' is missing, expected {}{}",
            inside(at, name),
            wanted(expected),
            unknown.map(|text| format!("; {text}")).unwrap_or_default()
        )),
        (None, Some(unknown)) => Err(unknown),
        (None, None) => Ok(checked),
    }
}

fn rename_path(known: &Map<String, Value>, given: &mut Map<String, Value>) {
    let wanted = known.contains_key("path") && !known.contains_key("file_path");
    if wanted && given.get("path").is_none_or(Value::is_null) {
        if let Some(path) = given.remove("file_path") {
            given.insert("path".into(), path);
        }
    } else if wanted && given.get("file_path") == given.get("path") {
        given.remove("file_path");
    }
}

fn is_required(schema: &Value, name: &str) -> bool {
    schema["required"].as_array().is_some_and(|names| names.iter().any(|n| n == name))
}

fn inside(at: &str, name: &str) -> String {
    if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") }
}

fn check(at: &str, expected: &Value, value: Value) -> Result<Value, String> {
    let wrong =
        |value: &Value| format!("argument '{at}': expected {}, got {}", wanted(expected), shown(value));
    let checked = match (expected["type"].as_str().unwrap_or_default(), value) {
        ("string", value @ Value::String(_)) => value,
        ("boolean", value) => boolean(&value).ok_or_else(|| wrong(&value))?,
        ("integer", value) => integer(&value).ok_or_else(|| wrong(&value))?,
        ("number", value) => number(&value).ok_or_else(|| wrong(&value))?,
        ("array", Value::Array(items)) => {
            let items = items.into_iter().enumerate();
            let items: Result<Vec<Value>, String> =
                items.map(|(n, item)| check(&format!("{at}[{n}]"), &expected["items"], item)).collect();
            Value::Array(items?)
        }
        ("object", Value::Object(given)) => Value::Object(object(at, expected, given)?),
        ("", value) => value,
        (_, value) => return Err(wrong(&value)),
    };
    if is_allowed(expected, &checked) { Ok(checked) } else { Err(wrong(&checked)) }
}

/// Whether `enum` and `minimum` let the value through.
fn is_allowed(expected: &Value, value: &Value) -> bool {
    let listed = expected["enum"].as_array().is_none_or(|words| words.contains(value));
    let least = expected["minimum"].as_f64();
    listed && least.is_none_or(|least| value.as_f64().is_none_or(|number| number >= least))
}

fn boolean(value: &Value) -> Option<Value> {
    match value {
        Value::Bool(_) => Some(value.clone()),
        Value::String(text) => text.trim().to_lowercase().parse().ok().map(Value::Bool),
        _ => None,
    }
}

/// Whole numbers only; `3.0` is one, `1e300` is none.
fn integer(value: &Value) -> Option<Value> {
    let value = number(value)?;
    if value.is_u64() || value.is_i64() {
        return Some(value);
    }
    let float = value.as_f64().filter(|f| f.fract() == 0.0 && f.abs() < 9.0e15)?;
    format!("{float:.0}").parse::<i64>().ok().map(Value::from)
}

fn number(value: &Value) -> Option<Value> {
    match value {
        Value::Number(_) => Some(value.clone()),
        Value::String(text) => serde_json::from_str(text.trim()).ok().filter(Value::is_number),
        _ => None,
    }
}

/// What a schema asks for, in words.
fn wanted(expected: &Value) -> String {
    if let Some(words) = expected["enum"].as_array() {
        let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
        return format!("one of {}", words.join(", "));
    }
    let kind = match expected["type"].as_str().unwrap_or_default() {
        "string" => "a string",
        "boolean" => "true or false",
        "integer" => "a whole number",
        "number" => "a number",
        "array" => "an array",
        _ => "an object",
    };
    match expected["minimum"].as_f64() {
        Some(least) => format!("{kind} of at least {least}"),
        None => kind.to_owned(),
    }
}

/// A value that came, in words, shortened.
pub(crate) fn shown(value: &Value) -> String {
    let kind = match value {
        Value::Null => return "null".into(),
        Value::Bool(_) | Value::Number(_) => return cut(&value.to_string()),
        Value::String(_) => "the string",
        Value::Array(_) => "the array",
        Value::Object(_) => "the object",
    };
    format!("{kind} {}", cut(&value.to_string()))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
