//! What may run: a word for each tool, and what the user said when asked.

use nub_conf::{Permission, Permissions};

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
    always: Vec<Tool>,
}

impl Rules {
    /// The rules of the configuration.
    pub(crate) fn new(config: Permissions) -> Rules {
        Rules { config, always: Vec::new() }
    }

    /// From now on a tool is not asked for.
    pub(crate) fn always(&mut self, tool: Tool) {
        self.always.push(tool);
    }

    /// Whether a call of this tool may run.
    pub(crate) fn judge(&self, tool: Tool) -> Verdict {
        match self.word(tool) {
            Permission::Auto => Verdict::Run,
            Permission::Ask if self.always.contains(&tool) => Verdict::Run,
            Permission::Ask => Verdict::Ask,
            Permission::Deny => {
                Verdict::Refuse(format!("not run: the user's configuration says {} = \"deny\"", key(tool)))
            }
        }
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
