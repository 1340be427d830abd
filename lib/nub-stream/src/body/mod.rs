//! The body of a Chat Completions request. What is stable comes first and the messages come last, so that
//! the body of the next turn begins with the bytes of this one and a provider's prompt cache is hit.

mod history;
mod ids;
mod invite;
mod message;
mod names;
mod object;
mod schema;
mod tools;

use nub_conf::{MaxTokensField, SystemRole};
use nub_proto::{Block, ErrorClass, Format, Json, Request};
use serde::Serialize;

pub use names::Names;

use crate::failure::Failure;
use crate::origin::Origin;
use crate::target::Target;
use ids::Ids;
use object::Object;

/// A body, and what is needed to read its answer.
#[derive(Debug, Clone)]
pub struct Body {
    /// The JSON text.
    pub bytes: Vec<u8>,
    /// The names its tools have on the wire.
    pub names: Names,
    /// The answer is asked for as a stream.
    pub stream: bool,
}

/// What the parts of a body are built from.
pub(crate) struct Ground<'a> {
    pub request: &'a Request,
    /// The system prompt as it is sent.
    pub system: Vec<Block>,
    pub target: &'a Target,
    pub names: Names,
    pub ids: Ids,
    pub origin: Origin,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct ResponseFormat<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    json_schema: JsonSchema<'a>,
}

#[derive(Serialize)]
struct JsonSchema<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
    schema: Json,
}

/// Builds the body of a request.
///
/// # Errors
/// The conversation is one that no provider takes.
pub fn build(request: &Request, target: &Target) -> Result<Body, Failure> {
    let internal = |e: serde_json::Error| Failure::new(ErrorClass::Internal, e.to_string());
    let caps = &target.caps;
    let ground = Ground {
        request,
        system: invite::system(request, caps),
        target,
        names: Names::of(request),
        ids: Ids::of(request, &caps.tool_id_format),
        origin: Origin::of(target),
    };
    let tools = tools::of(&ground);
    let messages = history::of(&ground)?;
    let stream = caps.stream_with_tools || tools.defs.is_empty();
    let mut body = Object::default();
    let mut fill = || -> Result<(), serde_json::Error> {
        body.set("model", &target.model)?;
        body.set("stream", &stream)?;
        if stream && caps.usage_in_stream {
            body.set("stream_options", &StreamOptions { include_usage: true })?;
        }
        if let Some(most) = most_tokens(request, caps.max_output) {
            let field = match caps.max_tokens_field {
                MaxTokensField::MaxTokens => "max_tokens",
                MaxTokensField::MaxCompletionTokens => "max_completion_tokens",
            };
            body.set(field, &most)?;
        }
        if let Some(temperature) = request.temperature.filter(|_| !target.fixed_temperature) {
            body.set("temperature", &temperature)?;
        }
        if let Some(format) = request.format.as_ref().filter(|_| caps.json_schema) {
            body.set("response_format", &response_format(format, target))?;
        }
        if !tools.defs.is_empty() {
            body.set("tools", &tools.defs)?;
            if let Some(choice) = &tools.choice {
                body.set("tool_choice", choice)?;
            }
            if !caps.parallel_tool_calls {
                body.set("parallel_tool_calls", &false)?;
            }
        }
        for (key, value) in &target.endpoint.extra_body {
            body.set(key, value)?;
        }
        body.set("messages", &messages)
    };
    fill().map_err(internal)?;
    Ok(Body { bytes: body.text().into_bytes(), names: ground.names, stream })
}

/// Only what the user asked for, and no more than the model can.
fn most_tokens(request: &Request, max_output: u64) -> Option<u64> {
    request.max_tokens.map(|most| if max_output > 0 { most.min(max_output) } else { most })
}

fn response_format<'a>(format: &'a Format, target: &Target) -> ResponseFormat<'a> {
    let strict = target.caps.strict_schemas;
    let schema = if strict { schema::strict(&format.schema) } else { format.schema.clone() };
    ResponseFormat {
        kind: "json_schema",
        json_schema: JsonSchema { name: &format.name, strict: strict.then_some(true), schema },
    }
}

/// The word for the system's role, where there is one.
pub(crate) fn system_role(role: SystemRole) -> Option<&'static str> {
    match role {
        SystemRole::System => Some("system"),
        SystemRole::Developer => Some("developer"),
        SystemRole::None => None,
    }
}

#[cfg(test)]
mod tests;
