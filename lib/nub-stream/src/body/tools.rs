//! The tools of a request on the wire.

use nub_proto::{Json, Kind, ToolChoice, ToolDef};
use serde::Serialize;

use super::{Ground, schema};

/// The tools, and whether they may or must be called.
#[derive(Debug, Default)]
pub struct Tools {
    /// Their definitions; none: the key is left out.
    pub defs: Vec<Def>,
    /// Left out where it says what is so anyway.
    pub choice: Option<Choice>,
}

/// A definition.
#[derive(Debug, Serialize)]
pub struct Def {
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function,
}

#[derive(Debug, Serialize)]
struct Function {
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    description: String,
    parameters: Json,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

/// `tool_choice`.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Choice {
    /// A word.
    Word(&'static str),
    /// A tool.
    Tool {
        /// Always `function`.
        #[serde(rename = "type")]
        kind: &'static str,
        /// Its name.
        function: Named,
    },
}

/// A function by its name.
#[derive(Debug, Serialize)]
pub struct Named {
    name: String,
}

/// The tools of a request. A conversation that holds calls is refused by some servers without tools, so
/// then the called ones are named, and none may be called.
pub fn of(ground: &Ground) -> Tools {
    if !ground.target.caps.tool_calls {
        return Tools::default();
    }
    let request = ground.request;
    if request.tools.is_empty() {
        let defs: Vec<Def> =
            called(ground).iter().map(|name| def(ground, name, "", &schema::empty())).collect();
        let choice = (!defs.is_empty()).then_some(Choice::Word("none"));
        return Tools { defs, choice };
    }
    let defs = request.tools.iter().map(|tool| defined(ground, tool)).collect();
    let choice = match &request.tool_choice {
        None | Some(ToolChoice::Auto) => None,
        Some(ToolChoice::None) => Some(Choice::Word("none")),
        Some(ToolChoice::Required) => Some(Choice::Word("required")),
        Some(ToolChoice::Tool { name }) => Some(Choice::Tool {
            kind: "function",
            function: Named { name: ground.names.wire(name).to_owned() },
        }),
    };
    Tools { defs, choice }
}

fn defined(ground: &Ground, tool: &ToolDef) -> Def {
    def(ground, &tool.name, &tool.description, &tool.schema)
}

fn def(ground: &Ground, name: &str, description: &str, given: &Json) -> Def {
    let caps = &ground.target.caps;
    let mut parameters = schema::parameters(given);
    if caps.strict_schemas {
        parameters = schema::strict(&parameters);
    }
    if caps.schema_subset == "gemini" {
        parameters = schema::gemini(&parameters);
    }
    Def {
        kind: "function",
        function: Function {
            name: ground.names.wire(name).to_owned(),
            description: description.to_owned(),
            parameters,
            strict: caps.strict_schemas.then_some(true),
        },
    }
}

/// The tools that the conversation called, in the order of their first call.
fn called<'a>(ground: &'a Ground) -> Vec<&'a str> {
    let mut names: Vec<&'a str> = Vec::new();
    for block in ground.request.messages.iter().flat_map(|message| &message.content) {
        if let Kind::ToolUse { name, .. } = &block.kind
            && !names.contains(&name.as_str())
        {
            names.push(name);
        }
    }
    names
}
