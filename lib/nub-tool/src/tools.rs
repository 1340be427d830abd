//! The table of tools: what can be called, and which module does it.

use nub_proto::Json;
use serde::de::DeserializeOwned;

use crate::bash::{self, BashArgs, Shell};
use crate::cancel::Cancel;
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

    /// Checks the arguments of a call and begins with it.
    ///
    /// # Errors
    /// What is wrong with them, for the model.
    pub(crate) fn begin(self, input: &Json) -> Result<Step, String> {
        match self {
            Tool::Read => file_work(input, &read::DEF, read::run),
            Tool::Write => file_work(input, &write::DEF, write::run),
            Tool::Edit => file_work(input, &edit::DEF, edit::run),
            Tool::Bash => arguments::read(&bash::DEF, input).map(Step::Command),
            Tool::Glob => file_work(input, &glob::DEF, glob::run),
            Tool::Grep => file_work(input, &grep::DEF, grep::run),
            Tool::Todo => arguments::read(&todo::DEF, input).map(|args| Step::Done(todo::run(args))),
        }
    }
}

/// What a call begins with.
pub(crate) enum Step {
    /// Nothing else is to be done.
    Done(Outcome),
    /// A command is to be started and followed.
    Command(BashArgs),
    /// Work for a thread of its own.
    Work(Work),
}

/// Work for a thread of its own.
pub(crate) type Work = Box<dyn FnOnce(&Bench, &Cancel) -> Outcome + Send>;

fn file_work<A: DeserializeOwned + Send + 'static>(
    input: &Json,
    def: &Definition,
    run: fn(&Place, A, &Cancel) -> Outcome,
) -> Result<Step, String> {
    let args: A = arguments::read(def, input)?;
    Ok(Step::Work(Box::new(move |bench, cancel| run(&bench.place, args, cancel))))
}

/// What is said about a name that is no tool.
pub(crate) fn unknown(name: &str) -> String {
    let names: Vec<&str> = ALL.iter().map(|tool| tool.def().name).collect();
    let name: String = name.chars().take(80).collect();
    format!("there is no tool '{name}'; there are {}", names.join(", "))
}
