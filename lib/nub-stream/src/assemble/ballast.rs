//! What a provider wants back unchanged with a block: signatures, encrypted thinking, reasoning ids.
//!
//! The `raw` of a thinking block is `{"field":F,"reasoning_details":[...],"thinking_blocks":[...]}`: the name
//! of the field its text came in and the lists as they came. The `raw` of a tool call, or of a text, has
//! `extra_content` or `provider_specific_fields`.

use nub_proto::Json;

use crate::lenient::Raw;

/// Named values, each a JSON text as it came.
#[derive(Debug, Default)]
pub struct Ballast {
    entries: Vec<(&'static str, String)>,
}

impl Ballast {
    /// Puts a value under a key, in the place of an older one.
    pub fn put(&mut self, key: &'static str, value: Raw<'_>) {
        if let Some(value) = value {
            self.set(key, value.get().to_owned());
        }
    }

    /// Notes the name of the field the text comes in; the first one counts.
    pub fn name(&mut self, field: &str) {
        if !field.is_empty() && self.entries.iter().all(|(key, _)| *key != "field") {
            self.entries.push(("field", format!("\"{field}\"")));
        }
    }

    /// Adds the elements of a list to those that came before.
    pub fn extend(&mut self, key: &'static str, list: Raw<'_>) {
        let Some(list) = list else { return };
        let inner =
            list.get().strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(list.get());
        if inner.trim().is_empty() {
            return;
        }
        match self.entries.iter_mut().find(|(k, _)| *k == key) {
            Some((_, all)) => {
                all.pop();
                all.extend([",", inner, "]"]);
            }
            None => self.entries.push((key, format!("[{inner}]"))),
        }
    }

    /// As one JSON object; `None` when there is nothing.
    pub fn json(&self) -> Option<Json> {
        if self.entries.is_empty() {
            return None;
        }
        let entries: Vec<String> =
            self.entries.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
        Json::parse(&format!("{{{}}}", entries.join(","))).ok()
    }

    fn set(&mut self, key: &'static str, value: String) {
        match self.entries.iter_mut().find(|(k, _)| *k == key) {
            Some(entry) => entry.1 = value,
            None => self.entries.push((key, value)),
        }
    }
}
