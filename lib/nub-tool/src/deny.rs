//! `permissions.deny_bash`: a guard rail that reads commands as a shell does, not a border. A rule is a
//! command line; a command is denied when somewhere in it (behind chains, pipes, substitutions,
//! wrappers, quotes, other spellings of flags) the same program gets the same flags and operands.
//! What no parser can read is denied as well while there are rules.

mod rule;
mod script;
mod words;
mod wrapper;

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

pub(crate) use rule::Rule;

/// Longer commands are not read, in bytes.
const LONGEST: usize = 64 << 10;
/// A command this short, with this few brackets, is read where it stands.
const SHORT: usize = 300;
const FEW: usize = 12;
/// The parser recurses: this holds the deepest nesting that fits into the longest command.
const STACK: usize = 256 << 20;
/// A command that takes longer to read is not read.
const PATIENCE: Duration = Duration::from_millis(300);

/// The rules.
#[derive(Debug, Clone)]
pub(crate) struct Denied {
    rules: Vec<Rule>,
    home: String,
}

impl Denied {
    /// Reads the rules of the configuration.
    pub(crate) fn new(rules: &[String], home: &str) -> Denied {
        Denied { rules: rules.iter().map(|rule| Rule::read(rule, home)).collect(), home: home.to_owned() }
    }

    /// Why a command may not run, when it may not.
    pub(crate) fn objection(&self, command: &str) -> Option<String> {
        if self.rules.is_empty() {
            return None;
        }
        let brackets = command.bytes().filter(|b| b"({[`!-".contains(b)).count();
        let found = match (command.len(), brackets) {
            (..=SHORT, ..=FEW) => self.search(command),
            (..=LONGEST, _) => self.search_aside(command),
            _ => Err(format!("it is longer than {LONGEST} bytes")),
        };
        match found {
            Ok(None) => None,
            Ok(Some(rule)) => Some(format!("not run: permissions.deny_bash forbids '{rule}'")),
            Err(reason) => Some(format!(
                "not run: permissions.deny_bash has rules, and this command cannot be checked against them: {reason}"
            )),
        }
    }

    /// The rule a command breaks, or why it cannot be read.
    fn search(&self, command: &str) -> Result<Option<String>, String> {
        let commands = script::commands(command, &self.home)?;
        let broken = |rule: &&Rule| commands.iter().any(|command| rule.forbids(command, &self.home));
        Ok(self.rules.iter().find(broken).map(|rule| rule.source.clone()))
    }

    /// On a thread with room for deep nesting, which is left alone when it takes too long.
    fn search_aside(&self, command: &str) -> Result<Option<String>, String> {
        let (send, receive) = channel();
        let (denied, command) = (self.clone(), command.to_owned());
        let work = move || drop(send.send(denied.search(&command)));
        thread::Builder::new()
            .name("deny".into())
            .stack_size(STACK)
            .spawn(work)
            .map_err(|e| format!("no thread: {e}"))?;
        receive.recv_timeout(PATIENCE).unwrap_or_else(|e| match e {
            RecvTimeoutError::Timeout => Err("it takes too long to read".into()),
            RecvTimeoutError::Disconnected => Err("the parser failed".into()),
        })
    }
}
