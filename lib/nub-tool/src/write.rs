//! The tool `write`.

use serde::Deserialize;

use crate::cancel::Cancel;
use crate::definition::Definition;
use crate::outcome::Outcome;
use crate::place::Place;

pub(crate) const DEF: Definition = Definition {
    name: "write",
    description: "Create a file or replace all of it. Parent folders are made.",
    schema: r#"{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}"#,
};

/// The arguments.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct WriteArgs {
    pub path: String,
    pub content: String,
}

/// Runs the tool.
pub(crate) fn run(_place: &Place, _args: WriteArgs, _cancel: &Cancel) -> Outcome {
    Outcome::error("this commit lays the interface only")
}
