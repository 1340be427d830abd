//! The registry: what nub knows about endpoints and models without being told (`registry.toml`).

use std::sync::OnceLock;

use serde::Deserialize;

use crate::{Caps, CapsOverride, Config, Endpoint};

/// An endpoint that nub knows.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownEndpoint {
    /// What it is called.
    pub name: String,
    /// Where it is.
    pub base_url: String,
    /// Variables that may hold its key; none for a server on this machine.
    #[serde(default)]
    pub keys: Vec<String>,
    /// The model that is asked when the user names none.
    #[serde(default)]
    pub model: String,
    /// What it can and cannot do.
    #[serde(default)]
    pub caps: CapsOverride,
}

/// A family of models that nub knows.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct KnownModel {
    #[serde(rename = "match")]
    patterns: Vec<String>,
    #[serde(default)]
    endpoint: String,
    /// Tokens; 0: the entry does not say.
    #[serde(default)]
    window: u64,
    #[serde(default)]
    output: u64,
    #[serde(default)]
    fixed_temperature: bool,
    #[serde(default)]
    caps: CapsOverride,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Registry {
    endpoint: Vec<KnownEndpoint>,
    model: Vec<KnownModel>,
}

/// What is known about a model at an endpoint.
#[derive(Debug, Clone, PartialEq)]
pub struct Known {
    /// What the two can and cannot do: defaults, registry, then `[endpoint.caps]`.
    pub caps: Caps,
    /// The model takes no temperature.
    pub fixed_temperature: bool,
}

fn registry() -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(|| {
        // a test reads the file: it is part of the program
        toml::from_str(include_str!("registry.toml"))
            .unwrap_or(Registry { endpoint: Vec::new(), model: Vec::new() })
    })
}

/// Every endpoint that nub knows: first those with keys, then servers on this machine in the order in
/// which they are looked for.
#[must_use]
pub fn known_endpoints() -> &'static [KnownEndpoint] {
    &registry().endpoint
}

impl KnownEndpoint {
    /// The endpoint as the configuration would have it.
    #[must_use]
    pub fn endpoint(&self) -> Endpoint {
        let set = |name: &&String| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let key = self.keys.iter().find(set).or_else(|| self.keys.first());
        Endpoint {
            name: self.name.clone(),
            base_url: self.base_url.clone(),
            api_key: key.map_or_else(|| "none".into(), |name| format!("env:{name}")),
            ..Endpoint::default()
        }
    }
}

impl Config {
    /// How many tokens a model at an endpoint reads at most; 0: nobody knows.
    #[must_use]
    pub fn max_context(&self, endpoint: &str, model: &str) -> u64 {
        self.endpoint(endpoint).map_or(0, |endpoint| endpoint.resolve(model).caps.max_context)
    }

    /// The endpoint of that name: the user's, or the registry's.
    #[must_use]
    pub fn endpoint(&self, name: &str) -> Option<Endpoint> {
        let known = || known_endpoints().iter().find(|known| known.name == name).map(KnownEndpoint::endpoint);
        let Some(mut own) = self.endpoints.iter().find(|endpoint| endpoint.name == name).cloned() else {
            return known();
        };
        if own.base_url.is_empty()
            && let Some(known) = known()
        {
            own.base_url = known.base_url;
            if own.api_key == "none" {
                own.api_key = known.api_key;
            }
        }
        Some(own)
    }
}

impl Endpoint {
    /// What the registry knows about this endpoint: by its host, or by its name.
    #[must_use]
    pub fn known(&self) -> Option<&'static KnownEndpoint> {
        let host = host(&self.base_url);
        let all = known_endpoints();
        all.iter()
            .find(|known| self::host(&known.base_url) == host)
            .or_else(|| all.iter().find(|known| known.name == self.name))
    }

    /// What is known about a model here.
    #[must_use]
    pub fn resolve(&self, model: &str) -> Known {
        let mut caps = Caps::default();
        let endpoint = self.known();
        if let Some(endpoint) = endpoint {
            endpoint.caps.apply(&mut caps);
        }
        let name = endpoint.map_or("", |endpoint| endpoint.name.as_str());
        // a server on this machine has the window that it was started with
        let local = is_loopback(&host(&self.base_url));
        let mut fixed_temperature = false;
        for family in registry().model.iter().filter(|family| family.is(model, name)) {
            family.caps.apply(&mut caps);
            fixed_temperature |= family.fixed_temperature;
            if family.window > 0 && !local {
                caps.max_context = family.window;
            }
            if family.output > 0 && !local {
                caps.max_output = family.output;
            }
        }
        self.caps.apply(&mut caps);
        Known { caps, fixed_temperature }
    }
}

impl KnownModel {
    fn is(&self, model: &str, endpoint: &str) -> bool {
        let whole = model.to_ascii_lowercase();
        let last = whole.rsplit('/').next().unwrap_or(&whole);
        (self.endpoint.is_empty() || self.endpoint == endpoint)
            && self.patterns.iter().any(|pattern| matches(pattern, &whole) || matches(pattern, last))
    }
}

/// Whether a text has the form of a pattern, in which `*` stands for anything.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|text| {
            rest.is_empty()
                || (0..=text.len()).any(|at| text.is_char_boundary(at) && matches(rest, &text[at..]))
        }),
    }
}

/// Host and port of an address, in lower case; every name of this machine is one.
fn host(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host).to_ascii_lowercase();
    for name in ["localhost", "[::1]"] {
        if let Some(port) = host.strip_prefix(name) {
            return format!("127.0.0.1{port}");
        }
    }
    host
}

fn is_loopback(host: &str) -> bool {
    host.starts_with("127.")
}
