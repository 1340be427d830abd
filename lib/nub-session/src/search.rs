//! search: lines of what was said that a regular expression fits, over many sessions.

use std::io::Write;
use std::path::PathBuf;

use nub_proto::encode;
use nub_sys::{Exit, Fail};
use regex::{Regex, RegexBuilder};
use serde::Serialize;

use crate::gist;
use crate::index::Index;
use crate::job::Style;
use crate::open::Open;
use crate::{show, tree};

/// How many characters of a line people see.
const SHOWN: usize = 120;

/// A line that fits; a record of its own type, since a session file holds none such.
#[derive(Debug, Serialize)]
struct Match<'a> {
    session: &'a str,
    node: &'a str,
    role: &'a str,
    text: &'a str,
}

impl nub_proto::Record for Match<'_> {
    const TYPE: &'static str = "match";
}

/// Reads the pattern. Without a capital letter in it, case does not count.
///
/// # Errors
/// It is no regular expression.
pub fn pattern(text: &str) -> Result<Regex, Fail> {
    let insensitive = !text.chars().any(char::is_uppercase);
    RegexBuilder::new(text)
        .case_insensitive(insensitive)
        .build()
        .map_err(|e| Fail::usage(format!("'{text}' is no regular expression: {e}")))
}

/// Searches the files in order. Exit 1 when nothing fits, as grep does. A file that cannot be read
/// hides no other.
///
/// # Errors
/// The output cannot be written.
pub fn search(files: &[PathBuf], regex: &Regex, style: Style, output: &mut impl Write) -> Result<Exit, Fail> {
    let mut found = false;
    for path in files {
        let Ok(open) = Open::read(path) else { continue };
        let Ok(index) = Index::load(&open) else { continue };
        let session = path.file_stem().unwrap_or_default().to_string_lossy();
        for entry in &index.nodes {
            let Some(node) = gist::node(&open, entry.span) else { continue };
            let (role, _) = gist::gist(&node.message, 0);
            for text in show::words(&node.message).lines().filter(|line| regex.is_match(line)) {
                found = true;
                let mut line = Vec::new();
                if style == Style::Text {
                    let (node, text) = (tree::short(&entry.id), gist::shorten(text, SHOWN));
                    line.extend(format!("{session}  {node}  {role:<9}  {text}\n").bytes());
                } else {
                    let one = Match { session: &session, node: &entry.id, role, text };
                    encode(&one, &mut line).map_err(|e| Fail::output(&e))?;
                }
                output.write_all(&line).map_err(|e| Fail::output(&e))?;
            }
        }
    }
    output.flush().map_err(|e| Fail::output(&e))?;
    Ok(if found { Exit::Success } else { Exit::Failure })
}
