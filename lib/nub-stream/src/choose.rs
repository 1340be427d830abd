//! Where a request goes that does not say so: to what is configured, to a provider whose key is in the
//! environment, or to a server on this machine.

use std::env;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use nub_conf::{Config, Endpoint, KnownEndpoint, known_endpoints};
use nub_proto::ErrorClass;
use nub_proto::Request;

use crate::Job;
use crate::cancel::Cancel;
use crate::failure::Failure;
use crate::key::Key;
use crate::models;
use crate::target::{self, Target};
use crate::wire::Wire;

/// How long a server on this machine may take to accept a connection.
const KNOCK: Duration = Duration::from_millis(200);
/// What the user is told when there is nothing to ask.
const ADVICE: &str = "set OPENAI_API_KEY (or the key of another provider), start a local server such as Ollama, \
     or write an [[endpoint]] into config.toml: see nub-config(5)";

/// What was chosen, so that a run stays with it.
#[derive(Debug, Default)]
pub struct Chosen {
    endpoint: Option<Endpoint>,
    /// Endpoint and model.
    model: Option<(String, String)>,
}

/// Finds the target of a request. What was chosen for the user is told through `tell`.
///
/// # Errors
/// An endpoint of that name does not exist, or there is none at all.
pub fn target(
    job: &Job,
    request: &Request,
    chosen: &mut Chosen,
    wire: &mut Wire,
    cancel: &Arc<Cancel>,
    tell: &mut dyn FnMut(String),
) -> Result<Target, Failure> {
    let config = &job.conf.config;
    let name = first(&job.endpoint, &request.endpoint, &config.model.endpoint);
    let model = first(&job.model, &request.model, &config.model.default);
    let found = match chosen.endpoint.clone().filter(|_| name.is_empty()) {
        Some(endpoint) => endpoint,
        None => endpoint(config, &name, wire, cancel)?,
    };
    let (endpoint, mut told) = (found, name.is_empty() && chosen.endpoint.is_none());
    let model = if model.is_empty() {
        match chosen.model.take().filter(|(at, _)| *at == endpoint.name) {
            Some((_, model)) => model,
            None => {
                told = true;
                default_model(job, &endpoint, wire, cancel)?
            }
        }
    } else {
        model
    };
    if told && wire.is_live() {
        let place = target::without_query(&endpoint.base_url);
        tell(format!(
            "asking the model '{model}' at endpoint '{}' ({place}), as none was named",
            endpoint.name
        ));
    }
    if name.is_empty() {
        chosen.endpoint = Some(endpoint.clone());
    }
    chosen.model = Some((endpoint.name.clone(), model.clone()));
    Ok(Target::new(endpoint, model))
}

fn first(typed: &Option<String>, asked: &str, configured: &str) -> String {
    typed.clone().unwrap_or_else(|| if asked.is_empty() { configured } else { asked }.to_owned())
}

/// The endpoint of that name; without a name the best there is.
///
/// # Errors
/// There is none.
pub fn endpoint(config: &Config, name: &str, wire: &Wire, cancel: &Arc<Cancel>) -> Result<Endpoint, Failure> {
    if !name.is_empty() {
        // a cassette needs no configuration
        let recorded = || Endpoint { name: name.to_owned(), ..Endpoint::default() };
        return if wire.is_live() {
            named(config, name)
        } else {
            Ok(config.endpoint(name).unwrap_or_else(recorded))
        };
    }
    if let Some(first) = config.endpoints.first() {
        return named(config, &first.name);
    }
    if !wire.is_live() {
        return Ok(Endpoint { name: "replay".into(), ..Endpoint::default() });
    }
    let has_key = |known: &&KnownEndpoint| {
        known.keys.iter().any(|name| env::var_os(name).is_some_and(|value| !value.is_empty()))
    };
    if let Some(known) = known_endpoints().iter().find(has_key) {
        return Ok(known.endpoint());
    }
    let local: Vec<Endpoint> =
        known_endpoints().iter().filter(|known| known.keys.is_empty()).map(local_endpoint).collect();
    let found = cancel.abandonable(move || listening(local)).map_err(|_| cancelled())?;
    found.ok_or_else(|| {
        let what = "no endpoint is configured, no API key is in the environment and no model server runs on this machine";
        Failure::new(ErrorClass::Config, what).hint(ADVICE)
    })
}

fn named(config: &Config, name: &str) -> Result<Endpoint, Failure> {
    config.endpoint(name).ok_or_else(|| {
        let own = config.endpoints.iter().map(|endpoint| endpoint.name.as_str());
        let names: Vec<&str> = own.chain(known_endpoints().iter().map(|known| known.name.as_str())).collect();
        Failure::new(ErrorClass::Config, format!("there is no endpoint '{name}'"))
            .hint(format!("known are {}", names.join(", ")))
    })
}

/// Ollama's own variable moves its port.
fn local_endpoint(known: &KnownEndpoint) -> Endpoint {
    let mut endpoint = known.endpoint();
    if known.name == "ollama"
        && let Ok(host) = env::var("OLLAMA_HOST")
        && let Some(base_url) = ollama(&host)
    {
        endpoint.base_url = base_url;
    }
    endpoint
}

/// The address behind `OLLAMA_HOST`: a host, a port or both; `0.0.0.0` is where a server listens.
fn ollama(host: &str) -> Option<String> {
    let host = host.trim().trim_end_matches('/');
    let (scheme, host) = host.split_once("://").unwrap_or(("http", host));
    if host.is_empty() {
        return None;
    }
    let host = host.replace("0.0.0.0", "127.0.0.1");
    let host = if host.starts_with(':') { format!("127.0.0.1{host}") } else { host };
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    Some(if has_port { format!("{scheme}://{host}/v1") } else { format!("{scheme}://{host}:11434/v1") })
}

/// The first of these servers that takes a connection.
fn listening(endpoints: Vec<Endpoint>) -> Option<Endpoint> {
    let knocks: Vec<_> = endpoints
        .into_iter()
        .map(|endpoint| thread::spawn(move || knock(&endpoint).then_some(endpoint)))
        .collect();
    knocks.into_iter().filter_map(|knock| knock.join().ok().flatten()).next()
}

fn knock(endpoint: &Endpoint) -> bool {
    let Ok(mut addresses) = target::host_of(&endpoint.base_url).to_socket_addrs() else { return false };
    addresses.any(|address: SocketAddr| TcpStream::connect_timeout(&address, KNOCK).is_ok())
}

/// The model of an endpoint when the user names none.
fn default_model(
    job: &Job,
    endpoint: &Endpoint,
    wire: &mut Wire,
    cancel: &Arc<Cancel>,
) -> Result<String, Failure> {
    if !wire.is_live() {
        return Ok("recorded".into());
    }
    if let Some(known) = endpoint.known().filter(|known| !known.model.is_empty()) {
        return Ok(known.model.clone());
    }
    let target = Target::new(endpoint.clone(), String::new());
    let key = Key::of(endpoint, &job.conf.paths)?;
    let models = models::list(wire, &target, &key, cancel)?;
    models.into_iter().next().map(|model| model.id).ok_or_else(|| {
        Failure::new(ErrorClass::Config, format!("endpoint '{}' has no model", endpoint.name))
            .hint("load one, or name one with --model")
    })
}

fn cancelled() -> Failure {
    Failure::new(ErrorClass::Cancelled, "cancelled")
}

#[cfg(test)]
mod tests {
    use super::ollama;

    #[test]
    fn ollamas_variable_in_its_forms() {
        for (host, url) in [
            ("0.0.0.0", "http://127.0.0.1:11434/v1"),
            (":8000", "http://127.0.0.1:8000/v1"),
            ("box:8000", "http://box:8000/v1"),
            ("https://box/", "https://box:11434/v1"),
        ] {
            assert_eq!(ollama(host).as_deref(), Some(url), "{host}");
        }
        assert_eq!(ollama(""), None);
    }
}
