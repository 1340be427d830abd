//! The tool `edit`.

use serde::Deserialize;

use crate::cancel::Cancel;
use crate::definition::Definition;
use crate::outcome::Outcome;
use crate::place::Place;

pub(crate) const DEF: Definition = Definition {
    name: "edit",
    description: "Replace text in a file. `old` must be the exact text, without line numbers, and occur once.",
    schema: r#"{"type":"object","properties":{"path":{"type":"string"},"old":{"type":"string"},"new":{"type":"string"},"replace_all":{"type":"boolean"}},"required":["path","old","new"]}"#,
};

/// The arguments.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct EditArgs {
    pub path: String,
    pub old: String,
    pub new: String,
    pub replace_all: Option<bool>,
}

/// Runs the tool.
pub(crate) fn run(_place: &Place, _args: EditArgs, _cancel: &Cancel) -> Outcome {
    Outcome::error("this commit lays the interface only")
}
