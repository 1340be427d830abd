//! Where keys come from. A key is a [`Secret`]: no message, log line or debug output shows it.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::git::read_plain;
use crate::layer::shown;
use crate::{ConfError, Config, Endpoint, Paths};

/// The longest key, in bytes.
const LONGEST: u64 = 64 << 10;
/// How long a command may take to say a key; it may ask the user for a password.
const PATIENCE: Duration = Duration::from_secs(120);

/// Something that must not be shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The text, for the request alone.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl Endpoint {
    /// The key, from where `api_key` says; none when the endpoint takes none.
    ///
    /// # Errors
    /// The source has no key. The message names the source.
    pub fn key(&self, paths: &Paths) -> Result<Option<Secret>, ConfError> {
        let key = match self.api_key.split_once(':') {
            Some(("env", name)) => variable(name),
            Some(("file", path)) => read_file(&paths.expand(path)),
            Some(("cmd", line)) => said_by(line),
            Some(_) => Err("api_key names no source".to_owned()),
            None if self.api_key == "auth" => stored(&self.name, paths),
            None if matches!(self.api_key.as_str(), "none" | "") => return Ok(None),
            None => Err("api_key names no source".to_owned()),
        };
        match key.and_then(|key| sound(&key)) {
            Ok(key) => Ok(Some(key)),
            Err(reason) => {
                Err(ConfError::new(format!("no key for endpoint '{}': {reason}", shown(&self.name))))
            }
        }
    }

    /// The additional headers with their values.
    ///
    /// # Errors
    /// A variable that a header names is not set.
    pub fn header_values(&self) -> Result<Vec<(String, Secret)>, ConfError> {
        let value = |(name, value): (&String, &String)| {
            let secret = match value.strip_prefix("env:") {
                Some(variable_name) => variable(variable_name).and_then(|value| sound(&value)),
                None => Ok(Secret(value.clone())),
            };
            secret.map(|secret| (name.clone(), secret)).map_err(|reason| {
                let endpoint = shown(&self.name);
                ConfError::new(format!("no value for header '{name}' of endpoint '{endpoint}': {reason}"))
            })
        };
        self.headers.iter().map(value).collect()
    }
}

/// Names of the variables that keys come from: programs that the model starts must not see them.
#[must_use]
pub fn secret_names(config: &Config) -> BTreeSet<String> {
    let endpoints = config.endpoints.iter();
    let values = endpoints.flat_map(|endpoint| endpoint.headers.values().chain([&endpoint.api_key]));
    let servers = config.mcp.iter().flat_map(|server| server.env.values().chain(server.headers.values()));
    values.chain(servers).filter_map(|value| value.strip_prefix("env:")).map(String::from).collect()
}

/// A key as a header can carry it.
fn sound(key: &str) -> Result<Secret, String> {
    let key = key.trim();
    if key.is_empty() {
        return Err("the source is empty".into());
    }
    if key.contains(|c: char| c.is_control()) {
        return Err("the source holds more than one line".into());
    }
    Ok(Secret(key.to_owned()))
}

fn variable(name: &str) -> Result<String, String> {
    match std::env::var(name) {
        Ok(value) if !value.trim().is_empty() => Ok(value),
        Ok(_) => Err(format!("the variable {name} is empty")),
        Err(std::env::VarError::NotPresent) => Err(format!("the variable {name} is not set")),
        Err(std::env::VarError::NotUnicode(_)) => Err(format!("the variable {name} is no UTF-8 text")),
    }
}

fn read_file(path: &std::path::Path) -> Result<String, String> {
    let real = path.canonicalize().map_err(|e| format!("cannot read '{}': {e}", path.display()))?;
    read_plain(&real, LONGEST).map_err(|e| format!("cannot read '{}': {e}", path.display()))
}

/// The key that `nub auth set NAME` stored.
fn stored(name: &str, paths: &Paths) -> Result<String, String> {
    let path = paths.config.join("auth.toml");
    let place = shown(&path.to_string_lossy());
    let meta = fs::symlink_metadata(&path).map_err(|e| format!("cannot read '{place}': {e}"))?;
    if meta.is_file() && meta.permissions().mode() & 0o077 != 0 {
        return Err(format!("others can read '{place}': run chmod 600 on it"));
    }
    let text = read_plain(&path, LONGEST).map_err(|e| format!("cannot read '{place}': {e}"))?;
    let table: toml::Table =
        text.parse().map_err(|e: toml::de::Error| format!("'{place}' is no TOML: {}", e.message()))?;
    match table.get(name).map(toml::Value::as_str) {
        Some(Some(key)) => Ok(key.to_owned()),
        Some(None) => Err(format!("'{place}' has a value for '{}' that is no string", shown(name))),
        None => Err(format!("'{place}' has no key of that name")),
    }
}

/// What a command prints. Its stderr is the user's: it may ask for a password.
fn said_by(line: &str) -> Result<String, String> {
    let spawned = Command::new("sh")
        .args(["-c", line])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| format!("cannot start the command of api_key: {e}"));
    let mut child = spawned?;
    let output = output_of(&mut child);
    if output.is_err() {
        // it may be gone already
        drop(child.kill());
    }
    let status = child.wait().map_err(|e| format!("the command of api_key is lost: {e}"))?;
    let output = output?;
    if !status.success() {
        return Err(format!("the command of api_key failed ({status})"));
    }
    String::from_utf8(output).map_err(|_| "the command of api_key printed no UTF-8 text".into())
}

fn output_of(child: &mut Child) -> Result<Vec<u8>, String> {
    let stdout = child.stdout.take().ok_or("the command of api_key has no output")?;
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = stdout.take(LONGEST).read_to_end(&mut bytes);
        // nobody listens after the patience ended
        drop(send.send(read.map(|_| bytes)));
    });
    match receive.recv_timeout(PATIENCE) {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(e)) => Err(format!("cannot read from the command of api_key: {e}")),
        Err(_) => Err(format!("the command of api_key took more than {} seconds", PATIENCE.as_secs())),
    }
}
