//! nub-ctx: builds a request from a prompt, files, piped text, the conversation so far and what the
//! repository says about itself. See man/nub-ctx.1.

mod args;
mod attach;
mod base;
mod environment;
mod explain;
mod files;
mod head;
mod hidden;
mod stdin;
#[cfg(test)]
mod tests;
mod tools;

use std::io::{Read, Write};
use std::process::ExitCode;
use std::sync::mpsc;
use std::{env, io, thread};

use nub_conf::{Inputs, Loaded};
use nub_proto::{Context, Message, Request, Warning, Writer, repair};
use nub_sys::{Exit, Fail, log, signal, tty};

use crate::args::{Args, Form, Job};

const NAME: &str = "nub-ctx";

/// Entry point.
#[must_use]
pub fn main() -> ExitCode {
    let args: Args = match nub_sys::parse(NAME) {
        Ok(args) => args,
        Err(exit) => return exit,
    };
    nub_sys::run(NAME, || {
        let inputs = Inputs {
            cwd: args.common.cwd.clone(),
            config: args.common.config.clone(),
            profile: args.common.profile.clone(),
        };
        let loaded = nub_conf::load(&inputs).map_err(|e| Fail::usage(e.to_string()))?;
        let level = env::var("NUB_LOG").ok().and_then(|word| log::Level::parse(&word));
        log::start(NAME, loaded.paths.log(), level.unwrap_or(log::Level::Warn));
        let job = args.job(tty::stdin(), tty::stdout())?;
        unless_cancelled(move || run(&job, &loaded, io::stdin(), io::stdout()))
    })
}

/// Does the work on a thread, since reading stdin cannot be interrupted: a signal ends the wait, and
/// the end of the process ends the thread.
fn unless_cancelled(work: impl FnOnce() -> Result<Exit, Fail> + Send + 'static) -> Result<Exit, Fail> {
    let failed = |e: io::Error| Fail::failure(format!("cannot start a thread: {e}"));
    let (done, end) = mpsc::channel();
    let cancelled = done.clone();
    // whoever comes second finds nobody waiting
    signal::watch(move |_| drop(cancelled.send(Ok(Exit::Cancelled)))).map_err(failed)?;
    thread::Builder::new().spawn(move || drop(done.send(work()))).map_err(failed)?;
    end.recv().unwrap_or_else(|_| Err(Fail::failure("the work ended without a word")))
}

/// Builds the request and writes it.
fn run(job: &Job, loaded: &Loaded, input: impl Read, output: impl Write) -> Result<Exit, Fail> {
    let mut writer = Writer::new(output);
    let cwd = &loaded.paths.cwd;
    let taken = stdin::take(job, cwd, input, &mut writer)?;
    let listing = tools::start(job, cwd, &taken.tools)?;
    let mut warnings: Vec<Warning> = loaded.warnings.iter().map(|n| warning(n.code, &n.message)).collect();
    let window = head::window(job, loaded);
    let files = files::read(job, loaded, window, &mut warnings);
    let tools = tools::choose(job, cwd, taken.tools, listing)?;
    let context = head::context(job, loaded, tools, files, window, &mut warnings)?;
    let request = request(job, loaded, taken.messages, &context)?;
    for warning in &warnings {
        log::write(log::Level::Warn, &warning.message);
    }
    match job.form {
        Form::Records => records(job, &mut writer, &warnings, &context, &request),
        Form::Text => {
            for warning in warnings.iter().filter(|_| !job.quiet) {
                nub_sys::warn(NAME, &warning.message);
            }
            writer.raw(explain::text(job, &context, &request).trim_end().as_bytes())
        }
    }
    .and_then(|()| writer.flush())
    .map_err(|e| Fail::output(&e))?;
    Ok(Exit::Success)
}

fn records(
    job: &Job,
    writer: &mut Writer<impl Write>,
    warnings: &[Warning],
    context: &Context,
    request: &Request,
) -> io::Result<()> {
    warnings.iter().try_for_each(|warning| writer.write(warning))?;
    writer.write(context)?;
    if job.explain { Ok(()) } else { writer.write(request) }
}

fn warning(code: &str, message: &str) -> Warning {
    Warning { source: NAME.into(), code: code.into(), message: message.into() }
}

fn request(
    job: &Job,
    loaded: &Loaded,
    mut messages: Vec<Message>,
    context: &Context,
) -> Result<Request, Fail> {
    if let Some(name) = job.endpoint.as_deref().filter(|name| loaded.config.endpoint(name).is_none()) {
        return Err(Fail::usage(format!("there is no endpoint '{name}'")).advice(
            "name an [[endpoint]] of config.toml, or one that nub knows (openai, anthropic, ollama, ...)",
        ));
    }
    repair(&mut messages);
    let model = &loaded.config.model;
    Ok(Request {
        model: job.model.clone().unwrap_or_else(|| model.default.clone()),
        endpoint: job.endpoint.clone().unwrap_or_else(|| model.endpoint.clone()),
        system: context.system.clone(),
        messages,
        tools: context.tools.clone(),
        max_tokens: job.max_tokens,
        temperature: job.temperature,
        tool_choice: None,
        format: job.schema.as_deref().map(|path| attach::schema(&loaded.paths.cwd.join(path))).transpose()?,
        context: Some(context.id.clone()),
    })
}
