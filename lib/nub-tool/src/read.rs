//! The tool `read`: numbered lines of a file, an image, or the entries of a folder.

use serde::Deserialize;

use crate::cancel::Cancel;
use crate::definition::Definition;
use crate::outcome::Outcome;
use crate::place::Place;

pub(crate) const DEF: Definition = Definition {
    name: "read",
    description: "Read a file (numbered lines), image or folder.",
    schema: r#"{"type":"object","properties":{"path":{"type":"string"},"offset":{"type":"integer","minimum":0,"description":"first line"},"limit":{"type":"integer","minimum":1,"description":"lines, default 2000"}},"required":["path"]}"#,
};

/// The arguments.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct ReadArgs {
    pub path: String,
    pub offset: Option<u64>,
    pub limit: Option<u64>,
}

/// Runs the tool.
pub(crate) fn run(_place: &Place, args: ReadArgs, _cancel: &Cancel) -> Outcome {
    Outcome::error(format!("cannot read '{}': this commit lays the interface only", args.path))
}
