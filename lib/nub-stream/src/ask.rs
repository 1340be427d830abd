//! One request from its record to its terminal record.

use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

use nub_proto::{Done, ErrorClass, ErrorRecord, Line, MessageRecord, Meta, Request, Retry, Usage};
use nub_sys::{clock, log};

use crate::Job;
use crate::adapter::{Adapter, Reading};
use crate::answer::{End, Outcome, Progress};
use crate::body::Body;
use crate::cancel::Cancel;
use crate::chat::Chat;
use crate::failure::Failure;
use crate::hint;
use crate::http::{Call, ERROR_BODY};
use crate::key::Key;
use crate::output::Output;
use crate::retry::Attempts;
use crate::target::Target;
use crate::wire::{Incoming, Wire};

/// How much of a body is read at once, in bytes.
const READ: usize = 64 << 10;

/// Asks models.
pub struct Asker<W: Write> {
    job: Job,
    out: Arc<Output<W>>,
    wire: Wire,
    buffer: Vec<u8>,
}

impl<W: Write> Asker<W> {
    /// Asks over this wire and writes what happens.
    pub fn new(job: Job, out: Arc<Output<W>>, wire: Wire) -> Asker<W> {
        Asker { job, out, wire, buffer: vec![0; READ] }
    }

    /// Answers a request record: events, then `message` and `done`, or `error`. Returns what went wrong.
    pub fn answer(&mut self, line: &Line, cancel: &Arc<Cancel>) -> Result<(), Failure> {
        let (began, created_at) = (Instant::now(), clock::now());
        let asked = line
            .read::<Request>()
            .map_err(|e| Failure::new(ErrorClass::Protocol, e.to_string()))
            .and_then(|request| self.ask(request, cancel));
        let result = match asked {
            Ok((outcome, meta)) => {
                let stop = outcome.stop;
                let meta = Meta {
                    stop: Some(stop),
                    usage: outcome.usage,
                    created_at: Some(created_at),
                    duration_ms: u64::try_from(began.elapsed().as_millis()).ok(),
                    ..meta
                };
                self.out.write(&MessageRecord { message: outcome.message, meta: Some(meta) });
                self.out.write(&Done { stop, usage: outcome.usage });
                Ok(())
            }
            Err(failure) => {
                log::write(log::Level::Warn, &format!("{:?}: {}", failure.class, failure.message));
                self.out.write(&record(&failure));
                Err(failure)
            }
        };
        self.out.flush();
        result
    }

    fn ask(&mut self, request: Request, cancel: &Arc<Cancel>) -> Result<(Outcome, Meta), Failure> {
        if cancel.fired() {
            return Err(Failure::new(ErrorClass::Cancelled, "cancelled"));
        }
        let target = self.job.target(&request)?;
        let outcome = self.converse(&request, &target, cancel)?;
        let meta = Meta {
            model: Some(outcome.model.clone().unwrap_or_else(|| target.model.clone())),
            endpoint: Some(target.endpoint.name.clone()),
            context: request.context,
            ..Meta::default()
        };
        Ok((outcome, meta))
    }

    /// Asks until there is an answer or no reason to go on.
    fn converse(
        &mut self,
        request: &Request,
        target: &Target,
        cancel: &Arc<Cancel>,
    ) -> Result<Outcome, Failure> {
        let key = if self.wire.is_live() { Key::of(target)? } else { Key::none() };
        let body = Chat.body(request, target)?;
        let mut attempts = Attempts::new(self.job.retries(target));
        loop {
            let failure = match self.attempt(request, target, &key, &body, cancel) {
                Ok(outcome) => return Ok(outcome),
                Err(failure) => failure,
            };
            if cancel.fired() {
                let partial = failure.partial;
                return Err(Failure { partial, ..Failure::new(ErrorClass::Cancelled, "cancelled") });
            }
            let (again, failure) =
                attempts.next(failure).map_err(|failure| hint::advise(failure, target, &key))?;
            let delay_ms = u64::try_from(again.delay.as_millis()).unwrap_or(u64::MAX);
            let (class, status, message) = (failure.class, failure.status, failure.message);
            log::write(
                log::Level::Warn,
                &format!("attempt {} of {} in {delay_ms} ms: {message}", again.attempt, again.max),
            );
            self.out.write(&Retry {
                attempt: again.attempt,
                max: again.max,
                delay_ms,
                class,
                status,
                message,
            });
            self.out.flush();
            if cancel.wait(again.delay).is_err() {
                return Err(Failure::new(ErrorClass::Cancelled, "cancelled"));
            }
        }
    }

    fn attempt(
        &mut self,
        request: &Request,
        target: &Target,
        key: &Key,
        body: &Body,
        cancel: &Arc<Cancel>,
    ) -> Result<Outcome, Failure> {
        let mut headers = Chat.headers(key.secret(), body);
        headers.extend(key.headers().iter().cloned());
        let call = Call {
            method: ureq::http::Method::POST,
            url: target.url(Chat.operation()),
            headers,
            body: body.bytes.clone(),
        };
        let mut reply = self.wire.send(call, target, cancel)?;
        if !(200..300).contains(&reply.status()) {
            let text = reply.read_short(ERROR_BODY);
            let failure = Chat.classify(reply.status(), reply.headers(), &text);
            self.wire.keep(reply)?;
            return Err(failure);
        }
        let reading = Chat.answer(request, target, body);
        let result = self.read(&mut reply, reading, target);
        if result.is_err() && cancel.fired() {
            self.wire.cancelled();
        } else {
            self.wire.keep(reply)?;
        }
        result
    }

    fn read(
        &mut self,
        reply: &mut Incoming,
        mut reading: Box<dyn Reading>,
        target: &Target,
    ) -> Result<Outcome, Failure> {
        let out = &self.out;
        let mut sink = |event: crate::answer::Event<'_>| out.event(&event);
        let end = loop {
            let count = match reply.read(&mut self.buffer, target) {
                Ok(0) => break End::Eof,
                Ok(count) => count,
                Err(failure) => break End::Broken(failure),
            };
            if matches!(reading.feed(&self.buffer[..count], &mut sink)?, Progress::Finished) {
                break End::Eof;
            }
            if out.is_broken() {
                return Err(Failure::new(ErrorClass::Cancelled, "nobody reads the answer"));
            }
        };
        reading.end(end, &mut sink)
    }
}

fn record(failure: &Failure) -> ErrorRecord {
    ErrorRecord {
        source: "nub-stream".into(),
        class: failure.class,
        message: failure.message.clone(),
        status: failure.status,
        retryable: failure.retryable,
        hint: failure.hint.clone(),
        retry_after_ms: failure.retry_after_ms,
        partial: failure.partial.clone(),
    }
}

/// What the tokens of an answer would be, where a server counts none.
#[must_use]
pub fn estimate(request: &Request, outcome: &Outcome) -> Usage {
    let system: u64 = request.system.iter().map(nub_tokens::block).sum();
    let tools: u64 = request.tools.iter().map(nub_tokens::tool_def).sum();
    let messages: u64 = request.messages.iter().map(nub_tokens::message).sum();
    Usage {
        input_tokens: system + tools + messages,
        output_tokens: nub_tokens::message(&outcome.message),
        estimated: true,
        ..Usage::default()
    }
}
