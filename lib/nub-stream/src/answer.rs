//! An answer from its bytes to its events: the response side of one request.

#[cfg(test)]
mod rows;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use nub_conf::Caps;
use nub_proto::{BlockDelta, BlockStart, BlockStop, ErrorClass, Json, Message, Stop, Usage};

use crate::assemble::Assembler;
use crate::documents::Documents;
use crate::failure::Failure;
use crate::reader::{Reader, shown};
use crate::sse::Decoder;

/// What happens to a block.
#[derive(Debug, Clone, PartialEq)]
pub enum Event<'a> {
    /// It begins.
    Start(BlockStart),
    /// It grows.
    Delta(BlockDelta<'a>),
    /// It is complete.
    Stop(BlockStop),
}

/// Whether there is more to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Read on.
    More,
    /// The answer is over: stop reading, whatever the connection holds.
    Finished,
}

/// How reading ended.
#[derive(Debug, Clone, PartialEq)]
pub enum End {
    /// The body came to its end, or [`Progress::Finished`] was reached.
    Eof,
    /// The connection broke or went silent.
    Broken(Failure),
}

/// A complete answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The assistant message.
    pub message: Message,
    /// Why it ended.
    pub stop: Stop,
    /// Tokens, when the server counted them.
    pub usage: Option<Usage>,
    /// The model that answered, when the server said so.
    pub model: Option<String>,
}

/// The longest body, in bytes after decompression.
const MAX_BODY: u64 = 1 << 30;
/// How much of a web page is read for its title, in bytes.
const PAGE: usize = 4 << 10;
const BOM: &[u8] = b"\xEF\xBB\xBF";

/// One answer while it is read.
pub struct Answer {
    body: Body,
    reader: Reader,
    /// Bytes so far.
    total: u64,
    eof_ends_stream: bool,
    /// The body began as JSON documents.
    json: bool,
}

/// What the body is: its first byte tells, not what the headers say.
enum Body {
    /// Nothing but whitespace, or a part of a byte order mark, came.
    Unknown(Vec<u8>),
    Events(Decoder),
    Json(Documents),
    /// A web page, from a proxy or a wrong address.
    Page(Vec<u8>),
}

impl Answer {
    /// An answer to a request with these tools; `taken_ids` are the call ids of the session so far.
    #[must_use]
    pub fn new(caps: &Caps, tools: Vec<String>, taken_ids: HashSet<String>) -> Answer {
        Answer {
            body: Body::Unknown(Vec::new()),
            reader: Reader::new(Assembler::new(caps, tools, taken_ids)),
            total: 0,
            eof_ends_stream: caps.eof_ends_stream,
            json: false,
        }
    }

    /// Tells the schemas of the tools: some models write a number and a string alike.
    #[must_use]
    pub fn schemas<'a>(mut self, schemas: impl IntoIterator<Item = (&'a str, &'a Json)>) -> Answer {
        for (tool, schema) in schemas {
            self.reader.assembler.schema(tool, schema);
        }
        self
    }

    /// Takes bytes of the body, cut anywhere.
    ///
    /// # Errors
    /// The answer is no answer, carries an error, or exceeds a limit; `partial` is filled.
    pub fn feed(&mut self, bytes: &[u8], sink: &mut dyn FnMut(Event<'_>)) -> Result<Progress, Failure> {
        if self.reader.done {
            return Ok(Progress::Finished);
        }
        self.total += bytes.len() as u64;
        let progress = if self.total > MAX_BODY {
            let size = MAX_BODY >> 30;
            Err(Failure::new(ErrorClass::Limit, format!("the answer is longer than {size} GiB")))
        } else {
            self.take(bytes, sink)
        };
        progress.map_err(|failure| self.reader.assembler.broken(failure, sink))
    }

    /// Ends the answer: closes its blocks and says what it was.
    ///
    /// # Errors
    /// The answer did not come to its end, or ended with an error; `partial` is filled.
    pub fn end(mut self, end: End, sink: &mut dyn FnMut(Event<'_>)) -> Result<Outcome, Failure> {
        if !self.reader.done
            && let Err(failure) = self.rest(sink)
        {
            return Err(self.reader.assembler.broken(failure, sink));
        }
        if self.is_well(&end) {
            return self.reader.assembler.finish(sink);
        }
        let failure = match end {
            End::Broken(failure) => failure,
            End::Eof => self.unfinished(),
        };
        let truncated = match failure.class {
            ErrorClass::Network | ErrorClass::Timeout | ErrorClass::Server => self.emitted(),
            ErrorClass::RateLimit
            | ErrorClass::Truncated
            | ErrorClass::ContextLength
            | ErrorClass::BadRequest
            | ErrorClass::Auth
            | ErrorClass::Protocol
            | ErrorClass::Cancelled
            | ErrorClass::Config
            | ErrorClass::Limit
            | ErrorClass::Internal => false,
        };
        let class = if truncated { ErrorClass::Truncated } else { failure.class };
        Err(self.reader.assembler.broken(Failure { class, ..failure }, sink))
    }

    /// Whether a block was emitted: from then on the request is never tried again.
    #[must_use]
    pub fn emitted(&self) -> bool {
        self.reader.assembler.emitted()
    }

    fn take(&mut self, bytes: &[u8], sink: &mut dyn FnMut(Event<'_>)) -> Result<Progress, Failure> {
        let reader = &mut self.reader;
        match &mut self.body {
            Body::Events(decoder) => decoder.feed(bytes, &mut |sse| reader.sse(sse, sink)),
            Body::Json(documents) => {
                let rest = documents.feed(bytes, &mut |document| reader.payload("", document, sink))?;
                match rest {
                    None => Ok(Progress::More),
                    Some(rest) => {
                        self.body = Body::Events(Decoder::default());
                        self.take(rest, sink)
                    }
                }
            }
            Body::Page(page) if page.len() < PAGE => {
                page.extend_from_slice(&bytes[..bytes.len().min(PAGE)]);
                Ok(Progress::More)
            }
            Body::Page(page) => Err(web_page(page)),
            Body::Unknown(head) => {
                head.extend_from_slice(bytes);
                let start = head.strip_prefix(BOM).unwrap_or(head).trim_ascii_start().to_owned();
                let first = start.first().copied();
                if first.is_none() || (BOM.starts_with(&start) && start != BOM) {
                    *head = if first.is_none() && head.len() > BOM.len() {
                        Vec::new()
                    } else {
                        std::mem::take(head)
                    };
                    return Ok(Progress::More);
                }
                self.body = match first {
                    Some(b'{' | b'[') => Body::Json(Documents::default()),
                    Some(b'<') => Body::Page(Vec::new()),
                    Some(_) | None => Body::Events(Decoder::default()),
                };
                self.json = matches!(self.body, Body::Json(_));
                self.take(&start, sink)
            }
        }
    }

    /// Reads what has no end yet.
    fn rest(&mut self, sink: &mut dyn FnMut(Event<'_>)) -> Result<(), Failure> {
        self.reader.ending = true;
        let reader = &mut self.reader;
        match &mut self.body {
            Body::Events(decoder) => decoder.end(&mut |sse| reader.sse(sse, sink)).map(|_| ()),
            Body::Page(page) => Err(web_page(page)),
            Body::Unknown(_) | Body::Json(_) => Ok(()),
        }
    }

    fn is_well(&self, end: &End) -> bool {
        let assembler = &self.reader.assembler;
        let torn = matches!(&self.body, Body::Json(documents) if documents.torn());
        let whole = self.json && assembler.whole() && !torn;
        let eof = self.eof_ends_stream && *end == End::Eof && self.reader.answered;
        self.reader.done || assembler.ended() || whole || eof
    }

    /// Why an answer that just stopped is none.
    fn unfinished(&self) -> Failure {
        let foreign = match &self.body {
            Body::Events(decoder) if !self.reader.answered => decoder.foreign(),
            Body::Json(documents) if self.reader.other && !self.reader.answered && !documents.torn() => {
                "JSON without choices"
            }
            Body::Unknown(_) | Body::Json(_) | Body::Page(_) | Body::Events(_) => "",
        };
        if !foreign.is_empty() {
            let text = shown(foreign.as_bytes());
            return no_answer(format!(
                "the endpoint answered with something else than a chat completion: {text}"
            ));
        }
        if self.reader.answered {
            Failure::new(ErrorClass::Truncated, "the answer stopped before its end").retryable()
        } else {
            Failure::new(ErrorClass::Truncated, "the answer is empty").retryable()
        }
    }
}

fn no_answer(message: String) -> Failure {
    Failure::new(ErrorClass::Protocol, message)
        .hint("check base_url: it must be the address of a chat completions API, and often ends in /v1")
}

fn web_page(page: &[u8]) -> Failure {
    let text = String::from_utf8_lossy(page);
    let lower = text.to_ascii_lowercase();
    let title = lower.find("<title>").and_then(|at| {
        let title = text.get(at + "<title>".len()..)?;
        title.split('<').next().map(str::trim).filter(|title| !title.is_empty())
    });
    let title = title.map_or(String::new(), |title| format!(": {}", shown(title.as_bytes())));
    no_answer(format!("the endpoint answered with a web page{title}"))
}
