//! What a change looks like to people: a unified diff with bounds.

use std::path::Path;
use std::time::Duration;

use nub_proto::Ui;
use similar::{ChangeTag, TextDiff};

use crate::names::shown;

/// Beyond this many bytes, old and new together, only the numbers of lines are told.
const MAX_DIFFED: usize = 4 * 1024 * 1024;

/// After this time a diff may be larger than it must be.
const PATIENCE: Duration = Duration::from_millis(300);

/// Bytes of unified diff that are shown.
const MAX_SHOWN: usize = 64 * 1024;

/// Lines around a change.
const CONTEXT: usize = 3;

/// A change of a file.
pub(crate) struct Change<'a> {
    /// From the root.
    pub rel: &'a Path,
    /// None: the file is new.
    pub old: Option<&'a [u8]>,
    /// The new bytes.
    pub new: &'a [u8],
}

/// Lines added and removed, and the picture of it.
pub(crate) struct Diff {
    pub added: usize,
    pub removed: usize,
    pub ui: Ui,
}

impl Change<'_> {
    /// Compares.
    pub(crate) fn diff(&self) -> Diff {
        let old = self.old.unwrap_or_default();
        let path = shown(self.rel);
        let (added, removed, unified) = if old.len() + self.new.len() > MAX_DIFFED {
            let (added, removed) = roughly(old, self.new);
            (
                added,
                removed,
                format!("[too large for a diff: about {added} lines added, {removed} removed]\n"),
            )
        } else {
            self.exactly(old, &path)
        };
        let ui = Ui::Diff { path, created: self.old.is_none(), added, removed, unified };
        Diff { added, removed, ui }
    }

    fn exactly(&self, old: &[u8], path: &str) -> (usize, usize, String) {
        let (old, new) = (String::from_utf8_lossy(old), String::from_utf8_lossy(self.new));
        let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(&*old, &*new);
        let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
        let before = if self.old.is_some() { format!("a/{path}") } else { "/dev/null".into() };
        let mut unified = String::new();
        let mut left_out = 0;
        for hunk in diff.unified_diff().context_radius(CONTEXT).iter_hunks() {
            for line in hunk.to_string().split_inclusive('\n') {
                if unified.len() + line.len() > MAX_SHOWN {
                    left_out += 1;
                } else if left_out == 0 {
                    unified.push_str(line);
                }
            }
        }
        if !unified.is_empty() || left_out > 0 {
            unified.insert_str(0, &format!("--- {before}\n+++ b/{path}\n"));
        }
        if left_out > 0 {
            unified.push_str("[the diff goes on]\n");
        }
        (count(ChangeTag::Insert), count(ChangeTag::Delete), unified)
    }
}

/// Lines between the first and the last that differ.
fn roughly(old: &[u8], new: &[u8]) -> (usize, usize) {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[head..], &new[head..]);
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let lines = |bytes: &[u8]| bytes[..bytes.len() - tail].split_inclusive(|b| *b == b'\n').count();
    (lines(new), lines(old))
}
