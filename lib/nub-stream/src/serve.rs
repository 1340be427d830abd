//! The filter: requests are answered in order, everything else is passed on.

use std::io::{Read, Write};
use std::sync::Arc;

use nub_proto::{ErrorClass, Request};
use nub_sys::{Exit, Fail, signal};

use crate::Job;
use crate::ask::Asker;
use crate::failure::Failure;
use crate::http::Client;
use crate::inbox::{Inbox, Next};
use crate::output::{Face, Output};
use crate::wire::Wire;

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
    let flushed = out.clone();
    let client = Client::new(Arc::new(move || flushed.flush()));
    let mut asker = Asker::new(job, out.clone(), Wire::Live(client));
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
                let answered = asker.answer(&line, &cancel);
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

fn exit(class: ErrorClass) -> Exit {
    match class {
        ErrorClass::Cancelled => Exit::Cancelled,
        ErrorClass::Config | ErrorClass::Protocol => Exit::Usage,
        ErrorClass::Limit => Exit::Limit,
        ErrorClass::RateLimit
        | ErrorClass::Server
        | ErrorClass::Network
        | ErrorClass::Timeout
        | ErrorClass::Truncated
        | ErrorClass::ContextLength
        | ErrorClass::BadRequest
        | ErrorClass::Auth
        | ErrorClass::Internal => Exit::Failure,
    }
}

/// A failure for a person.
fn told(failure: Failure) -> Fail {
    let fail = Fail::new(exit(failure.class), failure.message);
    match failure.hint {
        Some(hint) => fail.advice(hint),
        None => fail,
    }
}
