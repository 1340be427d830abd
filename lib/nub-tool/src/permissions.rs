//! What may run: a word for each tool, and what the user said when asked.

use std::path::Path;

use nub_conf::{Permission, Permissions};
use nub_proto::Json;

use crate::arguments;
use crate::bash::BashArgs;
use crate::deny::Denied;
use crate::tools::Tool;

/// The answer to "may this call run?".
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It may.
    Run,
    /// The user is asked.
    Ask,
    /// It may not, for this reason.
    Refuse(String),
}

/// The rules, and what was allowed for the session.
#[derive(Debug)]
pub(crate) struct Rules {
    config: Permissions,
    denied: Denied,
    always: Vec<Tool>,
}

impl Rules {
    /// The rules of the configuration.
    pub(crate) fn new(config: Permissions, home: &Path) -> Rules {
        let denied = Denied::new(&config.deny_bash, &home.to_string_lossy());
        Rules { config, denied, always: Vec::new() }
    }

    /// From now on a tool is not asked for.
    pub(crate) fn always(&mut self, tool: Tool) {
        self.always.push(tool);
    }

    /// Whether a call may run.
    pub(crate) fn judge(&self, tool: Tool, input: &Json) -> Verdict {
        if let Some(why) = self.objection(tool, input) {
            return Verdict::Refuse(why);
        }
        match self.word(tool) {
            Permission::Auto => Verdict::Run,
            Permission::Ask if self.always.contains(&tool) => Verdict::Run,
            Permission::Ask => Verdict::Ask,
            Permission::Deny => {
                Verdict::Refuse(format!("not run: the user's configuration says {} = \"deny\"", key(tool)))
            }
        }
    }

    /// Arguments that cannot be read are none of ours: the tool says what is wrong with them.
    fn objection(&self, tool: Tool, input: &Json) -> Option<String> {
        if tool != Tool::Bash || self.config.bash == Permission::Deny {
            return None;
        }
        let args: BashArgs = arguments::read(tool.def(), input).ok()?;
        self.denied.objection(&args.command)
    }

    fn word(&self, tool: Tool) -> Permission {
        match tool {
            Tool::Read => self.config.read,
            Tool::Write => self.config.write,
            Tool::Edit => self.config.edit,
            Tool::Bash => self.config.bash,
            Tool::Glob => self.config.glob,
            Tool::Grep => self.config.grep,
            Tool::Todo => Permission::Auto,
        }
    }
}

/// The configuration key of a tool's permission.
pub(crate) fn key(tool: Tool) -> String {
    format!("permissions.{}", tool.def().name)
}
