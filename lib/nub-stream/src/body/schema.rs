//! JSON Schemas as servers take them. Each function works on a copy and keeps the order of keys, except
//! that a schema which needs no change keeps its bytes.

use nub_proto::Json;

use super::object::Object;

/// Combinators that no server takes at the top of a tool's parameters.
const COMBINATORS: &[&str] = &["oneOf", "anyOf", "allOf", "enum", "not"];
/// Deeper schemas than this are left as they are.
const DEEPEST: usize = 64;
/// What Gemini's schema language knows.
const GEMINI: &[&str] = &[
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "items",
    "maxItems",
    "minItems",
    "properties",
    "required",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "pattern",
    "example",
    "anyOf",
    "propertyOrdering",
    "default",
    "minimum",
    "maximum",
];

/// The parameters of a tool: an object schema without combinators at its top.
#[must_use]
pub fn parameters(schema: &Json) -> Json {
    let Some(mut object) = Object::read(schema) else { return empty() };
    let plain = text_of(object.get("type")).as_deref() == Some("object")
        && object.get("properties").is_some()
        && COMBINATORS.iter().all(|key| object.get(key).is_none());
    if plain {
        return schema.clone();
    }
    lift(&mut object);
    let mut set = |key: &str, value: &Json| drop(object.set(key, value));
    set("type", &json("object"));
    if object.get("properties").is_none() {
        drop(object.set("properties", &Object::default()));
    }
    object.json()
}

/// Takes the combinators away. The properties of their branches are kept, none of them required by a
/// choice: a call that fits no branch is answered by the tool itself.
fn lift(object: &mut Object) {
    let mut properties = object.get("properties").and_then(Object::read).unwrap_or_default();
    for key in COMBINATORS {
        let branches: Vec<Json> = object.remove(key).and_then(|found| found.read().ok()).unwrap_or_default();
        for branch in branches.iter().filter_map(Object::read) {
            let more = branch.get("properties").and_then(Object::read).unwrap_or_default();
            for (name, schema) in more.iter() {
                if properties.get(name).is_none() {
                    drop(properties.set(name, schema));
                }
            }
            if *key == "allOf" {
                require(object, branch.get("required"));
            }
        }
    }
    if !properties.is_empty() {
        drop(object.set("properties", &properties));
    }
}

fn require(object: &mut Object, more: Option<&Json>) {
    let list =
        |json: Option<&Json>| json.and_then(|json| json.read::<Vec<String>>().ok()).unwrap_or_default();
    let mut required = list(object.get("required"));
    for name in list(more) {
        if !required.contains(&name) {
            required.push(name);
        }
    }
    if !required.is_empty() {
        drop(object.set("required", &required));
    }
}

/// For `strict`: no further properties, and every property required, the optional ones nullable.
#[must_use]
pub fn strict(schema: &Json) -> Json {
    walk(schema, 0, &mut |object| {
        let Some(mut properties) = object.get("properties").and_then(Object::read) else { return };
        let required: Vec<String> =
            object.get("required").and_then(|list| list.read().ok()).unwrap_or_default();
        for (name, property) in properties.iter_mut() {
            if !required.iter().any(|known| known == name) {
                *property = nullable(property);
            }
        }
        let names: Vec<&str> = properties.iter().map(|(name, _)| name).collect();
        drop(object.set("required", &names));
        drop(object.set("properties", &properties));
        drop(object.set("additionalProperties", &false));
    })
}

fn nullable(schema: &Json) -> Json {
    let Some(mut object) = Object::read(schema) else { return schema.clone() };
    match object.get("type").cloned() {
        Some(kind) => {
            let mut kinds: Vec<String> =
                kind.read().or_else(|_| kind.read::<String>().map(|one| vec![one])).unwrap_or_default();
            if !kinds.iter().any(|kind| kind == "null") {
                kinds.push("null".into());
            }
            drop(object.set("type", &kinds));
            if let Some(values) = object.get("enum").and_then(|list| list.read::<Vec<Json>>().ok()) {
                let null = json(&());
                let missing = !values.contains(&null);
                let values: Vec<Json> = values.into_iter().chain(missing.then_some(null)).collect();
                drop(object.set("enum", &values));
            }
            object.json()
        }
        None => {
            let mut either = Object::default();
            let null = Object::read(&json(&std::collections::BTreeMap::from([("type", "null")])));
            drop(either.set("anyOf", &[object, null.unwrap_or_default()]));
            either.json()
        }
    }
}

/// For Gemini: only the keys it knows, `const` as `enum`, lists of types as `nullable`, a type everywhere.
#[must_use]
pub fn gemini(schema: &Json) -> Json {
    walk(schema, 0, &mut |object| {
        if let Some(value) = object.remove("const") {
            drop(object.set("enum", &[value]));
        }
        if object.get("anyOf").is_none()
            && let Some(branches) = object.remove("oneOf")
        {
            drop(object.set("anyOf", &branches));
        }
        if let Some(kinds) = object.get("type").and_then(|kind| kind.read::<Vec<String>>().ok()) {
            let kind = kinds.iter().find(|kind| *kind != "null").map_or("string", String::as_str);
            drop(object.set("type", kind));
            if kinds.iter().any(|kind| kind == "null") {
                drop(object.set("nullable", &true));
            }
        }
        if object.get("type").is_none() && object.get("anyOf").is_none() {
            let kind = if object.get("properties").is_some() {
                "object"
            } else if object.get("items").is_some() {
                "array"
            } else {
                "string"
            };
            drop(object.set("type", kind));
        }
        let foreign: Vec<String> = object
            .iter()
            .map(|(key, _)| key.to_owned())
            .filter(|key| !GEMINI.contains(&key.as_str()))
            .collect();
        for key in foreign {
            object.remove(&key);
        }
    })
}

/// Changes a schema and every schema inside it, the inner ones first.
fn walk(schema: &Json, depth: usize, change: &mut dyn FnMut(&mut Object)) -> Json {
    let Some(mut object) = Object::read(schema).filter(|_| depth < DEEPEST) else { return schema.clone() };
    for (key, value) in object.iter_mut() {
        match key {
            "properties" | "$defs" | "definitions" => {
                let Some(mut inner) = Object::read(value) else { continue };
                for (_, schema) in inner.iter_mut() {
                    *schema = walk(schema, depth + 1, change);
                }
                *value = inner.json();
            }
            "anyOf" | "oneOf" | "allOf" | "prefixItems" => {
                let Ok(inner) = value.read::<Vec<Json>>() else { continue };
                let inner: Vec<Json> = inner.iter().map(|schema| walk(schema, depth + 1, change)).collect();
                *value = json(&inner);
            }
            "items" | "not" => *value = walk(value, depth + 1, change),
            _ => {}
        }
    }
    change(&mut object);
    object.json()
}

fn text_of(json: Option<&Json>) -> Option<String> {
    json.and_then(|json| json.read().ok())
}

fn json<T: serde::Serialize + ?Sized>(value: &T) -> Json {
    Json::of(value).unwrap_or_else(|_| empty())
}

/// The schema of an object without properties.
#[must_use]
pub fn empty() -> Json {
    let mut object = Object::default();
    drop(object.set("type", "object"));
    drop(object.set("properties", &Object::default()));
    object.json()
}
