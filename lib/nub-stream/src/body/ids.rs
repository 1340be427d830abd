//! Call ids as an endpoint takes them. They go back byte for byte, except where that is known to be refused.

use std::collections::{BTreeMap, BTreeSet};

use nub_proto::{Kind, Request};

/// OpenAI refuses ids that are longer, in bytes.
const LONGEST: usize = 40;
/// What Mistral insists on: nine letters and digits.
const MISTRAL: usize = 9;
const LETTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// The ids that change, with what they become: the same for a call and its result, in every turn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ids(BTreeMap<String, String>);

impl Ids {
    /// The ids of a conversation, for an endpoint with this `tool_id_format`.
    #[must_use]
    pub fn of(request: &Request, format: &str) -> Ids {
        let takes = |id: &str| match format {
            "mistral9" => id.len() == MISTRAL && id.bytes().all(|b| b.is_ascii_alphanumeric()),
            "verbatim" => true,
            _ => id.len() <= LONGEST,
        };
        let all: Vec<&str> = request.messages.iter().flat_map(|m| &m.content).filter_map(id_of).collect();
        let mut used: BTreeSet<String> =
            all.iter().filter(|id| takes(id)).map(|id| (*id).to_owned()).collect();
        let mut ids = BTreeMap::new();
        for id in all.iter().filter(|id| !takes(id)) {
            if !ids.contains_key(*id) {
                let short = short(id, &used);
                used.insert(short.clone());
                ids.insert((*id).to_owned(), short);
            }
        }
        Ids(ids)
    }

    /// An id as the endpoint takes it.
    #[must_use]
    pub fn wire<'a>(&'a self, id: &'a str) -> &'a str {
        self.0.get(id).map_or(id, String::as_str)
    }
}

fn id_of(block: &nub_proto::Block) -> Option<&str> {
    match &block.kind {
        Kind::ToolUse { id, .. } => Some(id),
        Kind::ToolResult { tool_use_id, .. } => Some(tool_use_id),
        Kind::Text { .. } | Kind::Thinking { .. } | Kind::Image { .. } => None,
    }
}

/// Nine letters and digits that depend on the id alone, unless they are taken.
fn short(id: &str, used: &BTreeSet<String>) -> String {
    (0_u64..).map(|salt| letters(hash(id, salt))).find(|short| !used.contains(short)).unwrap_or_default()
}

fn letters(mut hash: u64) -> String {
    let mut short = String::new();
    for _ in 0..MISTRAL {
        short.push(char::from(LETTERS[usize::try_from(hash % 62).unwrap_or_default()]));
        hash /= 62;
    }
    short
}

/// FNV-1a with a final mix: stable across versions and machines, unlike std's.
pub(super) fn hash(text: &str, salt: u64) -> u64 {
    let seed = 0xcbf2_9ce4_8422_2325 ^ salt.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let hash = text.bytes().fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93)
}
