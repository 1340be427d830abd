//! `nub-tool list`: the definitions of the tools and what they cost in the prompt.

use std::fmt::Write as _;

use nub_proto::{Json, Tool};

use crate::tools;

/// The record of every tool.
pub(crate) fn records() -> Result<Vec<Tool>, serde_json::Error> {
    let record = |tool: &tools::Tool| {
        let def = tool.def();
        Ok(Tool {
            name: def.name.into(),
            description: def.description.into(),
            schema: Json::parse(def.schema)?,
            source: "builtin".into(),
            tokens: nub_tokens::tool(def.name, def.description, def.schema),
        })
    };
    tools::ALL.iter().map(record).collect()
}

/// A table for people.
pub(crate) fn table(records: &[Tool]) -> String {
    let width = records.iter().map(|tool| tool.name.len()).max().unwrap_or_default();
    let mut text = String::new();
    for tool in records {
        let Tool { name, tokens, description, .. } = tool;
        // writing to a string does not fail
        writeln!(text, "{name:width$}  {tokens:>4} tokens  {description}").ok();
    }
    let sum: u64 = records.iter().map(|tool| tool.tokens).sum();
    writeln!(text, "{:width$}  {sum:>4} tokens", "").ok();
    text
}
