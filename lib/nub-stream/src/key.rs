//! The key of an endpoint: read when it is needed, named by its source, never shown.

use std::path::PathBuf;
use std::{env, fs};

use nub_proto::ErrorClass;

use crate::failure::Failure;
use crate::target::Target;

/// A key and the further headers of an endpoint, with where the key came from.
pub struct Key {
    secret: Option<String>,
    headers: Vec<(String, String)>,
    source: String,
}

impl Key {
    /// Nothing.
    #[must_use]
    pub fn none() -> Key {
        Key { secret: None, headers: Vec::new(), source: "none".into() }
    }

    /// Reads what an endpoint needs.
    ///
    /// # Errors
    /// The source holds no key, or one that no header can carry.
    pub fn of(target: &Target) -> Result<Key, Failure> {
        let endpoint = &target.endpoint;
        let source = endpoint.api_key.clone();
        let missing = |why: String| {
            Failure::new(ErrorClass::Auth, format!("no key for endpoint '{}': {why}", endpoint.name))
                .hint(format!("api_key of the endpoint is {source}"))
        };
        let secret = read(&source).map_err(&missing)?;
        let mut headers = Vec::new();
        for (name, value) in &endpoint.headers {
            let value = match value.strip_prefix("env:") {
                Some(variable) => from_env(variable).map_err(&missing)?,
                None => value.clone(),
            };
            headers.push((name.to_ascii_lowercase(), value));
        }
        Ok(Key { secret, headers, source })
    }

    /// The key.
    #[must_use]
    pub fn secret(&self) -> Option<&str> {
        self.secret.as_deref()
    }

    /// The endpoint's further headers.
    #[must_use]
    pub fn headers(&self) -> &[(String, String)] {
        &self.headers
    }

    /// Where the key came from, such as `env:OPENAI_API_KEY`.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// A text in which the key and the values of headers do not appear.
    #[must_use]
    pub fn mask(&self, text: String) -> String {
        let secrets = self.secret.iter().chain(self.headers.iter().map(|(_, value)| value));
        secrets
            .filter(|secret| secret.len() >= SHORTEST)
            .fold(text, |text, secret| text.replace(secret.as_str(), "***"))
    }
}

/// Shorter values are no secrets, and would be found in any text.
const SHORTEST: usize = 6;

fn read(source: &str) -> Result<Option<String>, String> {
    let key = match source.split_once(':') {
        Some(("env", name)) => from_env(name)?,
        Some(("file", path)) => {
            let path = expand(path);
            let text =
                fs::read_to_string(&path).map_err(|e| format!("cannot read '{}': {e}", path.display()))?;
            text.trim().to_owned()
        }
        _ => match source {
            "none" | "" => return Ok(None),
            _ => return Err(format!("'{source}' is no source of a key")),
        },
    };
    Ok(Some(key))
}

fn from_env(name: &str) -> Result<String, String> {
    let value = env::var(name).map_err(|_| format!("{name} is not set"))?;
    let value = value.trim();
    if value.is_empty() { Err(format!("{name} is empty")) } else { Ok(value.to_owned()) }
}

fn expand(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), env::var_os("HOME")) {
        (Some(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => PathBuf::from(path),
    }
}
