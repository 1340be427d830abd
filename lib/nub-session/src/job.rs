//! What is needed to work: from what was typed and what surrounds the process.

use std::path::PathBuf;
use std::time::Duration;

use nub_conf::{Inputs, Paths};
use nub_sys::{Fail, tty};

use crate::NAME;
use crate::args::{Args, Command, Format};
use crate::choose::{self, Choice};
use crate::index::Index;
use crate::open::Open;
use crate::wait::GRACE;

/// What the process finds around it.
#[derive(Debug)]
pub struct Surroundings {
    /// `$NUB_SESSION`.
    pub session: Option<String>,
    /// `$NUB_COPROCESS` is set: nobody reads stderr at a terminal.
    pub coprocess: bool,
    /// stdout is a terminal.
    pub terminal: bool,
}

impl Surroundings {
    /// Those of this process.
    pub fn of_process() -> Surroundings {
        Surroundings {
            session: std::env::var("NUB_SESSION").ok(),
            coprocess: std::env::var_os("NUB_COPROCESS").is_some(),
            terminal: tty::stdout(),
        }
    }
}

/// How to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// One record a line.
    Records,
    /// For people.
    Text,
    /// One JSON document: an array of the records.
    Array,
    /// Markdown.
    Markdown,
    /// A page.
    Html,
}

/// What is to be done.
#[derive(Debug)]
pub struct Job {
    /// Where things are.
    pub paths: Paths,
    /// Which session.
    pub choice: Choice,
    /// How to print.
    pub style: Style,
    /// The subcommand.
    pub command: Command,
    /// Nobody reads stderr at a terminal: what is odd is said in records.
    pub coprocess: bool,
    quiet: bool,
}

impl Job {
    /// Reads the configuration for its paths.
    ///
    /// # Errors
    /// The configuration is wrong.
    pub fn new(args: Args, around: &Surroundings) -> Result<Job, Fail> {
        let common = args.shared.common;
        let inputs = Inputs { cwd: common.cwd, config: common.config, profile: common.profile };
        let loaded = nub_conf::load(&inputs).map_err(|e| Fail::usage(e.to_string()))?;
        for warning in loaded.warnings.iter().filter(|_| !around.coprocess && !common.quiet) {
            nub_sys::warn(NAME, &warning.message);
        }
        let style = match args.shared.format {
            Format::Auto if around.terminal => Style::Text,
            Format::Auto | Format::Ndjson => Style::Records,
            Format::Text => Style::Text,
            Format::Json => Style::Array,
            Format::Md | Format::Html if !matches!(args.command, Command::Export { .. }) => {
                return Err(Fail::usage("only export prints md and html"));
            }
            Format::Md => Style::Markdown,
            Format::Html => Style::Html,
        };
        Ok(Job {
            paths: loaded.paths,
            choice: Choice::new(args.shared.session, around.session.clone()),
            style,
            command: args.command,
            coprocess: around.coprocess,
            quiet: common.quiet,
        })
    }

    /// How long the work goes on after a signal: what is said to append is still stored.
    pub fn grace(&self) -> Duration {
        let append = matches!(self.command, Command::Append { .. });
        if append { GRACE + Duration::from_millis(300) } else { Duration::ZERO }
    }

    /// The chosen session file.
    ///
    /// # Errors
    /// There is none.
    pub fn existing(&self) -> Result<PathBuf, Fail> {
        choose::existing(&self.paths, &self.choice)
    }

    /// The chosen session and its tree.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub fn load(&self) -> Result<(Open, Index), Fail> {
        let mut open = Open::read(&self.existing()?)?;
        let index = Index::load(&open)?;
        if let Some(first) = index.damage.first() {
            open.notes.push(format!(
                "'{}' has {} damaged lines, the first is line {}: {} (nub-session check says more)",
                open.path.display(),
                index.damage.len(),
                first.line,
                first.what
            ));
        }
        self.note(&open);
        Ok((open, index))
    }

    /// Tells people what is odd about a file.
    pub fn note(&self, open: &Open) {
        for note in open.notes.iter().filter(|_| !self.quiet && !self.coprocess) {
            nub_sys::warn(NAME, note);
        }
    }
}
