//! The tool `grep`: ripgrep's engine over the files ripgrep would search.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch,
};
use ignore::overrides::{Override, OverrideBuilder};
use rustix::fs::{Mode, OFlags};
use serde::Deserialize;

use crate::cancel::Cancel;
use crate::definition::Definition;
use crate::jail::{Found, Spot};
use crate::matches::{Kind, Line, Matches};
use crate::outcome::Outcome;
use crate::place::{Place, cannot, regular};
use crate::walk::{Hidden, Met, Walk};

/// Matches that are shown when the model does not say.
const DEFAULT_LIMIT: u64 = 250;

/// More matches than this are never shown.
const MAX_LIMIT: u64 = 2000;

/// More lines around a match than this are never shown.
const MAX_CONTEXT: u64 = 50;

/// Memory one thread may take for one line, in bytes.
const MAX_LINE: usize = 64 * 1024 * 1024;

/// Bytes of a line that are shown, and how many of them before the match.
const SHOWN_BYTES: usize = 500;
const BEFORE_MATCH: usize = 150;

pub(crate) const DEF: Definition = Definition {
    name: "grep",
    description: "Search file contents by regular expression (ripgrep).",
    schema: r#"{"type":"object","properties":{"pattern":{"type":"string"},"path":{"type":"string"},"glob":{"type":"string","description":"such as *.rs"},"context":{"type":"integer","minimum":0,"description":"lines around"},"ignore_case":{"type":"boolean"},"limit":{"type":"integer","minimum":1}},"required":["pattern"]}"#,
};

/// The arguments.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct GrepArgs {
    pub pattern: String,
    pub path: Option<String>,
    pub glob: Option<String>,
    pub context: Option<u64>,
    pub ignore_case: Option<bool>,
    pub limit: Option<u64>,
}

/// Runs the tool.
pub(crate) fn run(place: &Place, args: GrepArgs, cancel: &Cancel) -> Outcome {
    grep(place, &args, cancel).map_err(|why| cannot("search for", &args.pattern, why)).into()
}

fn grep(place: &Place, args: &GrepArgs, cancel: &Cancel) -> Result<Outcome, String> {
    let matcher = matcher(args)?;
    let globs = globs(place, args)?;
    let given = args.path.as_deref().filter(|path| !path.is_empty()).unwrap_or(".");
    let spot = place.find(given).map_err(|why| format!("'{given}': {why}"))?;
    let limit = args.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT) as usize;
    let context = args.context.unwrap_or(0).min(MAX_CONTEXT) as usize;
    let matches = Mutex::new(Matches::new(limit));
    let job = Job { matcher, context, limit, cancel, matches: &matches };
    match &spot.found {
        Found::Folder => {
            if let Some(why) = place.too_wide(&spot.rel) {
                return Err(why.to_owned());
            }
            let walk = Walk { place, base: &spot.rel, globs, hidden: Hidden::Skip, depth: None, cancel };
            let unreadable = walk.run(|| job.visitor())?;
            matches.lock().unwrap_or_else(PoisonError::into_inner).unreadable = unreadable;
        }
        Found::Entry(..) => one_file(place, &spot, given, &job)?,
        Found::Missing(..) => return Err(format!("there is no '{given}'")),
    }
    if cancel.is_set() {
        return Err("cancelled".into());
    }
    Ok(matches.into_inner().unwrap_or_else(PoisonError::into_inner).show(place))
}

fn matcher(args: &GrepArgs) -> Result<RegexMatcher, String> {
    let mut builder = RegexMatcherBuilder::new();
    builder.multi_line(true).line_terminator(Some(b'\n')).case_insensitive(args.ignore_case == Some(true));
    builder.build(&args.pattern).map_err(|e| {
        let text = e.to_string();
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        format!("no valid regular expression: {}", lines.join(" | "))
    })
}

fn globs(place: &Place, args: &GrepArgs) -> Result<Override, String> {
    let Some(glob) = args.glob.as_deref().filter(|glob| !glob.is_empty()) else {
        return Ok(Override::empty());
    };
    let mut builder = OverrideBuilder::new(place.below());
    builder.add(glob).and_then(|builder| builder.build()).map_err(|e| format!("'glob': {e}"))
}

fn one_file(place: &Place, spot: &Spot, given: &str, job: &Job) -> Result<(), String> {
    let (file, stat) = place.open_file(spot).map_err(|why| format!("'{given}': {why}"))?;
    let mut searcher = job.searcher();
    job.file(&mut searcher, file, stat.st_size as u64, &spot.rel);
    Ok(())
}

/// What every thread needs.
struct Job<'a> {
    matcher: RegexMatcher,
    context: usize,
    limit: usize,
    cancel: &'a Cancel,
    matches: &'a Mutex<Matches>,
}

impl Job<'_> {
    fn searcher(&self) -> Searcher {
        SearcherBuilder::new()
            .line_number(true)
            .before_context(self.context)
            .after_context(self.context)
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(MAX_LINE))
            .build()
    }

    fn visitor(&self) -> impl FnMut(&Met) {
        let mut searcher = self.searcher();
        move |met| {
            let flags =
                OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
            let Ok(fd) = rustix::fs::openat(met.folder, met.name, flags, Mode::empty()) else {
                self.matches.lock().unwrap_or_else(PoisonError::into_inner).failed += 1;
                return;
            };
            let Ok(stat) = rustix::fs::fstat(&fd) else { return };
            if stat.st_size > 0 && regular(&stat).is_ok() {
                self.file(&mut searcher, File::from(fd), stat.st_size as u64, met.rel);
            }
        }
    }

    /// A file that grows while it is searched ends where it ended when it was opened.
    fn file(&self, searcher: &mut Searcher, file: File, size: u64, rel: &Path) {
        let mut hits = Hits { job: self, lines: Vec::new(), count: 0 };
        let reader = Watched { file: file.take(size), cancel: self.cancel };
        let failed = searcher.search_reader(&self.matcher, reader, &mut hits).is_err();
        if hits.count == 0 && !failed {
            return;
        }
        let mut matches = self.matches.lock().unwrap_or_else(PoisonError::into_inner);
        if failed && !self.cancel.is_set() {
            matches.failed += 1;
        }
        if hits.count > 0 {
            matches.add(rel.to_path_buf(), hits.lines, hits.count);
        }
    }
}

/// A file that ends in an error when the call is cancelled.
struct Watched<'a> {
    file: io::Take<File>,
    cancel: &'a Cancel,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_set() {
            return Err(io::Error::other("cancelled"));
        }
        self.file.read(buffer)
    }
}

/// What was found in one file.
struct Hits<'a> {
    job: &'a Job<'a>,
    lines: Vec<Line>,
    count: usize,
}

impl Hits<'_> {
    fn push(&mut self, number: Option<u64>, text: String, kind: Kind) {
        self.lines.push(Line { number: number.unwrap_or_default(), text, kind });
    }
}

impl Sink for Hits<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, line: &SinkMatch<'_>) -> io::Result<bool> {
        self.count += 1;
        if self.count <= self.job.limit {
            let found = self.job.matcher.find(line.bytes()).ok().flatten();
            self.push(line.line_number(), around(line.bytes(), found.map_or(0, |m| m.start())), Kind::Match);
        }
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> io::Result<bool> {
        let limit = self.job.limit;
        let wanted = match line.kind() {
            SinkContextKind::Before => self.count < limit,
            SinkContextKind::After | SinkContextKind::Other => self.count <= limit,
        };
        if wanted {
            self.push(line.line_number(), around(line.bytes(), 0), Kind::Context);
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        if self.count < self.job.limit && !self.lines.is_empty() {
            self.push(None, String::new(), Kind::Break);
        }
        Ok(true)
    }
}

/// A line without its end; of a long one the part around a place, cut between characters.
fn around(line: &[u8], place: usize) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.len() <= SHOWN_BYTES {
        return String::from_utf8_lossy(line).into_owned();
    }
    let inside = |at: usize| line.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
    let mut from = place.saturating_sub(BEFORE_MATCH).min(line.len() - SHOWN_BYTES);
    from = (from..line.len()).find(|at| !inside(*at)).unwrap_or(from);
    let mut to = (from + SHOWN_BYTES).min(line.len());
    to = (from..=to).rev().find(|at| !inside(*at)).unwrap_or(to);
    let (before, after) = (if from > 0 { "…" } else { "" }, if to < line.len() { "…" } else { "" });
    format!("{before}{}{after}", String::from_utf8_lossy(&line[from..to]))
}
