//! The tool `glob`: files by name, newest first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use globset::{GlobBuilder, GlobMatcher};
use ignore::overrides::Override;
use nub_proto::Ui;
use serde::Deserialize;

use crate::cancel::Cancel;
use crate::definition::Definition;
use crate::jail::{Found, Spot, look};
use crate::outcome::Outcome;
use crate::place::{Place, cannot};
use crate::walk::{Hidden, Met, Walk, left_out};

/// Paths that are shown.
const SHOWN: usize = 1000;

pub(crate) const DEF: Definition = Definition {
    name: "glob",
    description: "Find files by name, such as src/**/*.rs, newest first.",
    schema: r#"{"type":"object","properties":{"pattern":{"type":"string"},"path":{"type":"string","description":"folder"}},"required":["pattern"]}"#,
};

/// The arguments.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct GlobArgs {
    pub pattern: String,
    pub path: Option<String>,
}

/// Runs the tool.
pub(crate) fn run(place: &Place, args: GlobArgs, cancel: &Cancel) -> Outcome {
    glob(place, &args, cancel).map_err(|why| cannot("find", &args.pattern, why)).into()
}

fn glob(place: &Place, args: &GlobArgs, cancel: &Cancel) -> Result<Outcome, String> {
    let (folder, pattern) = split(&args.pattern);
    let base = match (args.path.as_deref().filter(|path| !path.is_empty()), folder) {
        (Some(path), "") => path.to_owned(),
        (Some(path), folder) if !folder.starts_with('/') => format!("{path}/{folder}"),
        (_, "") => ".".to_owned(),
        (_, folder) => folder.to_owned(),
    };
    if pattern.is_empty() {
        return Err("the pattern names no file; append **/* for all files below a folder".into());
    }
    let spot = match place.find(&base) {
        Err(why) if why == "no such file" && !folder.is_empty() => return Ok(none(pattern, 0)),
        other => other?,
    };
    if !matches!(spot.found, Found::Folder) {
        return match spot.found {
            Found::Missing(..) if !folder.is_empty() => Ok(none(pattern, 0)),
            Found::Missing(..) => Err(format!("there is no folder '{base}'")),
            Found::Entry(..) | Found::Folder => Err(format!("'{base}' is no folder")),
        };
    }
    if let Some(why) = place.too_wide(&spot.rel) {
        return Err(why.to_owned());
    }
    let matcher =
        GlobBuilder::new(pattern).literal_separator(true).build().map_err(|e| e.kind().to_string())?;
    let found = search(place, &spot, pattern, &matcher.compile_matcher(), cancel)?;
    if cancel.is_set() {
        return Err("cancelled".into());
    }
    Ok(found.show(place, &spot, pattern))
}

/// The folders a pattern starts with, without a wildcard in them, and the rest.
fn split(pattern: &str) -> (&str, &str) {
    let wild = pattern.find(['*', '?', '[', ']', '{', '}', '\\']).unwrap_or(pattern.len());
    match pattern[..wild].rfind('/') {
        Some(0) => ("/", &pattern[1..]),
        Some(at) => (&pattern[..at], &pattern[at + 1..]),
        None => ("", pattern),
    }
}

fn none(pattern: &str, unreadable: usize) -> Outcome {
    let hint =
        if pattern.contains('/') || pattern.contains("**") { "" } else { "; **/ in front searches below" };
    Outcome::text(format!("no file matches{hint}{}", left_out(unreadable)))
        .with_ui(Ui::Paths { count: 0, truncated: false })
}

/// The newest files so far; the oldest of them on top.
#[derive(Default)]
struct Newest {
    heap: BinaryHeap<Reverse<(i128, Reverse<PathBuf>)>>,
    count: usize,
    unreadable: usize,
}

impl Newest {
    fn add(&mut self, modified: i128, rel: PathBuf) {
        self.count += 1;
        let newer = |oldest: &Reverse<(i128, Reverse<PathBuf>)>| modified >= oldest.0.0;
        if self.heap.len() < SHOWN || self.heap.peek().is_some_and(newer) {
            self.heap.push(Reverse((modified, Reverse(rel))));
        }
        if self.heap.len() > SHOWN {
            self.heap.pop();
        }
    }

    fn show(self, place: &Place, spot: &Spot, pattern: &str) -> Outcome {
        if self.count == 0 {
            // names such as app/[id]/page.tsx are no pattern to those who write them
            let literal = place.find(&place.show(&spot.rel.join(pattern)));
            return match literal {
                Ok(Spot { rel, found: Found::Entry(..) }) => Outcome::text(place.show(&rel)),
                _ => none(pattern, self.unreadable),
            };
        }
        let truncated = self.count > SHOWN;
        let newest = self.heap.into_sorted_vec();
        let paths: Vec<String> = newest.iter().map(|Reverse((_, Reverse(rel)))| place.show(rel)).collect();
        let mut text = paths.join("\n");
        if truncated {
            text.push_str(&format!("\n[{} of {} files, the newest; narrow the pattern]", SHOWN, self.count));
        }
        text.push_str(&left_out(self.unreadable));
        Outcome::text(text).with_ui(Ui::Paths { count: self.count, truncated })
    }
}

fn search(
    place: &Place,
    spot: &Spot,
    pattern: &str,
    matcher: &GlobMatcher,
    cancel: &Cancel,
) -> Result<Newest, String> {
    // who asks for a dot sees what is hidden
    let dotted = pattern.starts_with('.')
        || pattern.contains("/.")
        || pattern.contains("{.")
        || pattern.contains(",.");
    let hidden = if dotted { Hidden::Show } else { Hidden::Skip };
    let depth = (!pattern.contains("**")).then(|| pattern.matches('/').count());
    let walk = Walk { place, base: &spot.rel, globs: Override::empty(), hidden, depth, cancel };
    let newest = Mutex::new(Newest::default());
    let unreadable = walk.run(|| {
        let mut mine = Collected { mine: Newest::default(), all: &newest };
        move |met: &Met| {
            if !matcher.is_match(met.rel.strip_prefix(&spot.rel).unwrap_or(met.rel)) {
                return;
            }
            let Ok(stat) = look(met.folder, OsStr::from_bytes(met.name.to_bytes())) else { return };
            let modified = i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec);
            mine.mine.add(modified, met.rel.to_path_buf());
        }
    })?;
    let newest = newest.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Newest { unreadable, ..newest })
}

/// What one thread found; it goes to the rest when the thread is done.
struct Collected<'a> {
    mine: Newest,
    all: &'a Mutex<Newest>,
}

impl Drop for Collected<'_> {
    fn drop(&mut self) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let beyond = self.mine.count - self.mine.heap.len();
        for Reverse((modified, Reverse(rel))) in self.mine.heap.drain() {
            all.add(modified, rel);
        }
        all.count += beyond;
    }
}
