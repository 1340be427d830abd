//! nub, for people: print mode, the line session, the demo, and the way to every other program. A pure
//! consumer of nub-loop's records: it holds no agent logic.

mod args;
mod demo;
mod dispatch;
mod engine;
mod pages;
mod print;
mod prompt;
mod show;
mod supervise;
mod talk;
#[cfg(test)]
mod tests;
mod typist;
mod view;

use std::ffi::OsString;
use std::process::ExitCode;

use nub_sys::{Exit, Fail, tty};

use args::{Args, Job};
use prompt::Piped;
use view::Screen;

pub use pages::Page;

/// The program's name in its diagnostics.
const NAME: &str = "nub";

/// Entry point. The pages are those that `nub help` shows.
#[must_use]
pub fn main(pages: &[Page]) -> ExitCode {
    let typed: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let Some(name) = typed.first().filter(|word| !word.as_encoded_bytes().starts_with(b"-")) {
        let rest = &typed[1..];
        match name.to_str() {
            Some("resume") => return start(args::resume(rest)),
            Some("demo") => return demo::main(rest),
            Some("help") => return nub_sys::run(NAME, || pages::help(pages, rest)),
            Some("sessions") => return become_program("session", "list", rest),
            Some("models") => return become_program("stream", "--list-models", rest),
            Some(_) | None => {
                return nub_sys::run(NAME, || dispatch::run(&name.to_string_lossy(), rest));
            }
        }
    }
    start(typed)
}

/// A short name for another program's command.
fn become_program(name: &str, command: &str, rest: &[OsString]) -> ExitCode {
    let words = [&[command.into()], rest].concat();
    nub_sys::run(NAME, || dispatch::run(name, &words))
}

/// Print mode or the line session.
fn start(typed: Vec<OsString>) -> ExitCode {
    let args = match args::parse::<Args>(typed) {
        Ok(args) => args,
        Err(code) => return code,
    };
    nub_sys::run(NAME, || {
        let kept = std::env::var_os("NUB_SESSION").is_some_and(|session| !session.is_empty());
        run(args.job(kept)?)
    })
}

fn run(job: Job) -> Result<Exit, Fail> {
    let screen = Screen::look(job.noise);
    let Some(ask) = job.print else {
        return talk::run(job.command, screen);
    };
    let piped = if tty::stdin() { None } else { Some(Piped { input: std::io::stdin() }) };
    let input = prompt::assemble(&ask, piped)?;
    print::run(job.command, ask.mode, screen, input)
}
