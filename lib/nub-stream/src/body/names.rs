//! Tool names as the wire takes them, and back: `^[a-zA-Z0-9_-]{1,64}$`.

use std::collections::{BTreeMap, BTreeSet};

use nub_proto::{Kind, Request};

use super::ids;

/// The longest name, in bytes.
const LONGEST: usize = 64;

/// The names that change on the wire.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    wire: BTreeMap<String, String>,
    own: BTreeMap<String, String>,
}

impl Names {
    /// The tools of a request, and those its conversation called.
    #[must_use]
    pub fn of(request: &Request) -> Names {
        let called = request.messages.iter().flat_map(|m| &m.content).filter_map(|block| match &block.kind {
            Kind::ToolUse { name, .. } => Some(name.as_str()),
            _ => None,
        });
        let all: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).chain(called).collect();
        let mut used: BTreeSet<String> =
            all.iter().filter(|name| is_plain(name)).map(|name| (*name).to_owned()).collect();
        let mut names = Names::default();
        for name in all.iter().filter(|name| !is_plain(name)) {
            if names.wire.contains_key(*name) {
                continue;
            }
            let mut plain = plain(name);
            if used.contains(&plain) {
                plain.truncate(LONGEST - 9);
                plain.push_str(&format!("_{:08x}", ids::hash(name, 0) >> 32));
            }
            used.insert(plain.clone());
            names.own.insert(plain.clone(), (*name).to_owned());
            names.wire.insert((*name).to_owned(), plain);
        }
        names
    }

    /// A tool's name on the wire.
    #[must_use]
    pub fn wire<'a>(&'a self, name: &'a str) -> &'a str {
        self.wire.get(name).map_or(name, String::as_str)
    }

    /// The tool's own name, where it differs from the one on the wire.
    #[must_use]
    pub fn own(&self, wire: &str) -> Option<&str> {
        self.own.get(wire).map(String::as_str)
    }
}

fn is_plain(name: &str) -> bool {
    (1..=LONGEST).contains(&name.len()) && name.bytes().all(is_plain_byte)
}

fn is_plain_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn plain(name: &str) -> String {
    let mut plain: String =
        name.chars().map(|c| if c.is_ascii() && is_plain_byte(c as u8) { c } else { '_' }).collect();
    plain.truncate(LONGEST);
    if plain.is_empty() { "_".into() } else { plain }
}
