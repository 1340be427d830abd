//! The key of an endpoint and its further headers: named by their source, never shown.

use nub_conf::{Endpoint, Paths, Secret};
use nub_proto::ErrorClass;

use crate::failure::Failure;

/// Shorter values are no secrets, and would be found in any text.
const SHORTEST: usize = 6;

/// What goes with every request to an endpoint.
#[derive(Debug, Clone)]
pub struct Key {
    secret: Option<Secret>,
    headers: Vec<(String, Secret)>,
    source: String,
}

impl Key {
    /// Nothing, for answers from a cassette.
    #[must_use]
    pub fn none() -> Key {
        Key { secret: None, headers: Vec::new(), source: "none".into() }
    }

    /// Reads what an endpoint needs. May run a command, so it may take long.
    ///
    /// # Errors
    /// A source holds nothing, or what no header can carry.
    pub fn of(endpoint: &Endpoint, paths: &Paths) -> Result<Key, Failure> {
        let missing = |e: nub_conf::ConfError| {
            Failure::new(ErrorClass::Auth, e.to_string()).hint(format!(
                "endpoint '{}' takes its key from {}; see api_key in nub-config(5)",
                endpoint.name, endpoint.api_key
            ))
        };
        Ok(Key {
            secret: endpoint.key(paths).map_err(missing)?,
            headers: endpoint.header_values().map_err(missing)?,
            source: endpoint.api_key.clone(),
        })
    }

    /// The key.
    #[must_use]
    pub fn secret(&self) -> Option<&str> {
        self.secret.as_ref().map(Secret::expose)
    }

    /// The endpoint's further headers, with their values.
    pub fn headers(&self) -> impl Iterator<Item = (String, String)> + '_ {
        self.headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.expose().to_owned()))
    }

    /// Where the key came from, such as `env:OPENAI_API_KEY`.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// A text in which neither the key nor the value of a header appears: some servers repeat them.
    #[must_use]
    pub fn mask(&self, text: String) -> String {
        let secrets = self.secret.iter().chain(self.headers.iter().map(|(_, value)| value));
        secrets
            .map(Secret::expose)
            .filter(|secret| secret.len() >= SHORTEST)
            .fold(text, |text, secret| if text.contains(secret) { text.replace(secret, "***") } else { text })
    }
}
