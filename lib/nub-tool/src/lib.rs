//! nub-tool: runs the tools a model calls. See man/nub-tool.1.
//!
//! The story: everything that happens (lines of input, signals, ends of children and of calls) arrives in
//! one `inbox`; `run` passes lines on and hands calls to the `desk`, which begins each through the
//! table in `tools`, follows commands itself, and gives other work to threads.

mod args;
mod arguments;
mod bash;
mod call;
mod cancel;
mod command;
mod cut;
mod decode;
mod definition;
mod deny;
#[cfg(test)]
mod deny_tests;
mod desk;
mod diff;
mod edit;
mod environment;
#[cfg(test)]
mod file_tests;
mod fit;
mod follow;
mod git_folders;
mod glob;
mod grep;
mod hand;
mod ignored;
mod inbox;
mod jail;
mod list;
mod magic;
mod matches;
mod names;
mod nearest;
mod outcome;
mod pace;
mod permissions;
mod place;
mod preview;
mod read;
mod replace;
mod run;
mod spill;
mod stamps;
#[cfg(test)]
mod tests;
mod text;
mod title;
mod todo;
mod tools;
mod walk;
mod write;

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nub_conf::Loaded;
use nub_proto::Writer;
use nub_sys::log::{self, Level};
use nub_sys::process::{self, Reaper};
use nub_sys::{Exit, Fail, Format, signal};

use crate::args::{Args, Verb};
use crate::bash::Shell;
use crate::call::One;
use crate::desk::{Asking, AtEnd};
use crate::inbox::{Event, Inbox, Outbox};
use crate::run::Job;
use crate::tools::Bench;

const NAME: &str = "nub-tool";
/// Between SIGTERM and SIGKILL for what still runs when the program ends.
const GRACE: Duration = Duration::from_millis(50);
/// A signal that is not heard after this time never will be.
const DEAF: Duration = Duration::from_millis(90);
/// No call takes longer, whatever the configuration says.
const LONGEST: Duration = Duration::from_secs(30 * 86_400);

/// Entry point.
pub fn main() -> ExitCode {
    let args = match nub_sys::parse::<Args>(NAME) {
        Ok(args) => args,
        Err(code) => return code,
    };
    nub_sys::run(NAME, || start(&args))
}

fn start(args: &Args) -> Result<Exit, Fail> {
    if let Verb::List { format } = args.verb {
        return list(format);
    }
    let is_coprocess = std::env::var_os("NUB_COPROCESS").is_some();
    let loaded = nub_conf::load(&args.inputs()).map_err(|e| Fail::usage(e.to_string()))?;
    log::start(NAME, loaded.paths.log(), level());
    // a fault in a call is an error result, and its story belongs into the log
    std::panic::set_hook(Box::new(|fault| log::write(Level::Error, &fault.to_string())));
    if !is_coprocess && !args.common.quiet {
        warn(&loaded);
    }
    signal::survive_file_limit().map_err(|e| Fail::failure(format!("cannot start: {e}")))?;
    let reaper = Reaper::default();
    let bench = Arc::new(bench(&loaded, reaper.clone())?);
    let (inbox, outbox) = reaper
        .listen()
        .and_then(Inbox::new)
        .map_err(|e| Fail::failure(format!("cannot listen to children: {e}")))?;
    watch(outbox.clone(), reaper.clone())?;
    let (asking, at_end) = match &args.verb {
        Verb::Run { no_ask: false, .. } if is_coprocess => (Asking::Possible, AtEnd::Cancel),
        Verb::Run { .. } if is_coprocess => (Asking::Impossible, AtEnd::Cancel),
        Verb::Run { .. } | Verb::Call { .. } | Verb::List { .. } => (Asking::Impossible, AtEnd::Finish),
    };
    let job = Job { bench, config: loaded.config, announce: Vec::new(), asking, at_end, inbox, outbox };
    // a fault of ours must not leave processes behind
    let done = catch_unwind(AssertUnwindSafe(|| work(args, job)))
        .unwrap_or_else(|_| Err(Fail::failure("internal error, a fault of nub").advice("the log says more")));
    reaper.close();
    process::end_all(GRACE);
    done
}

fn work(args: &Args, mut job: Job) -> Result<Exit, Fail> {
    match &args.verb {
        Verb::List { format } => list(*format),
        Verb::Call { name, json, format } => {
            let one = One::read(name, json, io::stdin())?;
            call::run(job, one, format.is_text(), io::stdout())
        }
        Verb::Run { announce, .. } => {
            if *announce {
                job.announce = list::records().map_err(|e| Fail::failure(e.to_string()))?;
            }
            let input = io::stdin().as_fd().try_clone_to_owned();
            let input = input.map_err(|e| Fail::failure(format!("cannot read stdin: {e}")))?;
            run::run(job, input.into(), io::stdout())
        }
    }
}

fn list(format: Format) -> Result<Exit, Fail> {
    let records = list::records().map_err(|e| Fail::failure(e.to_string()))?;
    let mut output = io::stdout();
    if format.is_text() {
        output.write_all(list::table(&records).as_bytes()).map_err(|e| Fail::output(&e))?;
    } else {
        let mut writer = Writer::new(&mut output);
        records.iter().try_for_each(|record| writer.write(record)).map_err(|e| Fail::output(&e))?;
        writer.flush().map_err(|e| Fail::output(&e))?;
    }
    Ok(Exit::Success)
}

fn level() -> Level {
    std::env::var("NUB_LOG").ok().and_then(|word| Level::parse(&word)).unwrap_or(Level::Warn)
}

fn warn(loaded: &Loaded) {
    for notice in &loaded.warnings {
        // a closed stderr is no reason to fail
        drop(io::stderr().write_all(format!("{NAME}: warning: {}\n", notice.message).as_bytes()));
    }
}

fn bench(loaded: &Loaded, reaper: Reaper) -> Result<Bench, Fail> {
    let Loaded { config, paths, .. } = loaded;
    let pwd = std::env::var_os("PWD").map(PathBuf::from);
    let deny = &config.permissions.deny_paths;
    let place = place::Place::open(paths, pwd.as_deref(), deny).map_err(Fail::usage)?;
    let secrets = nub_conf::secret_names(config);
    let program = ["bash", "sh"].iter().find_map(|name| nub_sys::sibling::on_path(name));
    let shell = Shell {
        program: program.unwrap_or_else(|| "/bin/sh".into()),
        paths: paths.clone(),
        environment: environment::build(std::env::vars_os(), &secrets, &config.permissions.pass_env),
        max_time: Duration::try_from_secs_f64(config.limits.max_tool_time).unwrap_or(LONGEST).min(LONGEST),
        reaper,
        background: Mutex::default(),
    };
    Ok(Bench { place, shell })
}

/// A signal becomes an event. When that is not heard, since stdout is stuck, everything is ended from
/// here.
fn watch(outbox: Outbox, reaper: Reaper) -> Result<(), Fail> {
    let react = move |signal| {
        let (hear, heard) = sync_channel(1);
        let is_sent = outbox.send(Event::Signal(hear));
        if is_sent && heard.recv_timeout(DEAF).is_err() {
            reaper.close();
            process::end_all(GRACE);
            signal::die(signal);
        }
    };
    signal::watch(react).map_err(|e| Fail::failure(format!("cannot watch for signals: {e}")))
}
