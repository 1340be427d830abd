//! What a provider's API must offer: build a body, read an answer, classify an error. Anthropic's Messages
//! or OpenAI's Responses are further modules of this shape; nothing else in this program knows a wire form.

use nub_proto::Request;

use crate::answer::{End, Event, Outcome, Progress};
use crate::body::Body;
use crate::failure::Failure;
use crate::target::Target;

/// One API. The requests of a run all go through it, so it holds no state.
pub trait Adapter {
    /// What is added to the base URL.
    fn operation(&self) -> &'static str;

    /// The headers that carry the key and say what is wanted.
    fn headers(&self, key: Option<&str>, body: &Body) -> Vec<(String, String)>;

    /// The body of a request. Equal requests give equal bytes.
    ///
    /// # Errors
    /// The request cannot be asked: no provider would take it.
    fn body(&self, request: &Request, target: &Target) -> Result<Body, Failure>;

    /// What reads the answer to this body.
    fn answer(&self, request: &Request, target: &Target, body: &Body) -> Box<dyn Reading>;

    /// What an HTTP error means. Header names are in lower case.
    fn classify(&self, status: u16, headers: &[(String, String)], body: &[u8]) -> Failure;
}

/// One answer while it is read.
pub trait Reading {
    /// Takes bytes of the body, cut anywhere.
    ///
    /// # Errors
    /// The answer carries an error, is none, or exceeds a limit.
    fn feed(&mut self, bytes: &[u8], sink: &mut dyn FnMut(Event<'_>)) -> Result<Progress, Failure>;

    /// Ends the answer.
    ///
    /// # Errors
    /// It did not come to its end.
    fn end(self: Box<Self>, end: End, sink: &mut dyn FnMut(Event<'_>)) -> Result<Outcome, Failure>;

    /// Whether a block was emitted: from then on nothing is tried again.
    fn emitted(&self) -> bool;
}
