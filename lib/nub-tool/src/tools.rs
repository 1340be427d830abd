//! The table of tools: what can be called, and which module does it.

use nub_proto::Json;

use crate::bash::{self, Shell};
use crate::cancel::Cancel;
use crate::command::Printed;
use crate::definition::Definition;
use crate::outcome::Outcome;
use crate::place::Place;
use crate::{arguments, edit, glob, grep, read, todo, write};

/// A built-in tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    Read,
    Write,
    Edit,
    Bash,
    Glob,
    Grep,
    Todo,
}

/// Every tool, in the order in which they are announced.
pub(crate) const ALL: [Tool; 7] =
    [Tool::Read, Tool::Write, Tool::Edit, Tool::Bash, Tool::Glob, Tool::Grep, Tool::Todo];

/// What tools work with.
pub(crate) struct Bench {
    /// Where files are.
    pub place: Place,
    /// Where commands run.
    pub shell: Shell,
}

impl Tool {
    /// The tool of this name.
    pub(crate) fn find(name: &str) -> Option<Tool> {
        ALL.into_iter().find(|tool| tool.def().name == name)
    }

    /// What the model is told.
    pub(crate) fn def(self) -> &'static Definition {
        match self {
            Tool::Read => &read::DEF,
            Tool::Write => &write::DEF,
            Tool::Edit => &edit::DEF,
            Tool::Bash => &bash::DEF,
            Tool::Glob => &glob::DEF,
            Tool::Grep => &grep::DEF,
            Tool::Todo => &todo::DEF,
        }
    }

    /// Whether a later call of one message must wait for this one to end. Calls that write keep their
    /// order, so a file is never written twice at once; what looks at files waits for the file writers
    /// before it, and writers wait for `read`. A command holds up writers only.
    pub(crate) fn goes_before(self, later: Tool) -> bool {
        let is_file_writer = matches!(self, Tool::Write | Tool::Edit);
        let is_writer = is_file_writer || self == Tool::Bash;
        match later {
            Tool::Write | Tool::Edit | Tool::Bash => is_writer || self == Tool::Read,
            Tool::Read | Tool::Glob | Tool::Grep => is_file_writer,
            Tool::Todo => self == Tool::Todo,
        }
    }

    /// Runs one call. `print` gets what a command prints, as it does.
    pub(crate) fn run(
        self,
        bench: &Bench,
        input: &Json,
        cancel: &Cancel,
        print: &mut dyn FnMut(Printed, &str),
    ) -> Outcome {
        let def = self.def();
        let place = &bench.place;
        let outcome = match self {
            Tool::Read => arguments::read(def, input).map(|args| read::run(place, args, cancel)),
            Tool::Write => arguments::read(def, input).map(|args| write::run(place, args, cancel)),
            Tool::Edit => arguments::read(def, input).map(|args| edit::run(place, args, cancel)),
            Tool::Bash => {
                arguments::read(def, input).map(|args| bash::run(&bench.shell, &args, cancel, print))
            }
            Tool::Glob => arguments::read(def, input).map(|args| glob::run(place, args, cancel)),
            Tool::Grep => arguments::read(def, input).map(|args| grep::run(place, args, cancel)),
            Tool::Todo => arguments::read(def, input).map(todo::run),
        };
        outcome.unwrap_or_else(Outcome::error)
    }
}

/// What is said about a name that is no tool.
pub(crate) fn unknown(name: &str) -> String {
    let names: Vec<&str> = ALL.iter().map(|tool| tool.def().name).collect();
    let name: String = name.chars().take(80).collect();
    format!("there is no tool '{name}'; there are {}", names.join(", "))
}
