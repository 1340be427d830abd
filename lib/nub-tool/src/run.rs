//! `nub-tool run`: the filter. Every line passes; an assistant `message` with calls is followed by what
//! happens and one user `message` with a result for each.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};

use nub_conf::Config;
use nub_proto::{
    Block, Control, ErrorClass, ErrorRecord, Kind, Line, Message, MessageRecord, Role, Tool, Writer,
};
use nub_sys::{Exit, Fail};

use crate::desk::{Asking, AtEnd, Desk};
use crate::event::{self, Event, Gate};
use crate::hand;
use crate::outcome::Outcome;
use crate::permissions::{Rules, key};
use crate::tools::Bench;

/// What is needed.
pub(crate) struct Job {
    pub bench: Arc<Bench>,
    pub config: Config,
    /// Definitions to begin with.
    pub announce: Vec<Tool>,
    pub asking: Asking,
    pub at_end: AtEnd,
    /// Where signals arrive.
    pub events: (Sender<Event>, Receiver<Event>),
}

/// The channel in which everything arrives.
pub(crate) fn events() -> (Sender<Event>, Receiver<Event>) {
    channel()
}

/// A desk that writes to this output.
pub(crate) fn desk<W: Write>(job: Job, output: W) -> Desk<W> {
    let limits = &job.config.limits;
    Desk {
        max_time: job.bench.shell.max_time,
        max_parallel: limits.max_parallel_tools.max(1),
        rules: Rules::new(job.config.permissions, &job.bench.shell.paths.home),
        bench: job.bench,
        output: Writer::new(output),
        sender: job.events.0,
        events: job.events.1,
        later: VecDeque::new(),
        asking: job.asking,
        at_end: job.at_end,
        stuck: None,
        batch: 0,
    }
}

/// Filters records until the input ends.
///
/// # Errors
/// The input holds something else than records, the output cannot be written, or a call needs a
/// permission that nobody can give.
pub(crate) fn run<W: Write>(
    mut job: Job,
    input: impl Read + Send + 'static,
    output: W,
) -> Result<Exit, Fail> {
    let gate = Gate::default();
    let announce = std::mem::take(&mut job.announce);
    event::read(input, job.events.0.clone(), gate.clone())
        .map_err(|e| Fail::failure(format!("cannot start a thread: {e}")))?;
    let mut desk = desk(job, output);
    for tool in &announce {
        desk.output.write(tool).map_err(|e| Fail::output(&e))?;
    }
    loop {
        match next(&mut desk)? {
            Event::Line(line) => {
                desk.output.pass(&line).map_err(|e| Fail::output(&e))?;
                gate.leave(line.raw().len());
                take(&mut desk, &line)?;
            }
            Event::Broken(e) => {
                desk.output.flush().map_err(|e| Fail::output(&e))?;
                return Err(Fail::usage(e.to_string()));
            }
            Event::End => {
                desk.output.flush().map_err(|e| Fail::output(&e))?;
                return Ok(Exit::Success);
            }
            Event::Signal(heard) => {
                heard.try_send(()).ok();
                desk.output.flush().map_err(|e| Fail::output(&e))?;
                return Ok(Exit::Cancelled);
            }
            // late words of a call that was given up
            Event::Printed { .. } | Event::Finished { .. } => {}
        }
    }
}

/// The next event; what was written is on its way before this blocks.
fn next<W: Write>(desk: &mut Desk<W>) -> Result<Event, Fail> {
    if let Some(event) = desk.later.pop_front() {
        return Ok(event);
    }
    match desk.events.try_recv() {
        Ok(event) => Ok(event),
        Err(TryRecvError::Empty | TryRecvError::Disconnected) => {
            desk.output.flush().map_err(|e| Fail::output(&e))?;
            desk.events.recv().map_err(|_| Fail::failure("the input thread is gone"))
        }
    }
}

/// Answers a line that is an assistant message with calls.
fn take<W: Write>(desk: &mut Desk<W>, line: &Line) -> Result<(), Fail> {
    if line.is::<Control>() {
        return desk.obey(&mut [], line);
    }
    if !line.is::<MessageRecord>() {
        return Ok(());
    }
    let record: MessageRecord = line.read().map_err(|e| Fail::usage(e.to_string()))?;
    let calls = match record.message.role {
        Role::Assistant => hand::calls(record.message),
        Role::User => Vec::new(),
    };
    if calls.is_empty() {
        return Ok(());
    }
    let ids: Vec<String> = calls.iter().map(|call| call.id.clone()).collect();
    let outcomes = desk.answer(calls)?;
    let content = ids.into_iter().zip(outcomes).map(|(id, outcome)| result(id, outcome)).collect();
    let answer = MessageRecord { message: Message { role: Role::User, content }, meta: None };
    desk.output.write(&answer).map_err(|e| Fail::output(&e))?;
    desk.output.flush().map_err(|e| Fail::output(&e))?;
    stuck(desk)
}

fn result(tool_use_id: String, outcome: Outcome) -> Block {
    let Outcome { content, is_error, ui: _ } = outcome;
    Block::new(Kind::ToolResult { tool_use_id, result: content, is_error })
}

/// A permission that nobody can give ends the program: going on would only fail again.
fn stuck<W: Write>(desk: &mut Desk<W>) -> Result<(), Fail> {
    let Some(tool) = desk.stuck.take() else { return Ok(()) };
    let name = tool.def().name;
    let message = format!("{name} needs permission, and nobody can be asked");
    let hint = format!("set {} = \"auto\" in config.toml", key(tool));
    let record = ErrorRecord {
        source: "nub-tool".into(),
        class: ErrorClass::Config,
        message: message.clone(),
        status: None,
        retryable: false,
        hint: Some(hint.clone()),
        retry_after_ms: None,
        partial: String::new(),
    };
    desk.output.write(&record).map_err(|e| Fail::output(&e))?;
    desk.output.flush().map_err(|e| Fail::output(&e))?;
    Err(Fail::usage(message).advice(hint))
}
