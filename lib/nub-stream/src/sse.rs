//! Server-sent events from bytes that are cut anywhere, as tolerant as servers are careless.

use nub_proto::ErrorClass;

use crate::answer::Progress;
use crate::failure::Failure;
use crate::scan::{Scan, line_ends};

/// The longest line, and the longest event, in bytes.
pub const MAX_EVENT: usize = 16 << 20;

/// How much of a line is looked at before it is complete, in bytes.
const BEGINNING: usize = 64;
/// How much of a text that is no event is kept for the message.
const SHOWN: usize = 200;

/// Something that the stream says.
#[derive(Debug, PartialEq, Eq)]
pub enum Sse<'a> {
    /// An event: its name, empty when it has none, and its data lines joined by LF.
    Event(&'a str, &'a [u8]),
    /// The value of a field `error`, which no standard knows.
    Error(&'a [u8]),
    /// The sentinel `[DONE]`.
    Done,
}

/// Takes what the stream says.
pub type Handler<'a> = dyn FnMut(Sse<'_>) -> Result<Progress, Failure> + 'a;

/// The decoder: feed it bytes, then [`Decoder::end`].
#[derive(Debug, Default)]
pub struct Decoder {
    /// The line that has no end yet.
    tail: Vec<u8>,
    /// The data lines of the event that has no end yet.
    data: Vec<u8>,
    /// Follows `data` from the second line on.
    scan: Scan,
    scanned: usize,
    name: String,
    /// The last byte was a CR: a LF belongs to it, also across reads.
    after_cr: bool,
    foreign: String,
}

impl Decoder {
    /// Takes bytes and hands on every event they complete.
    pub fn feed(&mut self, bytes: &[u8], handle: &mut Handler<'_>) -> Result<Progress, Failure> {
        let mut from = 0;
        for at in line_ends(bytes) {
            if bytes[at] == b'\n' && at == from && std::mem::take(&mut self.after_cr) {
                from = at + 1;
                continue;
            }
            self.after_cr = bytes[at] == b'\r';
            let progress = self.complete(&bytes[from..at], handle)?;
            from = at + 1;
            if progress == Progress::Finished {
                return Ok(Progress::Finished);
            }
        }
        self.keep(&bytes[from..])?;
        // nobody may ever send the line end behind the sentinel
        if data_of(&self.tail[..self.tail.len().min(BEGINNING)]).is_some_and(is_sentinel) {
            return self.end(handle);
        }
        Ok(Progress::More)
    }

    /// The body is over: hands on what has no line end or no empty line behind it.
    pub fn end(&mut self, handle: &mut Handler<'_>) -> Result<Progress, Failure> {
        let progress = self.complete(&[], handle)?;
        if progress == Progress::Finished { Ok(progress) } else { self.dispatch(handle) }
    }

    /// The first line that was no part of an event stream, cut short; empty when there was none.
    pub fn foreign(&self) -> &str {
        &self.foreign
    }

    fn keep(&mut self, rest: &[u8]) -> Result<(), Failure> {
        if rest.is_empty() {
            return Ok(());
        }
        self.after_cr = false;
        if self.tail.len() + rest.len() > MAX_EVENT {
            return Err(too_long("a line"));
        }
        self.tail.extend_from_slice(rest);
        Ok(())
    }

    fn complete(&mut self, rest: &[u8], handle: &mut Handler<'_>) -> Result<Progress, Failure> {
        if self.tail.is_empty() {
            return self.line(rest, handle);
        }
        if self.tail.len() + rest.len() > MAX_EVENT {
            return Err(too_long("a line"));
        }
        let mut line = std::mem::take(&mut self.tail);
        line.extend_from_slice(rest);
        let progress = self.line(&line, handle);
        line.clear();
        self.tail = line;
        progress
    }

    fn line(&mut self, line: &[u8], handle: &mut Handler<'_>) -> Result<Progress, Failure> {
        if let Some(value) = data_of(line) {
            return self.data_line(value, handle);
        }
        let (field, value) = split(line);
        match field {
            b"" if line.is_empty() => return self.dispatch(handle),
            b"" | b"id" | b"retry" => {}
            b"event" => self.name = String::from_utf8_lossy(value.trim_ascii()).into_owned(),
            b"error" => {
                if self.dispatch(handle)? == Progress::Finished {
                    return Ok(Progress::Finished);
                }
                return handle(Sse::Error(value));
            }
            _ if self.foreign.is_empty() => {
                self.foreign = String::from_utf8_lossy(&line[..line.len().min(SHOWN)]).trim().to_owned();
            }
            _ => {}
        }
        Ok(Progress::More)
    }

    fn data_line(&mut self, value: &[u8], handle: &mut Handler<'_>) -> Result<Progress, Failure> {
        let sentinel = is_sentinel(value);
        if !self.data.is_empty()
            && (sentinel || self.is_whole())
            && self.dispatch(handle)? == Progress::Finished
        {
            return Ok(Progress::Finished);
        }
        if sentinel {
            return handle(Sse::Done);
        }
        if self.data.len() + value.len() > MAX_EVENT {
            return Err(too_long("an event"));
        }
        if !self.data.is_empty() {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(value);
        Ok(Progress::More)
    }

    /// Whether the lines so far are a document of their own, so that the next line begins another event
    /// although no empty line told so.
    fn is_whole(&mut self) -> bool {
        if !matches!(self.data.trim_ascii_start().first(), Some(b'{' | b'[')) {
            return true;
        }
        let scanned = std::mem::replace(&mut self.scanned, self.data.len());
        self.scan.over(&self.data[scanned..]);
        self.scan.closed()
    }

    fn dispatch(&mut self, handle: &mut Handler<'_>) -> Result<Progress, Failure> {
        let name = std::mem::take(&mut self.name);
        if self.data.is_empty() && !name.contains("error") {
            return Ok(Progress::More);
        }
        let progress = handle(Sse::Event(&name, &self.data));
        self.data.clear();
        self.scan = Scan::default();
        self.scanned = 0;
        progress
    }
}

/// The value of a data line: also when `data:` was doubled by a chain of gateways, and of a line of bare
/// JSON that lacks it.
fn data_of(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii_start();
    if line.first() == Some(&b'{') || is_sentinel(line) {
        return Some(line);
    }
    let mut value = line.strip_prefix(b"data:")?;
    loop {
        value = value.strip_prefix(b" ").unwrap_or(value);
        match value.strip_prefix(b"data:") {
            Some(inner) => value = inner,
            None => return Some(value),
        }
    }
}

/// Whatever follows in the same line is not waited for.
fn is_sentinel(value: &[u8]) -> bool {
    const SENTINEL: &[u8] = b"[DONE]";
    let value = value.trim_ascii_start();
    let value = value.strip_prefix(b"\"").unwrap_or(value);
    value.len() >= SENTINEL.len() && value[..SENTINEL.len()].eq_ignore_ascii_case(SENTINEL)
}

fn split(line: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memchr(b':', line) {
        Some(at) => {
            let value = &line[at + 1..];
            (&line[..at], value.strip_prefix(b" ").unwrap_or(value))
        }
        None => (line, &[]),
    }
}

fn too_long(what: &str) -> Failure {
    Failure::new(ErrorClass::Protocol, format!("the server sent {what} of more than {} MiB", MAX_EVENT >> 20))
        .hint("check base_url: an endpoint that speaks the chat completions protocol sends short events")
}
