//! The filter: requests are answered in order, everything else is passed on.

use std::io::{Read, Write};
use std::sync::Arc;

use nub_proto::{ErrorClass, Model, Request};
use nub_sys::{Exit, Fail, signal};

use crate::ask::Asker;
use crate::cassette::{Player, Recorder};
use crate::failure::Failure;
use crate::http::Client;
use crate::inbox::{Inbox, Next};
use crate::output::{Face, Output, harmless};
use crate::wire::Wire;
use crate::{Job, Work};

/// Serves until the input ends.
///
/// # Errors
/// The input holds something else than records, or the output cannot be written.
pub fn serve(
    job: Job,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
) -> Result<Exit, Fail> {
    let inbox = Inbox::open(input, job.ending).map_err(|e| Fail::failure(format!("cannot start: {e}")))?;
    let stopped = inbox.clone();
    signal::watch(move |_| stopped.stop())
        .map_err(|e| Fail::failure(format!("cannot watch signals: {e}")))?;
    let out = Arc::new(Output::new(output, job.face));
    let (work, wire) = (job.work, wire(&job, &out)?);
    let mut asker = Asker::new(job, out.clone(), wire);
    if work == Work::ListModels {
        return list(&mut asker, &out, &inbox);
    }
    let mut worst = Exit::Success;
    loop {
        if !inbox.ready() {
            out.flush();
        }
        if let Some(e) = out.fault() {
            return Err(Fail::output(&e));
        }
        match inbox.next() {
            Next::Line(line) if line.is::<Request>() => {
                let cancel = inbox.begin();
                let answered = match work {
                    Work::DryRun => asker.show(&line, &cancel),
                    Work::Answer | Work::ListModels => asker.answer(&line, &cancel),
                };
                inbox.finish();
                if let Err(failure) = answered {
                    worst = exit(failure.class);
                    if out.face() == Face::Text {
                        out.flush();
                        return Err(told(failure));
                    }
                }
            }
            Next::Line(line) => out.pass(&line),
            Next::Bad(e) => {
                out.flush();
                return Err(Fail::usage(e.to_string()));
            }
            Next::End => break,
            Next::Stopped => {
                worst = Exit::Cancelled;
                break;
            }
        }
    }
    out.flush();
    match out.fault() {
        Some(e) => Err(Fail::output(&e)),
        None if worst == Exit::Success => Ok(worst),
        None => Err(Fail::quiet(worst)),
    }
}

/// The other side that the job asks for.
fn wire<W: Write + Send + 'static>(job: &Job, out: &Arc<Output<W>>) -> Result<Wire, Fail> {
    if let Some(path) = &job.replay {
        return Player::open(path).map(Wire::Recorded).map_err(Fail::usage);
    }
    let recorder = match &job.record {
        Some(path) => Some(
            Recorder::create(path)
                .map_err(|e| Fail::usage(format!("cannot write the cassette '{}': {e}", path.display())))?,
        ),
        None => None,
    };
    let flushed = out.clone();
    Ok(Wire::Live(Box::new(Client::new(Arc::new(move || flushed.flush()))), recorder))
}

/// Prints the models of the endpoint.
fn list<W: Write>(asker: &mut Asker<W>, out: &Output<W>, inbox: &Inbox) -> Result<Exit, Fail> {
    let models = asker.models(&inbox.begin()).map_err(told)?;
    let width = models.iter().map(|model| model.id.chars().count()).max().unwrap_or(0);
    for model in &models {
        match out.face() {
            Face::Records => out.write(model),
            Face::Text => out.text(&row(model, width)),
        }
    }
    out.flush();
    out.fault().map_or(Ok(Exit::Success), |e| Err(Fail::output(&e)))
}

fn row(model: &Model, width: usize) -> String {
    let id = harmless(&model.id);
    let window = if model.max_context == 0 { "?".to_owned() } else { model.max_context.to_string() };
    format!("{id:width$}  {window:>9}\n")
}

fn exit(class: ErrorClass) -> Exit {
    Exit::of_code(Some(i32::from(class.exit_code())))
}

/// A failure for a person.
fn told(failure: Failure) -> Fail {
    let fail = Fail::new(exit(failure.class), failure.message);
    match failure.hint {
        Some(hint) => fail.advice(hint),
        None => fail,
    }
}
