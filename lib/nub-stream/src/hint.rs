//! What the user can do about a failure, where nub knows more than the server.

use nub_proto::ErrorClass;

use crate::failure::Failure;
use crate::key::Key;
use crate::target::Target;

/// Words of a refusal, and the cap that keeps the request from being refused.
const CAPS: &[(&str, &str)] = &[
    ("stream_options", "usage_in_stream = false"),
    ("max_completion_tokens", "max_tokens_field = \"max_completion_tokens\""),
    ("max_tokens", "max_output"),
    ("does not support tools", "tool_calls = false"),
    ("does not support tool", "tool_calls = false"),
    ("function calling is not", "tool_calls = false"),
    ("parallel_tool_calls", "parallel_tool_calls = true"),
    ("additionalproperties", "schema_subset = \"gemini\""),
    ("tool call id", "tool_id_format = \"mistral9\""),
    ("after role 'tool'", "bridge_after_tool = true"),
    ("reasoning_content", "reasoning_replay"),
    ("image", "supports_images = false"),
    ("'developer'", "system_role = \"system\""),
    ("system role", "system_role = \"\""),
    ("system message", "system_role = \"\""),
    ("response_format", "json_schema = false"),
    ("strict", "strict_schemas = false"),
];

/// Adds advice, and takes out of the server's words what must not be seen.
#[must_use]
pub fn advise(mut failure: Failure, target: &Target, key: &Key) -> Failure {
    failure.message = key.mask(failure.message);
    failure.partial = key.mask(failure.partial);
    if let Some(advice) = advice(&failure, target, key) {
        failure.hint = Some(advice);
    }
    failure
}

fn advice(failure: &Failure, target: &Target, key: &Key) -> Option<String> {
    let name = &target.endpoint.name;
    match (failure.class, failure.status) {
        (ErrorClass::Auth, Some(402)) => {
            Some(format!("check credit and billing of the account behind endpoint '{name}'"))
        }
        (ErrorClass::Auth, _) => Some(match key.secret() {
            Some(_) => format!("check the key of endpoint '{name}': it comes from {}", key.source()),
            None => format!("endpoint '{name}' has no key: set its api_key"),
        }),
        (ErrorClass::BadRequest, Some(404)) => Some(missing(&failure.message, target)),
        (ErrorClass::BadRequest, _) if failure.hint.is_none() => {
            let text = failure.message.to_lowercase();
            let (_, cap) = CAPS.iter().find(|(word, _)| text.contains(word))?;
            Some(format!("it may help to set {cap} in [endpoint.caps] of endpoint '{name}'"))
        }
        _ => None,
    }
}

/// A 404 is about the model, or about the address.
fn missing(message: &str, target: &Target) -> String {
    if message.to_lowercase().contains("model") {
        let name = &target.endpoint.name;
        return format!("nub-stream --endpoint {name} --list-models shows what it has");
    }
    format!("check base_url of endpoint '{}': {}", target.endpoint.name, target.shown())
}
