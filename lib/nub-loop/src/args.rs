//! The command line: what was typed, and what is needed.

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::process::Command;

use nub_conf::{Config, Inputs};
use nub_sys::{Common, Fail, Head, stage};

use crate::Part;

/// Run an agent: `input` and `control` records in, everything that happens out
#[derive(Debug, clap::Parser)]
#[command(name = "nub-loop", version)]
pub(crate) struct Args {
    /// Go on with this session: an id, the start of one, a path, latest, or new
    #[arg(short, long, value_name = "SESSION")]
    session: Option<OsString>,
    /// Begin a fresh session
    #[arg(long, conflicts_with = "session")]
    new: bool,
    /// Ask the model at most N times for one prompt
    #[arg(long, value_name = "N")]
    max_turns: Option<NonZeroU32>,
    /// Run COMMAND as the stage NAME (ctx, stream, tool, session)
    #[arg(long, value_name = "NAME=COMMAND")]
    stage: Vec<String>,
    #[command(flatten)]
    head: Head,
    #[command(flatten)]
    common: Common,
}

/// What the loop is to do.
#[derive(Debug)]
pub(crate) struct Job {
    /// Options of nub-session; none: it takes what it takes by itself.
    pub session: Vec<OsString>,
    pub fresh: bool,
    pub head: Head,
    pub config: Config,
    /// The end of the input ends the work in hand.
    pub coprocess: bool,
    env: Vec<(&'static str, OsString)>,
    cwd: PathBuf,
}

impl Args {
    /// Reads the configuration, and gives where the log goes.
    pub(crate) fn job(self, coprocess: bool) -> Result<(Job, PathBuf), Fail> {
        let env = self.common.env();
        let Common { cwd, config, profile, .. } = self.common;
        let loaded = nub_conf::load(&Inputs { cwd, config, profile });
        let nub_conf::Loaded { mut config, paths, .. } = loaded.map_err(|e| Fail::usage(e.to_string()))?;
        if let Some(stage) = self.stage.iter().find(|stage| !config.stages.replace(stage)) {
            return Err(Fail::usage(format!("there is no stage '{stage}'"))
                .advice("--stage NAME=COMMAND, with NAME one of ctx, stream, tool, session"));
        }
        config.limits.max_turns = self.max_turns.map_or(config.limits.max_turns, NonZeroU32::get);
        let fresh = self.new || self.session.as_ref().is_some_and(|word| word == "new");
        let named = self.session.into_iter().flat_map(|word| ["-s".into(), word]);
        let session = if fresh { vec!["--new".into()] } else { named.collect() };
        let (cwd, log) = (paths.cwd.clone(), paths.log());
        Ok((Job { session, fresh, head: self.head, config, coprocess, env, cwd }, log))
    }
}

impl Job {
    pub(crate) fn command(&self, part: Part) -> Result<Command, Fail> {
        let stages = &self.config.stages;
        let (line, args): (_, &[&str]) = match part {
            Part::Ctx => (&stages.ctx, &["--stdin=records", "--format=ndjson"]),
            Part::Path => (&stages.session, &["path"]),
            Part::Session => (&stages.session, &["append", "--announce"]),
            Part::Tool => (&stages.tool, &["run", "--announce"]),
            Part::Stream | Part::Input => (&stages.stream, &[]),
        };
        let mut command = stage::command(line, args)?;
        command.current_dir(&self.cwd).envs(self.env.iter().cloned()).env("NUB_COPROCESS", "1");
        if part == Part::Ctx {
            // its work begins when its input has ended
            command.args(self.head.typed()).env_remove("NUB_COPROCESS");
        } else if part == Part::Path || part == Part::Session {
            command.args(&self.session);
        }
        Ok(command)
    }
}
