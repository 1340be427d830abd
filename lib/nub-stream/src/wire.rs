//! Where answers come from: a server, or a cassette that stands in for it.

use std::sync::Arc;

use nub_proto::ErrorClass;

use crate::cancel::Cancel;
use crate::cassette::{Answered, Player, Recorder, Request};
use crate::failure::Failure;
use crate::http::{Call, Client, Reply};
use crate::key::Key;
use crate::target::Target;

/// The other side.
pub enum Wire {
    /// A server, and perhaps a file into which its answers go.
    Live(Box<Client>, Option<Recorder>),
    /// A recorded server.
    Recorded(Player),
}

/// The beginning of an answer.
pub struct Incoming {
    /// HTTP status.
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    from: From,
}

enum From {
    Server(Box<Reply>, Option<Recording>),
    Cassette { body: Vec<u8>, at: usize, broken: Option<String> },
}

/// An answer on its way into a cassette.
struct Recording {
    request: Request,
    body: Vec<u8>,
    broken: Option<String>,
}

impl Wire {
    /// Whether a server is asked.
    #[must_use]
    pub fn is_live(&self) -> bool {
        matches!(self, Wire::Live(..))
    }

    /// Sends a request and waits for the head of its answer.
    ///
    /// # Errors
    /// As [`Client::send`], or the cassette has no answer.
    pub fn send(&mut self, call: Call, target: &Target, cancel: &Arc<Cancel>) -> Result<Incoming, Failure> {
        match self {
            Wire::Live(client, recorder) => {
                let recording = recorder.as_ref().map(|_| Recording {
                    request: Request::of(&call),
                    body: Vec::new(),
                    broken: None,
                });
                let mut reply = client.send(call, target, cancel)?;
                let headers = std::mem::take(&mut reply.headers);
                Ok(Incoming { status: reply.status, headers, from: From::Server(Box::new(reply), recording) })
            }
            Wire::Recorded(player) => {
                let Answered { status, headers, body, broken } = player.play(&call)?;
                let body = body.concat().into_bytes();
                Ok(Incoming { status, headers, from: From::Cassette { body, at: 0, broken } })
            }
        }
    }

    /// The answer was read as far as it matters. What is recorded of it does not hold the key.
    ///
    /// # Errors
    /// It cannot be recorded.
    pub fn keep(&mut self, incoming: Incoming, key: &Key) -> Result<(), Failure> {
        let (Wire::Live(client, recorder), From::Server(reply, recording)) = (self, incoming.from) else {
            return Ok(());
        };
        client.keep(*reply);
        let (Some(recorder), Some(recording)) = (recorder, recording) else { return Ok(()) };
        let headers = incoming.headers.into_iter().filter(|(name, _)| !is_private(name));
        let response = Answered {
            status: incoming.status,
            headers: headers.map(|(name, value)| (name, key.mask(value))).collect(),
            body: vec![key.mask(String::from_utf8_lossy(&recording.body).into_owned())],
            broken: recording.broken,
        };
        recorder.exchange(recording.request, response)
    }

    /// The request was cancelled while its answer was read.
    pub fn cancelled(&mut self) {
        if let Wire::Live(client, _) = self {
            drop(client.cancelled());
        }
    }
}

/// Headers that say who asked.
fn is_private(name: &str) -> bool {
    name.contains("cookie") || name.contains("organization") || name.contains("project")
}

impl Incoming {
    /// Reads more of the body; 0 bytes at its end.
    ///
    /// # Errors
    /// The connection broke or went silent.
    pub fn read(&mut self, buffer: &mut [u8], target: &Target) -> Result<usize, Failure> {
        match &mut self.from {
            From::Server(reply, recording) => {
                let result = reply.read(buffer, target);
                if let Some(recording) = recording {
                    match &result {
                        Ok(count) => recording.body.extend_from_slice(&buffer[..*count]),
                        Err(failure) => recording.broken = Some(failure.message.clone()),
                    }
                }
                result
            }
            From::Cassette { body, at, broken } => {
                let count = buffer.len().min(body.len() - *at);
                buffer[..count].copy_from_slice(&body[*at..*at + count]);
                *at += count;
                match broken.take_if(|_| count == 0) {
                    Some(reason) => Err(Failure::new(ErrorClass::Network, reason).retryable()),
                    None => Ok(count),
                }
            }
        }
    }

    /// Reads a short body, as far as it comes.
    #[must_use]
    pub fn read_short(&mut self, limit: usize) -> Vec<u8> {
        match &mut self.from {
            From::Server(reply, recording) => {
                let body = reply.read_short(limit);
                if let Some(recording) = recording {
                    recording.body.extend_from_slice(&body);
                }
                body
            }
            From::Cassette { body, at, .. } => {
                let from = std::mem::replace(at, body.len());
                body[from..].iter().copied().take(limit).collect()
            }
        }
    }
}
