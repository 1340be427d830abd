//! Print mode: one prompt, the answer on stdout, the end.

use std::io::{self, Write};
use std::process::{ChildStdout, ExitStatus};

use nub_proto::{InputRecord, PermissionRequest, Reader, Record, RunResult, Writer};
use nub_sys::{Exit, Fail};

use crate::args::{Command, Mode};
use crate::engine::{Changes, Engine};
use crate::show::{self, Seen, Show};
use crate::supervise::{Manner, Watch, supervise};
use crate::view::{Screen, View};

/// Asks once.
///
/// # Errors
/// nub-loop cannot be started, says something that is no record, or needs the user's word.
pub(crate) fn run(command: Command, mode: Mode, screen: Screen, input: InputRecord) -> Result<Exit, Fail> {
    supervise(
        Manner::Once,
        || {},
        move |watch| match mode {
            Mode::Text => text(watch, &command, &[], &input, &mut View::real(screen)),
            Mode::Json => json(watch, &command, &input, io::stdout()),
        },
    )
}

/// The answer as text.
///
/// # Errors
/// As [`run`].
pub(crate) fn text<O: Write, E: Write>(
    watch: &Watch,
    command: &Command,
    changes: &Changes,
    input: &InputRecord,
    view: &mut View<O, E>,
) -> Result<Exit, Fail> {
    let mut show = Show::default();
    ask(watch, command, changes, input, |raw, more| {
        let seen = show.record(raw, view)?;
        match more {
            More::Here => {}
            More::Later => view.flush()?,
        }
        Ok(match seen {
            Seen::Ask(request) => Step::Refuse(refusal(&request)),
            Seen::Result(result) => Step::End(show::exit(result.exit)),
            Seen::Nothing | Seen::Ready(_) => Step::On,
        })
    })
}

/// Every record, and nothing else.
fn json(watch: &Watch, command: &Command, input: &InputRecord, out: impl Write) -> Result<Exit, Fail> {
    let mut writer = Writer::new(out);
    ask(watch, command, &[], input, |raw, more| {
        let written = writer.pass(raw).and_then(|()| match more {
            More::Here => Ok(()),
            More::Later => writer.flush(),
        });
        written.map_err(|e| Fail::output(&e))?;
        let read = |e| Fail::usage(format!("nub-loop: {e}"));
        Ok(match raw.kind() {
            PermissionRequest::TYPE => Step::Refuse(refusal(&raw.read().map_err(read)?)),
            RunResult::TYPE => Step::End(show::exit(raw.read::<RunResult>().map_err(read)?.exit)),
            _ => Step::On,
        })
    })
}

/// Whether more is here already. If not, what was written is flushed.
enum More {
    Here,
    Later,
}

/// What a record leads to.
enum Step {
    On,
    End(Exit),
    Refuse(Fail),
}

fn ask(
    watch: &Watch,
    command: &Command,
    changes: &Changes,
    input: &InputRecord,
    mut each: impl FnMut(&nub_proto::Line, More) -> Result<Step, Fail>,
) -> Result<Exit, Fail> {
    let (running, output) = Engine::start(command, changes)?;
    let engine = running.engine.clone();
    let mut end = watch.hold(&engine).map(|()| None);
    if end.is_ok() {
        engine.say(input);
        end = pump(watch, &engine, output, &mut each);
    }
    watch.closing(match &end {
        Ok(exit) => exit.unwrap_or(Exit::Failure),
        Err(fail) => fail.exit(),
    });
    let status = running.finish()?;
    match end? {
        Some(exit) => Ok(exit),
        None => Err(watch.ended().unwrap_or_else(|| unfinished(status))),
    }
}

/// Reads records to the end of the loop's output. After the result its input is closed, so it ends.
fn pump(
    watch: &Watch,
    engine: &Engine,
    output: ChildStdout,
    each: &mut impl FnMut(&nub_proto::Line, More) -> Result<Step, Fail>,
) -> Result<Option<Exit>, Fail> {
    let mut reader = Reader::new(output);
    let mut end = None;
    let mut refused = None;
    while let Some(raw) = reader.next_line().map_err(|e| Fail::usage(format!("nub-loop: {e}")))? {
        let more = if reader.has_line() { More::Here } else { More::Later };
        match each(&raw, more)? {
            Step::On => {}
            Step::End(exit) => {
                end = Some(exit);
                engine.close();
            }
            Step::Refuse(fail) => {
                engine.cancel();
                watch.closing(fail.exit());
                refused = Some(fail);
            }
        }
    }
    refused.map_or(Ok(end), Err)
}

/// nub-loop ended without a result. What was wrong it said itself, on stderr, unless it was killed.
pub(crate) fn unfinished(status: ExitStatus) -> Fail {
    match status.code() {
        Some(code @ 1..=4) => Fail::quiet(show::exit(u8::try_from(code).unwrap_or(1))),
        Some(_) | None => Fail::failure(format!("nub-loop ended without a result ({status})")),
    }
}

/// Nobody is there to be asked.
pub(crate) fn refusal(request: &PermissionRequest) -> Fail {
    Fail::usage(format!("'{}' needs your word, and there is nobody to ask: {}", request.name, request.title))
        .advice(format!("set permissions.{} to \"auto\" or \"deny\"", request.name))
}
