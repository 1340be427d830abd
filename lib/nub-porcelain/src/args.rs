//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use nub_sys::{Common, Fail};

use crate::view::Noise;

/// A coding agent made of small programs
#[derive(Debug, Parser)]
#[command(name = "nub", version, after_help = MORE, override_usage = USAGE)]
pub(crate) struct Args {
    /// Answer PROMPT on stdout and end; piped text is attached to it
    #[arg(short, long)]
    print: bool,
    /// What print mode prints: the answer, or every record
    #[arg(long, value_name = "MODE", requires = "print", default_value = "text")]
    mode: Mode,
    /// Attach FILE, a text or a picture, to the prompt
    #[arg(short, long, value_name = "FILE", requires = "print")]
    file: Vec<PathBuf>,
    /// Go on with the latest session
    #[arg(short = 'c', long = "continue", conflicts_with = "session")]
    again: bool,
    /// Go on with this session: id, prefix of one, path, or latest
    #[arg(short, long, value_name = "SESSION")]
    session: Option<OsString>,
    /// Ask this model
    #[arg(short, long, value_name = "MODEL")]
    model: Option<OsString>,
    /// Ask at this endpoint of the configuration
    #[arg(long, value_name = "NAME")]
    endpoint: Option<OsString>,
    /// Run COMMAND as the stage NAME (ctx, stream, tool, session)
    #[arg(long, value_name = "NAME=COMMAND")]
    stage: Vec<OsString>,
    /// Ask the model at most N times for one prompt
    #[arg(long, value_name = "N")]
    max_turns: Option<u32>,
    #[command(flatten)]
    common: Common,
    /// What to do
    #[arg(value_name = "PROMPT")]
    words: Vec<String>,
}

const USAGE: &str = "nub [OPTIONS]
       nub -p [OPTIONS] [PROMPT]...
       nub resume [SESSION] [OPTIONS]
       nub NAME [ARGUMENT]...";

const MORE: &str = "Names:
  demo        see it work, without a model
  models      the models of the endpoint, which also shows that it answers
  sessions    the sessions of this repository
  resume      go on with one of them
  help NAME   the page of a program
  ctx, stream, tool, session, loop, and any nub-NAME that can be found";

/// What print mode prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// The answer.
    Text,
    /// The records of nub-loop.
    Json,
}

/// What is asked in print mode.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ask {
    pub mode: Mode,
    pub words: Vec<String>,
    pub files: Vec<PathBuf>,
}

/// What is needed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Job {
    /// Arguments of nub-loop, but for the session.
    pub command: Command,
    /// Print mode, or none: the line session.
    pub print: Option<Ask>,
    pub noise: Noise,
}

/// How nub-loop is started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Command {
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Which session; none: what the environment names.
    pub session: Option<OsString>,
}

/// Parses arguments (without a program's name).
pub(crate) fn parse<A: Parser>(typed: Vec<OsString>) -> Result<A, ExitCode> {
    nub_sys::parse_from(crate::NAME, typed)
}

/// `nub resume [SESSION] ...` is `nub -s SESSION ...`.
pub(crate) fn resume(rest: &[OsString]) -> Vec<OsString> {
    let named = rest.first().filter(|word| !word.as_encoded_bytes().starts_with(b"-"));
    let session = named.cloned().unwrap_or_else(|| "latest".into());
    let mut typed = vec!["-s".into(), session];
    typed.extend_from_slice(&rest[usize::from(named.is_some())..]);
    typed
}

impl Args {
    /// `kept`: the environment names the session.
    pub(crate) fn job(self, kept: bool) -> Result<Job, Fail> {
        if !self.print && !self.words.is_empty() {
            return Err(Fail::usage(format!("'{}' comes after options", self.words.join(" ")))
                .advice("a program's name comes first: nub NAME ...; a prompt needs -p: nub -p PROMPT"));
        }
        let noise = match (self.common.quiet, self.common.verbose) {
            (true, _) => Noise::Quiet,
            (false, true) => Noise::Verbose,
            (false, false) => Noise::Normal,
        };
        let session = match (self.session, self.again) {
            (Some(session), _) => Some(session),
            (None, true) => Some("latest".into()),
            (None, false) if kept => None,
            (None, false) => Some("new".into()),
        };
        let mut args = common(&self.common);
        let stages = self.stage.into_iter().map(|stage| ("--stage", Some(stage)));
        let values = [
            ("--model", self.model),
            ("--endpoint", self.endpoint),
            ("--max-turns", self.max_turns.map(|most| most.to_string().into())),
        ];
        for (flag, value) in values.into_iter().chain(stages) {
            args.extend(value.into_iter().flat_map(|value| [flag.into(), value]));
        }
        let print = self.print.then_some(Ask { mode: self.mode, words: self.words, files: self.file });
        Ok(Job { command: Command { args, session }, print, noise })
    }
}

fn common(common: &Common) -> Vec<OsString> {
    let mut args = Vec::new();
    let values = [
        ("--cwd", common.cwd.clone().map(OsString::from)),
        ("--config", common.config.clone().map(OsString::from)),
        ("--profile", common.profile.clone().map(OsString::from)),
    ];
    for (flag, value) in values {
        args.extend(value.into_iter().flat_map(|value| [flag.into(), value]));
    }
    args.extend(common.quiet.then(|| "--quiet".into()));
    args.extend(common.verbose.then(|| "--verbose".into()));
    args
}
