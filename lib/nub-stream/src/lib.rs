//! nub-stream: answers requests with a model. The only program that knows HTTP, server-sent events and
//! providers; see man/nub-stream.1.

pub mod adapter;
pub mod answer;
pub mod args;
mod ask;
mod assemble;
pub mod body;
mod cancel;
pub mod chat;
mod chunk;
pub mod classify;
mod documents;
pub mod failure;
mod finish;
mod hint;
mod hold;
mod http;
mod ids;
mod inbox;
mod key;
mod lenient;
mod origin;
mod output;
mod proxy;
mod reader;
mod retry;
mod scan;
mod serve;
mod sse;
pub mod target;
mod text_calls;
mod think;
mod usage;
mod watch;
mod wire;

use std::io::{self, Write};
use std::process::ExitCode;

use nub_conf::{Endpoint, Inputs, Loaded};
use nub_proto::{ErrorClass, Request};
use nub_sys::{Exit, Fail, log, tty};

use args::Args;
use failure::Failure;
use inbox::Ending;
use output::Face;
use target::Target;

/// What is needed to answer requests.
#[derive(Debug)]
pub struct Job {
    conf: Loaded,
    model: Option<String>,
    endpoint: Option<String>,
    retries: Option<u32>,
    face: Face,
    ending: Ending,
}

/// Entry point.
pub fn main() -> ExitCode {
    let args = match nub_sys::parse::<Args>("nub-stream") {
        Ok(args) => args,
        Err(code) => return code,
    };
    nub_sys::run("nub-stream", || {
        let job = Job::new(&args)?;
        serve::serve(job, io::stdin(), io::stdout())
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
                // a closed stderr is no reason to stop
                drop(writeln!(io::stderr(), "nub-stream: warning: {}", notice.message));
            }
        }
        Ok(Job {
            conf,
            model: args.model.clone(),
            endpoint: args.endpoint.clone(),
            retries: args.retries,
            face: args.format.face(tty::stdout()),
            ending: if coprocess { Ending::Cancels } else { Ending::Finishes },
        })
    }

    /// Where a request goes.
    fn target(&self, request: &Request) -> Result<Target, Failure> {
        let config = &self.conf.config;
        let first = |typed: &Option<String>, asked: &str, configured: &str| {
            typed.clone().unwrap_or_else(|| if asked.is_empty() { configured } else { asked }.to_owned())
        };
        let endpoint = first(&self.endpoint, &request.endpoint, &config.model.endpoint);
        let model = first(&self.model, &request.model, &config.model.default);
        let found = config.endpoints.iter().find(|known| known.name == endpoint);
        let endpoint: Endpoint = found
            .cloned()
            .ok_or_else(|| Failure::new(ErrorClass::Config, format!("there is no endpoint '{endpoint}'")))?;
        let mut caps = nub_conf::Caps::default();
        endpoint.caps.apply(&mut caps);
        Ok(Target { endpoint, model, caps, fixed_temperature: false })
    }

    fn retries(&self, target: &Target) -> u32 {
        self.retries.unwrap_or(target.endpoint.retries)
    }

    fn exit(&self) -> Exit {
        Exit::Success
    }
}
