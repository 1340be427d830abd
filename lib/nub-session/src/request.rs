//! request: what the model was asked before it gave an answer, from the file alone.

use std::io::Write;

use nub_proto::{Context, Message, Request, Role, encode, repair};
use nub_sys::Fail;

use crate::index::Index;
use crate::open::Open;
use crate::{gist, path};

/// Prints the request that an assistant node answers, with the bytes with which it was sent.
///
/// # Errors
/// The node is no answer, or its context was not stored.
pub fn print(open: &mut Open, index: &Index, at: usize, output: &mut impl Write) -> Result<(), Fail> {
    let mut line = Vec::new();
    encode(&build(open, index, at)?, &mut line).map_err(|e| Fail::output(&e))?;
    output.write_all(&line).map_err(|e| Fail::output(&e))
}

fn build(open: &mut Open, index: &Index, at: usize) -> Result<Request, Fail> {
    let id = &index.nodes[at].id;
    let node = gist::node(open, index.nodes[at].span)
        .ok_or_else(|| Fail::failure(format!("node '{id}' cannot be read")))?;
    if node.message.role != Role::Assistant {
        return Err(Fail::usage(format!("node '{id}' is no answer of a model"))
            .advice("name an assistant node; nub-session tree shows them"));
    }
    let context = node.meta.context.and_then(|context| index.contexts.get(&context));
    let context: Context = context.and_then(|span| gist::read(open, *span)).ok_or_else(|| {
        Fail::failure(format!("the context of node '{id}' was not stored"))
            .advice("only answers to requests of nub-ctx can be asked again")
    })?;
    let spans = path::path_to(open, index, index.parent(at))?;
    let mut messages = Vec::new();
    for span in spans {
        let node = gist::node(open, span);
        messages.push(node.ok_or_else(|| Fail::failure("a node of the path cannot be read"))?.message);
    }
    repair(&mut messages);
    let asked = node.meta.asked.unwrap_or_default();
    Ok(Request::<Message> {
        model: Some(asked.model).filter(|model| !model.is_empty()).or(node.meta.model).unwrap_or_default(),
        endpoint: node.meta.endpoint.unwrap_or_default(),
        system: context.system,
        messages,
        tools: context.tools,
        max_tokens: asked.max_tokens,
        temperature: asked.temperature,
        tool_choice: asked.tool_choice,
        format: asked.format,
        context: Some(context.id),
    })
}
