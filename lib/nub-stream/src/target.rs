//! Where one request goes: an endpoint of the configuration with the registry's knowledge about it.

use std::time::Duration;

use nub_conf::{Caps, Endpoint, Known};

/// Until the first byte of an answer, elsewhere and on loopback (where a prompt may be computed slowly).
const FIRST_BYTE: Duration = Duration::from_secs(300);
const FIRST_BYTE_LOCAL: Duration = Duration::from_secs(1800);

/// An endpoint and a model, with everything that is known about them.
#[derive(Debug, Clone)]
pub struct Target {
    /// The endpoint as configured, or as the registry has it.
    pub endpoint: Endpoint,
    /// The model.
    pub model: String,
    /// What the two can and cannot do.
    pub caps: Caps,
    /// The model takes no temperature.
    pub fixed_temperature: bool,
}

impl Target {
    /// A model at an endpoint, with what the registry and the configuration say about the two.
    #[must_use]
    pub fn new(endpoint: Endpoint, model: String) -> Target {
        let Known { caps, fixed_temperature } = endpoint.resolve(&model);
        Target { endpoint, model, caps, fixed_temperature }
    }

    /// The address of something beside the API, such as `props`: below the root of the server.
    #[must_use]
    pub fn root(&self, path: &str) -> String {
        let base = self.endpoint.base_url.split('?').next().unwrap_or_default().trim_end_matches('/');
        format!("{}/{path}", base.strip_suffix("/v1").unwrap_or(base))
    }

    /// The address of an operation such as `chat/completions`: its path is added, a query is kept.
    #[must_use]
    pub fn url(&self, operation: &str) -> String {
        let (base, query) = match self.endpoint.base_url.split_once('?') {
            Some((base, query)) => (base, Some(query)),
            None => (self.endpoint.base_url.as_str(), None),
        };
        let mut url = format!("{}/{operation}", base.trim_end_matches('/'));
        if let Some(query) = query {
            url.push('?');
            url.push_str(query);
        }
        url
    }

    /// The base URL for people: without its query, which may hold a key.
    #[must_use]
    pub fn shown(&self) -> &str {
        without_query(&self.endpoint.base_url)
    }

    /// Host and port, for people.
    #[must_use]
    pub fn host(&self) -> &str {
        host_of(&self.endpoint.base_url)
    }

    /// Whether the endpoint is on this machine.
    #[must_use]
    pub fn is_local(&self) -> bool {
        is_loopback(self.host())
    }

    /// How long connecting may take.
    #[must_use]
    pub fn connect_timeout(&self) -> Duration {
        seconds(self.endpoint.connect_timeout)
    }

    /// How long the first byte may take, from the request on.
    #[must_use]
    pub fn first_byte_timeout(&self) -> Duration {
        let local = if self.is_local() { FIRST_BYTE_LOCAL } else { FIRST_BYTE };
        self.endpoint.first_byte_timeout.map_or(local, seconds)
    }

    /// How long an answer may be silent.
    #[must_use]
    pub fn idle_timeout(&self) -> Duration {
        seconds(self.endpoint.idle_timeout)
    }
}

/// An address without its query.
#[must_use]
pub fn without_query(url: &str) -> &str {
    url.split('?').next().unwrap_or(url)
}

/// Host and port of an address.
#[must_use]
pub fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    authority.rsplit_once('@').map_or(authority, |(_, host)| host)
}

/// Whether a host (with or without port) is this machine.
#[must_use]
pub fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(rest),
        None => host.split(':').next().unwrap_or(host),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.to_ascii_lowercase().ends_with(".localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// A configured number of seconds; anything that is no time means a very long one.
fn seconds(value: f64) -> Duration {
    const LONGEST: f64 = 86_400.0 * 365.0;
    if value > 0.0 && value < LONGEST {
        Duration::from_secs_f64(value)
    } else {
        Duration::from_secs_f64(LONGEST)
    }
}
