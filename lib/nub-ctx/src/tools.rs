//! The tools that are offered: announced on stdin, listed by nub-tool, or read from a file.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use nub_proto::{Reader, Tool, ToolDef};
use nub_sys::{Exit, Fail, sibling};

use crate::args::{Job, Offer};

/// Starts `nub-tool list`, when its word is needed.
///
/// # Errors
/// It cannot be started.
pub(crate) fn start(job: &Job, cwd: &Path, announced: &[Tool]) -> Result<Option<Child>, Fail> {
    let needed = match &job.offer {
        Offer::All => announced.is_empty(),
        Offer::Nothing => false,
        Offer::Listed(list) => announced.is_empty() && !is_file(cwd, list),
    };
    if !needed {
        return Ok(None);
    }
    let advice = "use --no-tools to do without, or set NUB_EXEC_PATH to the folder of the programs";
    let program =
        sibling::find("nub-tool").ok_or_else(|| Fail::failure("cannot find 'nub-tool'").advice(advice))?;
    let arguments = ["list", "--format", "ndjson"].map(OsString::from);
    Command::new(&program)
        .args(arguments.iter().chain(&job.common))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map(Some)
        .map_err(|e| Fail::failure(format!("cannot start '{}': {e}", program.display())).advice(advice))
}

/// The tools to offer, in the order in which they were announced.
///
/// # Errors
/// nub-tool failed, a file that holds no tools, a name that no tool has.
pub(crate) fn choose(
    job: &Job,
    cwd: &Path,
    announced: Vec<Tool>,
    listing: Option<Child>,
) -> Result<Vec<ToolDef>, Fail> {
    let tools = match (&job.offer, listing) {
        (Offer::Nothing, _) => return Ok(Vec::new()),
        (Offer::Listed(list), None) if is_file(cwd, list) => {
            let path = cwd.join(list);
            let refuse = |e| Fail::usage(format!("cannot read '{}': {e}", path.display()));
            return Ok(read(File::open(&path).map_err(refuse)?, list)?
                .into_iter()
                .map(ToolDef::from)
                .collect());
        }
        (Offer::All | Offer::Listed(_), Some(child)) => listed(child)?,
        (Offer::All | Offer::Listed(_), None) => announced,
    };
    match &job.offer {
        Offer::Listed(list) => named(tools, list),
        Offer::All | Offer::Nothing => Ok(tools.into_iter().map(ToolDef::from).collect()),
    }
}

fn is_file(cwd: &Path, list: &str) -> bool {
    list.contains('/') || cwd.join(list).is_file()
}

fn listed(mut child: Child) -> Result<Vec<Tool>, Fail> {
    let lost = |e| Fail::failure(format!("nub-tool is lost: {e}"));
    let tools = child.stdout.take().map_or(Ok(Vec::new()), |stdout| read(stdout, "nub-tool list"));
    if tools.is_err() {
        // it may be gone already
        drop(child.kill());
    }
    let status = child.wait().map_err(lost)?;
    let tools = tools?;
    if status.success() {
        return Ok(tools);
    }
    let exit = if status.code() == Some(2) { Exit::Usage } else { Exit::Failure };
    Err(Fail::new(exit, format!("nub-tool list failed ({status})")).advice("use --no-tools to do without"))
}

fn read(input: impl Read, name: &str) -> Result<Vec<Tool>, Fail> {
    let wrong = |e| Fail::usage(format!("'{name}' holds no tool records: {e}"));
    let mut reader = Reader::new(input);
    let mut tools = Vec::new();
    while let Some(line) = reader.next_line().map_err(wrong)? {
        if line.is::<Tool>() {
            tools.push(line.read().map_err(wrong)?);
        }
    }
    Ok(tools)
}

fn named(tools: Vec<Tool>, list: &str) -> Result<Vec<ToolDef>, Fail> {
    let wanted: Vec<&str> = list.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    if let Some(unknown) = wanted.iter().find(|name| !tools.iter().any(|tool| tool.name == **name)) {
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        return Err(Fail::usage(format!("there is no tool '{unknown}'"))
            .advice(format!("there are: {}", names.join(", "))));
    }
    Ok(tools.into_iter().filter(|tool| wanted.contains(&tool.name.as_str())).map(ToolDef::from).collect())
}
