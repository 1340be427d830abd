//! Which models an endpoint has and how long their windows are, as far as it says so.

use std::sync::Arc;

use nub_proto::{ErrorClass, Model};
use serde::Deserialize;
use ureq::http::Method;

use crate::cancel::Cancel;
use crate::classify;
use crate::failure::Failure;
use crate::http::{Call, ERROR_BODY};
use crate::key::Key;
use crate::target::Target;
use crate::wire::Wire;

/// The longest list that is read, in bytes.
const LIST: usize = 16 << 20;

/// `GET /models` in its forms: OpenAI's object, a bare list (Together), or Ollama's name for it.
#[derive(Deserialize)]
#[serde(untagged)]
enum List {
    Data { data: Vec<Entry> },
    Models { models: Vec<Entry> },
    Bare(Vec<Entry>),
}

/// A model under the names that servers give its numbers.
#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    id: String,
    /// Ollama's word for it; elsewhere a title
    #[serde(default)]
    name: String,
    /// vLLM
    #[serde(default)]
    max_model_len: Option<f64>,
    /// OpenRouter, Together
    #[serde(default)]
    context_length: Option<f64>,
    /// Groq
    #[serde(default)]
    context_window: Option<f64>,
    /// Mistral, LM Studio
    #[serde(default)]
    max_context_length: Option<f64>,
    /// LM Studio: as it was loaded
    #[serde(default)]
    loaded_context_length: Option<f64>,
    /// Groq
    #[serde(default)]
    max_completion_tokens: Option<f64>,
    /// OpenRouter
    #[serde(default)]
    top_provider: Option<TopProvider>,
    /// llama.cpp
    #[serde(default)]
    meta: Option<Meta>,
}

#[derive(Deserialize)]
struct TopProvider {
    #[serde(default)]
    max_completion_tokens: Option<f64>,
}

#[derive(Deserialize)]
struct Meta {
    #[serde(default)]
    n_ctx: Option<f64>,
}

/// llama.cpp's `/props`.
#[derive(Deserialize)]
struct Props {
    default_generation_settings: Settings,
}

#[derive(Deserialize)]
struct Settings {
    n_ctx: u64,
}

/// Ollama's `/api/show`.
#[derive(Deserialize)]
struct Show {
    #[serde(default)]
    parameters: String,
    #[serde(default)]
    model_info: std::collections::BTreeMap<String, serde_json::Value>,
}

#[derive(serde::Serialize)]
struct Ask<'a> {
    model: &'a str,
}

/// The models of an endpoint, in its order. Windows come from the server where it names them, else from
/// the registry.
///
/// # Errors
/// It cannot be asked, or answers with something else than a list.
pub fn list(
    wire: &mut Wire,
    target: &Target,
    key: &Key,
    cancel: &Arc<Cancel>,
) -> Result<Vec<Model>, Failure> {
    let body = fetch(wire, target, key, cancel, Method::GET, &target.url("models"), Vec::new())?;
    let list: List = serde_json::from_str(&nub_proto::lossless(&body)).map_err(|_| {
        Failure::new(ErrorClass::Protocol, format!("{} has no list of models", target.host()))
            .hint("check base_url of the endpoint")
    })?;
    let (List::Data { data: entries } | List::Models { models: entries } | List::Bare(entries)) = list;
    Ok(entries.iter().map(|entry| model(entry, target)).collect())
}

fn model(entry: &Entry, target: &Target) -> Model {
    let id = if entry.id.is_empty() { &entry.name } else { &entry.id };
    let caps = target.endpoint.resolve(id).caps;
    let windows = [
        entry.loaded_context_length,
        entry.meta.as_ref().and_then(|meta| meta.n_ctx),
        entry.max_model_len,
        entry.context_length,
        entry.context_window,
        entry.max_context_length,
    ];
    let outputs = [
        entry.max_completion_tokens,
        entry.top_provider.as_ref().and_then(|provider| provider.max_completion_tokens),
    ];
    let own = &target.endpoint.caps;
    Model {
        id: id.clone(),
        endpoint: target.endpoint.name.clone(),
        max_context: own.max_context.or_else(|| first(&windows)).unwrap_or(caps.max_context),
        max_output: own.max_output.or_else(|| first(&outputs)).unwrap_or(caps.max_output),
    }
}

/// The first number that can be one of tokens.
fn first(numbers: &[Option<f64>]) -> Option<u64> {
    numbers.iter().flatten().find(|number| (1.0..1e12).contains(*number)).map(|number| *number as u64)
}

/// The window that a server on this machine was started with, where its list does not say.
#[must_use]
pub fn window(wire: &mut Wire, target: &Target, key: &Key, cancel: &Arc<Cancel>) -> Option<u64> {
    let props = fetch(wire, target, key, cancel, Method::GET, &target.root("props"), Vec::new());
    if let Some(props) = props.ok().and_then(|body| serde_json::from_slice::<Props>(&body).ok()) {
        return Some(props.default_generation_settings.n_ctx).filter(|window| *window > 0);
    }
    let ask = serde_json::to_vec(&Ask { model: &target.model }).ok()?;
    let body = fetch(wire, target, key, cancel, Method::POST, &target.root("api/show"), ask).ok()?;
    let show: Show = serde_json::from_slice(&body).ok()?;
    let set =
        show.parameters.lines().find_map(|line| line.trim().strip_prefix("num_ctx")?.trim().parse().ok());
    let trained = || {
        let mut lengths = show.model_info.iter().filter(|(key, _)| key.ends_with(".context_length"));
        lengths.find_map(|(_, value)| value.as_u64())
    };
    set.or_else(trained)
}

fn fetch(
    wire: &mut Wire,
    target: &Target,
    key: &Key,
    cancel: &Arc<Cancel>,
    method: Method,
    url: &str,
    body: Vec<u8>,
) -> Result<Vec<u8>, Failure> {
    let mut headers = vec![("accept".to_owned(), "application/json".to_owned())];
    if !body.is_empty() {
        headers.push(("content-type".to_owned(), "application/json".to_owned()));
    }
    headers.extend(key.secret().map(|secret| ("authorization".to_owned(), format!("Bearer {secret}"))));
    headers.extend(key.headers());
    let call = Call { method, url: url.to_owned(), headers, body };
    let mut reply = wire.send(call, target, cancel)?;
    let status = reply.status;
    let ok = (200..300).contains(&status);
    let body = reply.read_short(if ok { LIST } else { ERROR_BODY });
    let failure = (!ok).then(|| classify::http(status, &reply.headers, &body));
    wire.keep(reply, key)?;
    match failure {
        Some(failure) => Err(crate::hint::advise(failure, target, key)),
        None => Ok(body),
    }
}
