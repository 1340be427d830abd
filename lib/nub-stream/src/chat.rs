//! The adapter of OpenAI's Chat Completions and of everything that speaks it.

use std::collections::HashSet;

use nub_proto::{Block, Kind, Request};

use crate::adapter::{Adapter, Reading};
use crate::answer::{Answer, End, Event, Outcome, Progress};
use crate::body::{self, Body, Names};
use crate::classify;
use crate::failure::Failure;
use crate::origin::Origin;
use crate::target::Target;

/// Chat Completions.
#[derive(Debug, Clone, Copy)]
pub struct Chat;

impl Adapter for Chat {
    fn operation(&self) -> &'static str {
        "chat/completions"
    }

    fn headers(&self, key: Option<&str>, body: &Body) -> Vec<(String, String)> {
        let accept = if body.stream { "text/event-stream" } else { "application/json" };
        let mut headers = vec![
            ("content-type".to_owned(), "application/json".to_owned()),
            // some gateways stream only when they are asked by this header too
            ("accept".to_owned(), accept.to_owned()),
        ];
        if let Some(key) = key {
            headers.push(("authorization".to_owned(), format!("Bearer {key}")));
        }
        headers
    }

    fn body(&self, request: &Request, target: &Target) -> Result<Body, Failure> {
        body::build(request, target)
    }

    fn answer(&self, request: &Request, target: &Target, body: &Body) -> Box<dyn Reading> {
        let tools = || request.tools.iter().map(|tool| (body.names.wire(&tool.name), &tool.schema));
        let names = tools().map(|(name, _)| name.to_owned()).collect();
        Box::new(ChatAnswer {
            answer: Answer::new(&target.caps, names, call_ids(request)).schemas(tools()),
            dress: Dress { names: body.names.clone(), origin: Origin::of(target) },
        })
    }

    fn classify(&self, status: u16, headers: &[(String, String)], body: &[u8]) -> Failure {
        classify::http(status, headers, body)
    }
}

/// The ids that calls of this conversation have.
fn call_ids(request: &Request) -> HashSet<String> {
    let blocks = request.messages.iter().flat_map(|message| &message.content);
    blocks
        .filter_map(|block| match &block.kind {
            Kind::ToolUse { id, .. } => Some(id.clone()),
            _ => None,
        })
        .collect()
}

struct ChatAnswer {
    answer: Answer,
    dress: Dress,
}

/// What nub's records have and the wire has not: the tools' own names, and where ballast came from.
struct Dress {
    names: Names,
    origin: Origin,
}

impl Reading for ChatAnswer {
    fn feed(&mut self, bytes: &[u8], sink: &mut dyn FnMut(Event<'_>)) -> Result<Progress, Failure> {
        let dress = &self.dress;
        self.answer.feed(bytes, &mut |event| sink(dress.event(event)))
    }

    fn end(self: Box<Self>, end: End, sink: &mut dyn FnMut(Event<'_>)) -> Result<Outcome, Failure> {
        let dress = self.dress;
        let mut outcome = self.answer.end(end, &mut |event| sink(dress.event(event)))?;
        for block in &mut outcome.message.content {
            dress.block(block);
        }
        Ok(outcome)
    }

    fn emitted(&self) -> bool {
        self.answer.emitted()
    }
}

impl Dress {
    fn event<'a>(&self, event: Event<'a>) -> Event<'a> {
        match event {
            Event::Start(mut start) => {
                self.block(&mut start.block);
                Event::Start(start)
            }
            Event::Delta(delta) => Event::Delta(delta),
            Event::Stop(mut stop) => {
                stop.raw = stop.raw.map(|raw| self.origin.mark(raw));
                Event::Stop(stop)
            }
        }
    }

    fn block(&self, block: &mut Block) {
        if let Kind::ToolUse { name, .. } = &mut block.kind
            && let Some(own) = self.names.own(name)
        {
            *name = own.to_owned();
        }
        block.raw = block.raw.take().map(|raw| self.origin.mark(raw));
    }
}
