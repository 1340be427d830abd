//! The tool `todo`: the list of steps. Its state is its last call on the path, so nothing is kept here.

use nub_proto::{Item, ItemStatus, Ui};
use serde::Deserialize;

use crate::definition::Definition;
use crate::outcome::Outcome;

pub(crate) const DEF: Definition = Definition {
    name: "todo",
    description: "Replace your list of steps.",
    schema: r#"{"type":"object","properties":{"items":{"type":"array","items":{"type":"object","properties":{"text":{"type":"string"},"status":{"enum":["pending","active","done"]}},"required":["text"]}}},"required":["items"]}"#,
};

/// The arguments.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct TodoArgs {
    pub items: Vec<Item>,
}

/// Runs the tool.
pub(crate) fn run(args: TodoArgs) -> Outcome {
    let line = |item: &Item| {
        let mark = match item.status {
            ItemStatus::Pending => ' ',
            ItemStatus::Active => '>',
            ItemStatus::Done => 'x',
        };
        format!("[{mark}] {}", item.text)
    };
    let lines: Vec<String> = args.items.iter().map(line).collect();
    let text = if lines.is_empty() { "the list is empty".into() } else { lines.join("\n") };
    Outcome::text(text).with_ui(Ui::Todo { items: args.items })
}
