//! What `grep` found, in the order of the paths, with bounds.

use std::path::PathBuf;

use nub_proto::Ui;

use crate::outcome::Outcome;
use crate::place::Place;
use crate::walk::left_out;

/// Bytes of matches that are shown.
const MAX_SHOWN: usize = 60_000;

/// Files may be kept beyond the limit, until there are this many times as many matches as are shown.
const SLACK: usize = 4;

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub number: u64,
    pub text: String,
    pub kind: Kind,
}

/// Why a line is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It matches.
    Match,
    /// It is near one that does.
    Context,
    /// Lines are left out here.
    Break,
}

/// What was found so far.
#[derive(Debug, Default)]
pub(crate) struct Matches {
    limit: usize,
    files: Vec<(PathBuf, Vec<Line>)>,
    /// Matches among the kept lines.
    kept: usize,
    count: usize,
    in_files: usize,
    /// Files that could not be searched to their end.
    pub failed: usize,
    /// Folders that could not be read.
    pub unreadable: usize,
}

impl Matches {
    /// Shows `limit` matches.
    pub(crate) fn new(limit: usize) -> Matches {
        Matches { limit, ..Matches::default() }
    }

    /// Takes the first lines of a file and the number of all its matches.
    pub(crate) fn add(&mut self, rel: PathBuf, lines: Vec<Line>, count: usize) {
        self.count += count;
        self.in_files += 1;
        self.kept += of_matches(&lines);
        self.files.push((rel, lines));
        if self.kept > self.limit.saturating_mul(SLACK) {
            self.prune();
        }
    }

    /// Files beyond the limit in the order of their paths are never shown.
    fn prune(&mut self) {
        self.files.sort_by(|(one, _), (two, _)| one.cmp(two));
        let mut kept = 0;
        let limit = self.limit;
        self.files.retain(|(_, lines)| {
            let fits = kept < limit;
            kept += if fits { of_matches(lines) } else { 0 };
            fits
        });
        self.kept = kept;
    }

    /// Tells the model.
    pub(crate) fn show(mut self, place: &Place) -> Outcome {
        if self.count == 0 {
            return Outcome::text(format!("no matches{}", self.failures())).with_ui(self.ui(0));
        }
        self.prune();
        let mut text = String::new();
        let shown = self.lines(place, &mut text);
        if shown < self.count {
            text.push_str(&format!(
                "\n[{shown} of {} matches in {} files; narrow the search{}]",
                self.count,
                self.in_files,
                if shown == self.limit { " or raise limit" } else { "" }
            ));
        }
        text.push_str(&self.failures());
        Outcome::text(text).with_ui(self.ui(shown))
    }

    /// Writes lines up to the limits and gives the number of matches among them.
    fn lines(&self, place: &Place, text: &mut String) -> usize {
        let context = self.files.iter().any(|(_, lines)| lines.iter().any(|line| line.kind == Kind::Context));
        let mut shown = 0;
        for (rel, lines) in &self.files {
            let name = place.show(rel);
            if context && !text.is_empty() {
                text.push_str("\n--");
            }
            for line in lines {
                let full = shown >= self.limit && line.kind != Kind::Context;
                if full || text.len() + name.len() + line.text.len() > MAX_SHOWN {
                    return shown;
                }
                if !text.is_empty() {
                    text.push('\n');
                }
                match line.kind {
                    Kind::Match => text.push_str(&format!("{name}:{}:{}", line.number, line.text)),
                    Kind::Context => text.push_str(&format!("{name}-{}-{}", line.number, line.text)),
                    Kind::Break => text.push_str("--"),
                }
                shown += usize::from(line.kind == Kind::Match);
            }
        }
        shown
    }

    fn failures(&self) -> String {
        let files = match self.failed {
            0 => String::new(),
            1 => "\n[1 file could not be searched to its end]".into(),
            several => format!("\n[{several} files could not be searched to their end]"),
        };
        files + &left_out(self.unreadable)
    }

    fn ui(&self, shown: usize) -> Ui {
        Ui::Matches { count: self.count, files: self.in_files, truncated: shown < self.count }
    }
}

fn of_matches(lines: &[Line]) -> usize {
    lines.iter().filter(|line| line.kind == Kind::Match).count()
}
