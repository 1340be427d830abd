//! The tools of the request: only calls of these are calls.

use nub_proto::Json;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::lenient::{Text, lenient};

lenient! {
    /// The schema of one argument.
    struct Property<'a> {
        "type" => kind: Text<'a>,
    }
}

/// The schema of a tool, as far as it is read.
#[derive(Default, Deserialize)]
struct Schema<'a> {
    #[serde(borrow, default)]
    properties: std::collections::BTreeMap<String, Property<'a>>,
}

/// The tools.
#[derive(Debug, Clone)]
pub struct Tools(Vec<Tool>);

#[derive(Debug, Clone)]
struct Tool {
    name: String,
    /// Arguments that are something else than strings.
    typed: Vec<String>,
}

impl Tools {
    /// Tools of these names.
    pub fn new(names: &[String]) -> Tools {
        Tools(names.iter().map(|name| Tool { name: name.clone(), typed: Vec::new() }).collect())
    }

    /// The tool that a model means, if there is one: some put a namespace in front.
    pub fn known(&self, name: &str) -> Option<String> {
        let name = name.trim().trim_matches(['"', '\'']);
        let bare =
            name.strip_prefix("functions.").or_else(|| name.strip_prefix("functions/")).unwrap_or(name);
        self.0.iter().find(|tool| tool.name == name || tool.name == bare).map(|tool| tool.name.clone())
    }

    /// Takes the schema of a tool.
    pub fn schema(&mut self, name: &str, schema: &Json) {
        let schema = schema.read::<Schema>().unwrap_or_default();
        let typed = schema.properties.into_iter().filter(|(_, property)| {
            // a list of types has them all in one text
            !property.kind.is_empty() && !property.kind.0.contains("string")
        });
        if let Some(tool) = self.0.iter_mut().find(|tool| tool.name == name) {
            tool.typed = typed.map(|(key, _)| key).collect();
        }
    }

    /// The JSON of an argument that was written as bare text: a string, unless the schema wants something
    /// else and the text is that.
    pub fn value(&self, tool: &str, key: &str, text: &str) -> Option<String> {
        let typed = self.0.iter().any(|t| t.name == tool && t.typed.iter().any(|k| k == key));
        if typed && serde_json::from_str::<IgnoredAny>(text).is_ok() {
            return Some(text.trim().to_owned());
        }
        serde_json::to_string(text).ok()
    }
}
