//! One request from its record to its terminal record.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

use nub_proto::{
    Asked, Block, Done, ErrorClass, ErrorRecord, Format, Line, MessageRecord, Meta, Model, Request, Retry,
    Stop, Usage, Warning,
};
use nub_sys::{clock, log};

use crate::adapter::{Adapter, Reading};
use crate::answer::{End, Event, Outcome, Progress};
use crate::body::Body;
use crate::cancel::{Cancel, Cancelled};
use crate::chat::Chat;
use crate::choose::{self, Chosen};
use crate::failure::Failure;
use crate::http::{Call, ERROR_BODY};
use crate::key::Key;
use crate::output::{Face, Output};
use crate::retry::{Again, Attempts};
use crate::target::Target;
use crate::wire::{Incoming, Wire};
use crate::{Job, Work, format, hint, models};

/// Stands for what must not be seen.
const MASK: &str = "***";
/// How often a model may try to give an answer its form.
const FORM_ROUNDS: u32 = 2;
/// How much of a body is read at once, in bytes.
const READ: usize = 64 << 10;

/// Asks models.
pub struct Asker<W: Write> {
    job: Job,
    out: Arc<Output<W>>,
    wire: Wire,
    chosen: Chosen,
    /// Keys by endpoint: a command that says one runs once.
    keys: BTreeMap<String, Key>,
    buffer: Vec<u8>,
}

/// What happens to the events of an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Show {
    /// They go out as they come.
    Live,
    /// The answer is checked first.
    Later,
}

impl<W: Write> Asker<W> {
    /// Asks over this wire and writes what happens.
    pub fn new(job: Job, out: Arc<Output<W>>, wire: Wire) -> Asker<W> {
        Asker { job, out, wire, chosen: Chosen::default(), keys: BTreeMap::new(), buffer: vec![0; READ] }
    }

    /// Answers a request record: events, then `message` and `done`, or `error`.
    ///
    /// # Errors
    /// What the `error` record says.
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
            return Err(cancelled());
        }
        let target = self.target(&request, cancel)?;
        let format = request.format.as_ref().filter(|_| !target.caps.json_schema);
        let mut outcome = match format {
            None => self.converse(&request, &target, cancel, Show::Live)?,
            Some(format) => self.formed(&request, format, &target, cancel)?,
        };
        outcome.usage = outcome.usage.or_else(|| Some(estimate(&request, &outcome)));
        let model = outcome.model.clone().unwrap_or_else(|| target.model.clone());
        let asked = Asked {
            model: if model == target.model { String::new() } else { target.model },
            max_tokens: request.max_tokens,
            temperature: request.temperature,
            tool_choice: request.tool_choice,
            format: request.format,
        };
        let meta = Meta {
            model: Some(model),
            endpoint: Some(target.endpoint.name.clone()),
            context: request.context,
            asked: (asked != Asked::default()).then_some(asked),
            ..Meta::default()
        };
        Ok((outcome, meta))
    }

    /// Where a request goes; a choice that nub made is told.
    fn target(&mut self, request: &Request, cancel: &Arc<Cancel>) -> Result<Target, Failure> {
        let (out, dry) = (&self.out, self.job.work == Work::DryRun);
        let mut tell = |message: String| {
            if dry || out.face() == Face::Text {
                nub_sys::warn("nub-stream", &message);
                return;
            }
            let code = "endpoint_chosen".into();
            out.write(&Warning { source: "nub-stream".into(), code, message });
        };
        choose::target(&self.job, request, &mut self.chosen, &mut self.wire, cancel, &mut tell)
    }

    fn key(&mut self, target: &Target, cancel: &Arc<Cancel>) -> Result<Key, Failure> {
        let name = &target.endpoint.name;
        if !self.wire.is_live() {
            return Ok(Key::none());
        }
        if let Some(key) = self.keys.get(name) {
            return Ok(key.clone());
        }
        let (endpoint, paths) = (target.endpoint.clone(), self.job.conf.paths.clone());
        let read = move || Key::of(&endpoint, &paths);
        // only a command takes long
        let key = if target.endpoint.api_key.starts_with("cmd:") {
            cancel.abandonable(read).map_err(|Cancelled| cancelled())??
        } else {
            read()?
        };
        self.keys.insert(name.clone(), key.clone());
        Ok(key)
    }

    /// An answer of a given form from an endpoint that cannot be made to keep to it.
    fn formed(
        &mut self,
        request: &Request,
        format: &Format,
        target: &Target,
        cancel: &Arc<Cancel>,
    ) -> Result<Outcome, Failure> {
        let mut asked = format::instructed(request, format);
        let mut fault = String::new();
        for _ in 0..FORM_ROUNDS {
            let mut outcome = self.converse(&asked, target, cancel, Show::Later)?;
            if outcome.stop == Stop::EndTurn {
                match format::check(&outcome.message, format) {
                    Ok(json) => outcome.message.content = vec![Block::text(json)],
                    Err(reason) => {
                        asked = format::corrected(asked, outcome.message, &reason);
                        fault = reason;
                        continue;
                    }
                }
            }
            for event in format::events(&outcome.message) {
                self.out.event(&event);
            }
            return Ok(outcome);
        }
        let what = format!("the answer does not match the schema '{}': {fault}", format.name);
        Err(Failure::new(ErrorClass::Protocol, what).hint("the model may be too small for this form"))
    }

    /// Asks until there is an answer or no reason to go on.
    fn converse(
        &mut self,
        request: &Request,
        target: &Target,
        cancel: &Arc<Cancel>,
        show: Show,
    ) -> Result<Outcome, Failure> {
        let key = self.key(target, cancel)?;
        let body = Chat.body(request, target)?;
        let mut attempts = Attempts::new(self.job.retries.unwrap_or(target.endpoint.retries));
        loop {
            let reading = Chat.answer(request, target, &body);
            let failure = match self.attempt(reading, target, &key, &body, cancel, show) {
                Ok(outcome) => return Ok(outcome),
                Err(failure) => failure,
            };
            if cancel.fired() {
                return Err(Failure { partial: failure.partial, ..cancelled() });
            }
            if failure.class == ErrorClass::Auth {
                // the next request reads the key again
                self.keys.remove(&target.endpoint.name);
            }
            let (again, failure) = attempts.next(hint::advise(failure, target, &key))?;
            self.tell_retry(&again, &failure);
            cancel.wait(again.delay).map_err(|Cancelled| cancelled())?;
        }
    }

    fn tell_retry(&self, again: &Again, failure: &Failure) {
        let delay_ms = u64::try_from(again.delay.as_millis()).unwrap_or(u64::MAX);
        let (attempt, max, message) = (again.attempt, again.max, failure.message.clone());
        log::write(log::Level::Warn, &format!("attempt {attempt} of {max} in {delay_ms} ms: {message}"));
        if self.out.face() == Face::Text {
            nub_sys::warn("nub-stream", &format!("{message}; trying again in {delay_ms} ms"));
        }
        let (class, status) = (failure.class, failure.status);
        self.out.write(&Retry { attempt, max, delay_ms, class, status, message });
        self.out.flush();
    }

    fn attempt(
        &mut self,
        reading: Box<dyn Reading>,
        target: &Target,
        key: &Key,
        body: &Body,
        cancel: &Arc<Cancel>,
        show: Show,
    ) -> Result<Outcome, Failure> {
        let mut headers = Chat.headers(key.secret(), body);
        headers.extend(key.headers());
        let url = target.url(Chat.operation());
        let call = Call { method: ureq::http::Method::POST, url, headers, body: body.bytes.clone() };
        let mut reply = self.wire.send(call, target, cancel)?;
        if !(200..300).contains(&reply.status) {
            let text = reply.read_short(ERROR_BODY);
            let failure = Chat.classify(reply.status, &reply.headers, &text);
            self.wire.keep(reply, key)?;
            return Err(failure);
        }
        let result = self.read(&mut reply, reading, target, show);
        if result.is_err() && cancel.fired() {
            self.wire.cancelled();
        } else {
            self.wire.keep(reply, key)?;
        }
        result
    }

    fn read(
        &mut self,
        reply: &mut Incoming,
        mut reading: Box<dyn Reading>,
        target: &Target,
        show: Show,
    ) -> Result<Outcome, Failure> {
        let out = &self.out;
        let mut sink = |event: Event<'_>| {
            if show == Show::Live {
                out.event(&event);
            }
        };
        let end = loop {
            let count = match reply.read(&mut self.buffer, target) {
                Ok(0) => break End::Eof,
                Ok(count) => count,
                Err(failure) => break End::Broken(failure),
            };
            if reading.feed(&self.buffer[..count], &mut sink)? == Progress::Finished {
                break End::Eof;
            }
            if out.is_broken() {
                return Err(Failure::new(ErrorClass::Cancelled, "nobody reads the answer"));
            }
        };
        reading.end(end, &mut sink)
    }

    /// What would be sent, as text, with the key masked.
    ///
    /// # Errors
    /// The request cannot be asked.
    pub fn show(&mut self, line: &Line, cancel: &Arc<Cancel>) -> Result<(), Failure> {
        let request: Request = line.read().map_err(|e| Failure::new(ErrorClass::Protocol, e.to_string()))?;
        let target = self.target(&request, cancel)?;
        let request = match request.format.clone().filter(|_| !target.caps.json_schema) {
            Some(format) => format::instructed(&request, &format),
            None => request,
        };
        let body = Chat.body(&request, &target)?;
        let key = (target.endpoint.api_key != "none").then_some(MASK);
        let mut headers = Chat.headers(key, &body);
        headers
            .extend(target.endpoint.headers.keys().map(|name| (name.to_ascii_lowercase(), MASK.to_owned())));
        let url = target.url(Chat.operation());
        let text = Call { method: ureq::http::Method::POST, url, headers, body: body.bytes }.shown();
        self.out.text(&text);
        self.out.flush();
        Ok(())
    }

    /// The models of the endpoint.
    ///
    /// # Errors
    /// It cannot be asked.
    pub fn models(&mut self, cancel: &Arc<Cancel>) -> Result<Vec<Model>, Failure> {
        let config = &self.job.conf.config;
        let name = self.job.endpoint.clone().unwrap_or_else(|| config.model.endpoint.clone());
        let endpoint = choose::endpoint(config, &name, &self.wire, cancel)?;
        let target = Target::new(endpoint, String::new());
        let key = self.key(&target, cancel)?;
        let mut list = models::list(&mut self.wire, &target, &key, cancel)?;
        if target.is_local() {
            for model in list.iter_mut().filter(|model| model.max_context == 0) {
                let target = Target { model: model.id.clone(), ..target.clone() };
                model.max_context = models::window(&mut self.wire, &target, &key, cancel).unwrap_or(0);
            }
        }
        Ok(list)
    }
}

fn cancelled() -> Failure {
    Failure::new(ErrorClass::Cancelled, "cancelled")
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
