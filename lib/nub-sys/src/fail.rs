//! The one way a program ends badly: a line on stderr that says what, where and what to do next.

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use crate::Exit;

/// Why a program ends, for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fail {
    exit: Exit,
    message: String,
    advice: Option<String>,
}

impl Fail {
    /// Any end with a message. Lower case, no full stop, the object in single quotes.
    pub fn new(exit: Exit, message: impl Into<String>) -> Fail {
        Fail { exit, message: message.into(), advice: None }
    }

    /// Exit 1.
    pub fn failure(message: impl Into<String>) -> Fail {
        Fail::new(Exit::Failure, message)
    }

    /// Exit 2: usage, configuration or protocol.
    pub fn usage(message: impl Into<String>) -> Fail {
        Fail::new(Exit::Usage, message)
    }

    /// An end without a word: what happened was said already, in a record.
    #[must_use]
    pub fn quiet(exit: Exit) -> Fail {
        Fail { exit, message: String::new(), advice: None }
    }

    /// What the user can do next.
    #[must_use]
    pub fn advice(mut self, advice: impl Into<String>) -> Fail {
        self.advice = Some(advice.into());
        self
    }

    /// Writing our own stdout failed: a reader that went away is success without a word.
    #[must_use]
    pub fn output(e: &io::Error) -> Fail {
        if e.kind() == io::ErrorKind::BrokenPipe {
            return Fail::quiet(Exit::Success);
        }
        Fail::failure(format!("cannot write to stdout: {e}"))
    }

    /// The exit code.
    #[must_use]
    pub fn exit(&self) -> Exit {
        self.exit
    }

    /// The message, empty for a quiet end.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What the user can do next.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.advice.as_deref()
    }
}

impl fmt::Display for Fail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fail {}

/// Runs a program: prints its failure, if any, as `NAME: message` and gives its exit code.
pub fn run(name: &str, work: impl FnOnce() -> Result<Exit, Fail>) -> ExitCode {
    match work() {
        Ok(exit) => exit.into(),
        Err(fail) => {
            report(name, &fail);
            fail.exit.into()
        }
    }
}

/// A closed stderr is no reason to fail differently, so its errors are dropped.
fn report(name: &str, fail: &Fail) {
    if fail.message.is_empty() {
        return;
    }
    let mut text = format!("{name}: {}\n", fail.message);
    if let Some(advice) = &fail.advice {
        text.push_str("  ");
        text.push_str(advice);
        text.push('\n');
    }
    drop(io::stderr().write_all(text.as_bytes()));
}

/// Tells people something that ends nothing. A closed stderr changes nothing.
pub fn warn(name: &str, message: &str) {
    drop(io::stderr().write_all(format!("{name}: warning: {message}\n").as_bytes()));
}
