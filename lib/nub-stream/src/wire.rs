//! Where answers come from: a server, or a cassette that stands in for it.

use std::sync::Arc;

use crate::cancel::Cancel;
use crate::failure::Failure;
use crate::http::{Call, Client, Reply};
use crate::target::Target;

/// The other side.
pub enum Wire {
    /// A server.
    Live(Client),
}

/// The beginning of an answer, from either.
pub enum Incoming {
    /// From a server.
    Live(Reply),
}

impl Wire {
    /// Whether a server is asked.
    #[must_use]
    pub fn is_live(&self) -> bool {
        match self {
            Wire::Live(_) => true,
        }
    }

    /// Sends a request and waits for the head of its answer.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub fn send(&mut self, call: Call, target: &Target, cancel: &Arc<Cancel>) -> Result<Incoming, Failure> {
        match self {
            Wire::Live(client) => client.send(call, target, cancel).map(Incoming::Live),
        }
    }

    /// The answer was read as far as it matters.
    ///
    /// # Errors
    /// It cannot be recorded.
    pub fn keep(&mut self, incoming: Incoming) -> Result<(), Failure> {
        match (self, incoming) {
            (Wire::Live(client), Incoming::Live(reply)) => client.keep(reply),
        }
        Ok(())
    }

    /// The request was cancelled while its answer was read.
    pub fn cancelled(&mut self) {
        match self {
            Wire::Live(client) => drop(client.cancelled()),
        }
    }
}

impl Incoming {
    /// HTTP status.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            Incoming::Live(reply) => reply.status,
        }
    }

    /// Headers, names in lower case.
    #[must_use]
    pub fn headers(&self) -> &[(String, String)] {
        match self {
            Incoming::Live(reply) => &reply.headers,
        }
    }

    /// Reads more of the body; 0 bytes at its end.
    ///
    /// # Errors
    /// The connection broke or went silent.
    pub fn read(&mut self, buffer: &mut [u8], target: &Target) -> Result<usize, Failure> {
        match self {
            Incoming::Live(reply) => reply.read(buffer, target),
        }
    }

    /// Reads a short body, as far as it comes.
    #[must_use]
    pub fn read_short(&mut self, limit: usize) -> Vec<u8> {
        match self {
            Incoming::Live(reply) => reply.read_short(limit),
        }
    }
}
