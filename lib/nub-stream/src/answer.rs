//! An answer from its bytes to its events: the response side of one request.

use std::collections::HashSet;

use nub_conf::Caps;
use nub_proto::{BlockDelta, BlockStart, BlockStop, ErrorClass, Message, Stop, Usage};

use crate::failure::Failure;

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

/// One answer while it is read.
pub struct Answer {
    emitted: bool,
}

impl Answer {
    /// An answer to a request with these tools; `taken_ids` are the call ids of the session so far.
    #[must_use]
    pub fn new(caps: &Caps, tools: Vec<String>, taken_ids: HashSet<String>) -> Answer {
        let _ = (caps, tools, taken_ids);
        Answer { emitted: false }
    }

    /// Takes bytes of the body, cut anywhere.
    ///
    /// # Errors
    /// The answer is no answer, carries an error, or exceeds a limit; `partial` is filled.
    pub fn feed(&mut self, bytes: &[u8], sink: &mut dyn FnMut(Event<'_>)) -> Result<Progress, Failure> {
        let _ = (bytes, sink);
        Ok(Progress::More)
    }

    /// Ends the answer: closes its blocks and says what it was.
    ///
    /// # Errors
    /// The answer did not come to its end, or ended with an error; `partial` is filled.
    pub fn end(self, end: End, sink: &mut dyn FnMut(Event<'_>)) -> Result<Outcome, Failure> {
        let _ = sink;
        match end {
            End::Broken(failure) => Err(failure),
            End::Eof => Err(Failure::new(ErrorClass::Truncated, "the answer is empty").retryable()),
        }
    }

    /// Whether a block was emitted: from then on the request is never tried again.
    #[must_use]
    pub fn emitted(&self) -> bool {
        self.emitted
    }
}
