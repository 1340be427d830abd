//! nub-stream: answers requests with a model. The only program that knows HTTP, server-sent events and
//! providers; see man/nub-stream.1.

pub mod adapter;
pub mod answer;
pub mod args;
mod ask;
mod assemble;
pub mod body;
mod cancel;
mod cassette;
pub mod chat;
mod choose;
mod chunk;
pub mod classify;
mod documents;
pub mod failure;
mod finish;
mod format;
mod hint;
mod hold;
mod http;
mod ids;
mod inbox;
mod key;
mod lenient;
mod models;
mod origin;
mod output;
mod proxy;
mod reader;
mod retry;
mod scan;
mod serve;
pub mod sse;
pub mod target;
mod text_calls;
mod think;
mod usage;
mod watch;
mod wire;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use nub_conf::{Inputs, Loaded};
use nub_sys::{Fail, log};

use args::Args;
use inbox::Ending;
use output::Face;

/// What is needed to answer requests.
#[derive(Debug)]
pub struct Job {
    conf: Loaded,
    model: Option<String>,
    endpoint: Option<String>,
    retries: Option<u32>,
    work: Work,
    record: Option<PathBuf>,
    replay: Option<PathBuf>,
    face: Face,
    ending: Ending,
}

/// What is done with the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    /// Requests are answered.
    Answer,
    /// Requests are shown, not sent.
    DryRun,
    /// The models of the endpoint are listed.
    ListModels,
}

/// Entry point.
pub fn main() -> ExitCode {
    let args = match nub_sys::parse::<Args>("nub-stream") {
        Ok(args) => args,
        Err(code) => return code,
    };
    nub_sys::run("nub-stream", || {
        let job = Job::new(&args)?;
        match job.work {
            Work::ListModels => serve::serve(job, io::empty(), io::stdout()),
            Work::Answer | Work::DryRun => serve::serve(job, io::stdin(), io::stdout()),
        }
    })
}

impl Job {
    fn new(args: &Args) -> Result<Job, Fail> {
        let inputs = Inputs {
            cwd: args.common.cwd.clone(),
            config: args.common.config.clone(),
            profile: args.common.profile.clone(),
        };
        let conf = nub_conf::load(&inputs).map_err(|e| Fail::usage(e.to_string()))?;
        let level = std::env::var("NUB_LOG").ok().and_then(|word| log::Level::parse(&word));
        log::start("nub-stream", conf.paths.log(), level.unwrap_or(log::Level::Warn));
        let coprocess = std::env::var_os("NUB_COPROCESS").is_some();
        if !coprocess && !args.common.quiet {
            for notice in &conf.warnings {
                nub_sys::warn("nub-stream", &notice.message);
            }
        }
        Ok(Job {
            conf,
            model: args.model.clone(),
            endpoint: args.endpoint.clone(),
            retries: args.retries,
            work: match (args.dry_run, args.list_models) {
                (true, _) => Work::DryRun,
                (_, true) => Work::ListModels,
                (false, false) => Work::Answer,
            },
            record: args.record.clone(),
            replay: args.replay.clone(),
            face: if args.format.is_text() { Face::Text } else { Face::Records },
            ending: if coprocess { Ending::Cancels } else { Ending::Finishes },
        })
    }
}
