//! The tool `bash`: one command, its output, and how it ended, in words for the model.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nub_conf::Paths;
use nub_proto::Ui;
use nub_sys::process::{self, Ended, Process, Reaper};
use serde::Deserialize;

use crate::command::{self, Printed, Running, Stop};
use crate::definition::Definition;
use crate::outcome::Outcome;

pub(crate) const DEF: Definition = Definition {
    name: "bash",
    description: "Run a shell command. No stdin, no terminal. Servers: end with &.",
    schema: r#"{"type":"object","properties":{"command":{"type":"string"},"timeout":{"type":"number","description":"seconds"}},"required":["command"]}"#,
};

/// The arguments.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct BashArgs {
    pub command: String,
    pub timeout: Option<f64>,
}

/// Where and how commands run.
#[derive(Debug)]
pub(crate) struct Shell {
    /// `bash`, or `sh` where there is none.
    pub program: PathBuf,
    /// The folder they run in, and where the whole of a long output may lie.
    pub paths: Paths,
    /// All of their environment.
    pub environment: Vec<(OsString, OsString)>,
    /// The most time one may take.
    pub max_time: Duration,
    /// Starts and reaps them.
    pub reaper: Reaper,
    /// What earlier calls left running in the background.
    pub background: Mutex<Vec<Process>>,
}

/// A call at work.
pub(crate) struct Call {
    /// The command.
    pub running: Running,
    command: String,
    limit: Duration,
    /// What to say beside how it ended.
    clamped: Option<String>,
    earlier: Vec<Process>,
}

/// Starts the command of a call.
///
/// # Errors
/// What is wrong with it, for the model.
pub(crate) fn begin(shell: &Shell, args: BashArgs) -> Result<Call, String> {
    let BashArgs { command, timeout } = args;
    let (limit, clamped) = limit(timeout, shell.max_time)?;
    let earlier = shell.background.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let running = Running::start(shell, &command, limit)?;
    Ok(Call { running, command, limit, clamped, earlier })
}

/// Brings a call to its end. `print` gets what the command still prints.
pub(crate) fn conclude(
    shell: &Shell,
    call: Call,
    stop: Stop,
    print: &mut dyn FnMut(Printed, &str),
) -> Outcome {
    let Call { running, command, limit, clamped, earlier } = call;
    let mut done = running.finish(stop, &earlier, print);
    let left = left_running(shell, earlier, stop);
    let mut notes = Vec::new();
    if done.rest.is_cut && done.rest.dropped == 0 {
        notes.push(format!("long lines were cut; {}", done.spill.whole()));
    }
    notes.extend(ending(&done, limit));
    notes.extend(clamped);
    if !left.is_empty() {
        notes.push(background(&left, &mut done));
    }
    let text = text(&mut done, &notes);
    let (exit_code, signal) = match done.ended {
        Some(Ended::Code(code)) => (Some(code), None),
        Some(Ended::Signal(signal)) => (None, Some(signal)),
        None => (None, None),
    };
    let ui = Ui::Command {
        command,
        exit_code,
        signal,
        timed_out: stop == Stop::TimedOut,
        bytes: done.spill.total(),
        truncated: done.rest.is_cut,
        full_output: done.spill.path().map(|path| path.display().to_string()),
    };
    done.linger();
    let is_good = (stop, exit_code) == (Stop::Ended, Some(0));
    Outcome { is_error: !is_good, ..Outcome::text(text) }.with_ui(ui)
}

/// The time a call may take, and what to say when it wanted more.
fn limit(wanted: Option<f64>, most: Duration) -> Result<(Duration, Option<String>), String> {
    // small models write 0 for "none"
    let Some(wanted) = wanted.filter(|wanted| *wanted != 0.0) else { return Ok((most, None)) };
    if wanted.is_nan() || wanted < 0.0 {
        return Err(format!("bash: argument 'timeout': expected seconds above 0, got {wanted}"));
    }
    match Duration::try_from_secs_f64(wanted) {
        Ok(wanted) if wanted <= most => Ok((wanted, None)),
        Ok(_) | Err(_) => {
            let most_text = most.as_secs_f64();
            let note = format!("the timeout of {wanted} s is above the limit, {most_text} s held instead");
            Ok((most, Some(note)))
        }
    }
}

/// What this call left running. Earlier ones' processes are kept apart: a timeout spares them, a
/// cancel does not.
fn left_running(shell: &Shell, earlier: Vec<Process>, stop: Stop) -> Vec<Process> {
    let mut background = shell.background.lock().unwrap_or_else(PoisonError::into_inner);
    if process::is_childless() {
        background.clear();
        return Vec::new();
    }
    let left = match stop {
        Stop::Ended => process::descendants(&earlier),
        Stop::TimedOut | Stop::Cancelled => Vec::new(),
    };
    *background = earlier;
    background.extend(left.iter().cloned());
    left
}

fn ending(done: &command::Done, limit: Duration) -> Option<String> {
    let all = "everything it started was ended";
    match (done.stop, done.ended) {
        (Stop::TimedOut, _) => Some(format!("timed out after {} s; {all}", limit.as_secs_f64())),
        (Stop::Cancelled, _) => Some(format!("cancelled by the user; {all}")),
        (Stop::Ended, Some(Ended::Code(0))) => None,
        (Stop::Ended, Some(Ended::Code(code))) => Some(format!("exit code {code}")),
        (Stop::Ended, Some(Ended::Signal(signal))) => Some(format!("killed by signal {signal}")),
        (Stop::Ended, None) => Some("how it ended is unknown".into()),
    }
}

/// So many background processes are named.
const NAMED: usize = 8;

fn background(left: &[Process], done: &mut command::Done) -> String {
    let named: Vec<String> = left.iter().take(NAMED).map(|p| format!("{} ({})", p.pid, p.name)).collect();
    let more = left.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let output =
        if done.is_open() { format!("; with what it prints, {}", done.spill.whole()) } else { String::new() };
    format!("still running in the background, until nub ends: {}{more}{output}", named.join(", "))
}

fn text(done: &mut command::Done, notes: &[String]) -> String {
    let mut text = std::mem::take(&mut done.rest.head);
    if done.rest.dropped > 0 {
        let mark = format!("[… {} characters cut here; {} …]", done.rest.dropped, done.spill.whole());
        text.push_str(&format!("\n{mark}\n{}", done.rest.tail));
    }
    if text.is_empty() && notes.is_empty() {
        return "(no output, exit code 0)".into();
    }
    for note in notes {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("[{note}]"));
    }
    text
}
