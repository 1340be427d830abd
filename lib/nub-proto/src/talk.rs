//! A growing conversation as the bytes of its requests: each turn appends, nothing old is serialised
//! again, and the request of a turn begins as the one before it did.

use std::io;

use crate::{Json, Line, Message, Node, Ready, Request, encode, repair};

/// What was said, between a front and a back that stay the same.
#[derive(Debug, Default)]
pub struct Talk {
    head: Request<Json>,
    front: Vec<u8>,
    messages: Vec<u8>,
    back: Vec<u8>,
    /// The path to go on from as far as it was read, while it is.
    path: Option<Vec<Message>>,
}

impl Talk {
    /// Takes everything of a request but its messages.
    ///
    /// # Errors
    /// As [`encode`].
    pub fn set_head(&mut self, head: Request<Json>) -> io::Result<()> {
        self.head = Request { messages: Vec::new(), ..head };
        self.refresh()
    }

    /// Model, endpoint, system prompt and tools.
    #[must_use]
    pub fn head(&self) -> &Request<Json> {
        &self.head
    }

    /// Whether it can be asked.
    #[must_use]
    pub fn has_head(&self) -> bool {
        !self.front.is_empty()
    }

    /// What is said once a prompt can be asked.
    #[must_use]
    pub fn ready(&self, session: &str, context_tokens: u64, max_context: u64) -> Ready {
        let tools = self.head.tools.iter().map(|tool| tool.name.clone()).collect();
        let (session, model) = (session.to_owned(), self.head.model.clone());
        Ready { session, model, context_tokens, max_context, tools }
    }

    /// Asks another model from now on; without an endpoint, where the last one was asked.
    ///
    /// # Errors
    /// As [`encode`].
    pub fn set_model(&mut self, model: String, endpoint: Option<String>) -> io::Result<()> {
        self.head.model = model;
        self.head.endpoint = endpoint.unwrap_or(std::mem::take(&mut self.head.endpoint));
        self.refresh()
    }

    /// Messages belong where a request without any and one with one begin to differ.
    fn refresh(&mut self) -> io::Result<()> {
        let (mut none, mut one) = (Vec::new(), Vec::new());
        encode(&self.head, &mut none)?;
        encode(&Request { messages: vec![Json::parse("0")?], ..self.head.clone() }, &mut one)?;
        let at = none.iter().zip(&one).take_while(|(a, b)| a == b).count();
        self.back = none.split_off(at);
        self.front = none;
        Ok(())
    }

    /// Says one message more.
    pub fn push(&mut self, message: &Json) {
        if !self.messages.is_empty() {
            self.messages.push(b',');
        }
        self.messages.extend_from_slice(message.text().as_bytes());
    }

    /// Expects the `node` records of a path, up to [`Talk::go_on`] or [`Talk::stay`].
    pub fn expect(&mut self) {
        self.path = Some(Vec::new());
    }

    /// Whether a path is expected.
    #[must_use]
    pub fn is_expecting(&self) -> bool {
        self.path.is_some()
    }

    /// Takes a line of a path.
    ///
    /// # Errors
    /// The line has another shape (`InvalidData`).
    pub fn node(&mut self, line: &Line) -> io::Result<()> {
        if line.is::<Node>() {
            self.path.get_or_insert_default().push(line.read::<Node>()?.message);
        }
        Ok(())
    }

    /// Nothing comes of the path.
    pub fn stay(&mut self) {
        self.path = None;
    }

    /// Goes on from the path, repaired; from nothing when none was read.
    ///
    /// # Errors
    /// As [`Json::of`].
    pub fn go_on(&mut self) -> io::Result<()> {
        let mut messages = self.path.take().unwrap_or_default();
        repair(&mut messages);
        self.messages.clear();
        for message in messages {
            self.push(&Json::of(&message)?);
        }
        Ok(())
    }

    /// The request that says it all, as a line with its end.
    #[must_use]
    pub fn request(&self) -> Vec<u8> {
        [&*self.front, &*self.messages, &*self.back].concat()
    }
}
