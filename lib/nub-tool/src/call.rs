//! `nub-tool call`: one call from a shell.

use std::io::{self, Read, Write};

use nub_proto::{Input, Json};
use nub_sys::{Exit, Fail};

use crate::desk::for_model;
use crate::hand::Call;
use crate::inbox::Event;
use crate::permissions::key;
use crate::run::{self, Job};
use crate::tools::{self, Tool};

/// The longest arguments, in bytes, as for a line of records.
const LONGEST: u64 = nub_proto::MAX_LINE as u64;

/// What is needed.
pub(crate) struct One {
    pub tool: Tool,
    pub input: Json,
}

impl One {
    /// Reads what was typed; `-` means stdin.
    ///
    /// # Errors
    /// There is no such tool, or the arguments are no JSON object.
    pub(crate) fn read(name: &str, json: &str, stdin: impl Read) -> Result<One, Fail> {
        let tool = Tool::find(name).ok_or_else(|| Fail::usage(tools::unknown(name)))?;
        let mut text = json.to_owned();
        if json == "-" {
            text.clear();
            stdin
                .take(LONGEST)
                .read_to_string(&mut text)
                .map_err(|e| Fail::failure(format!("cannot read the arguments from stdin: {e}")))?;
        }
        let advice = format!("such as: nub-tool call {name} '{}'", example(tool));
        let input = Json::parse(text.trim())
            .map_err(|e| Fail::usage(format!("the arguments are no JSON: {e}")).advice(&advice))?;
        if !input.text().starts_with('{') {
            return Err(Fail::usage("the arguments are no JSON object").advice(&advice));
        }
        Ok(One { tool, input })
    }
}

/// Runs it: records of what happens, or as text what the model would be told.
///
/// # Errors
/// The output cannot be written, or the call needs a permission that nobody can give.
pub(crate) fn run(job: Job, one: One, is_text: bool, mut output: impl Write) -> Result<Exit, Fail> {
    let name = one.tool.def().name;
    let call = Call::new("call".into(), name.into(), Input::Object(one.input));
    let records: Box<dyn Write + '_> = if is_text { Box::new(io::sink()) } else { Box::new(&mut output) };
    let mut desk = run::desk(job, records);
    let outcomes = desk.answer(vec![call])?;
    desk.output.flush().map_err(|e| Fail::output(&e))?;
    let (stuck, is_cancelled) =
        (desk.stuck, desk.later.iter().any(|event| matches!(event, Event::Signal(_))));
    drop(desk);
    if let Some(tool) = stuck {
        let advice = format!("set {} = \"auto\" in config.toml", key(tool));
        return Err(Fail::usage(format!("{name} needs permission, and nobody can be asked")).advice(advice));
    }
    if is_text {
        let text: Vec<String> = outcomes.iter().map(for_model).collect();
        let text = text.join("\n");
        let end = if text.ends_with('\n') { "" } else { "\n" };
        output.write_all(format!("{text}{end}").as_bytes()).map_err(|e| Fail::output(&e))?;
    }
    output.flush().map_err(|e| Fail::output(&e))?;
    Ok(match (is_cancelled, outcomes.iter().any(|outcome| outcome.is_error)) {
        (true, _) => Exit::Cancelled,
        (false, true) => Exit::Failure,
        (false, false) => Exit::Success,
    })
}

fn example(tool: Tool) -> &'static str {
    match tool {
        Tool::Read => r#"{"path":"README.md"}"#,
        Tool::Write => r#"{"path":"notes.txt","content":"..."}"#,
        Tool::Edit => r#"{"path":"notes.txt","old":"a","new":"b"}"#,
        Tool::Bash => r#"{"command":"ls"}"#,
        Tool::Glob => r#"{"pattern":"**/*.rs"}"#,
        Tool::Grep => r#"{"pattern":"fn main"}"#,
        Tool::Todo => r#"{"items":[{"text":"read the code"}]}"#,
    }
}
