//! `nub-tool run`: the filter. Every line passes; an assistant `message` with calls is followed by what
//! happens and one user `message` with a result for each.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write;
use std::sync::Arc;

use nub_conf::Config;
use nub_proto::{
    Block, Control, ErrorClass, ErrorRecord, Kind, Line, Message, MessageRecord, Role, Tool, Writer,
};
use nub_sys::{Exit, Fail};

use crate::desk::{Asking, AtEnd, Desk};
use crate::follow::Ender;
use crate::hand;
use crate::inbox::{Event, Inbox, Outbox};
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
    /// Where signals and the ends of children arrive.
    pub inbox: Inbox,
    /// How other threads reach it.
    pub outbox: Outbox,
}

/// A desk that writes to this output.
pub(crate) fn desk<W: Write>(job: Job, output: W) -> Desk<W> {
    let limits = &job.config.limits;
    Desk {
        max_parallel: limits.max_parallel_tools.max(1),
        rules: Rules::new(job.config.permissions, &job.bench.shell.paths.home),
        bench: job.bench,
        output: Writer::new(output),
        inbox: job.inbox,
        outbox: job.outbox,
        later: VecDeque::new(),
        asking: job.asking,
        at_end: job.at_end,
        stuck: None,
        ender: Ender::default(),
        batch: 0,
    }
}

/// Filters records until the input ends.
///
/// # Errors
/// The input holds something else than records, the output cannot be written, or a call needs a
/// permission that nobody can give.
pub(crate) fn run(mut job: Job, input: File, output: impl Write) -> Result<Exit, Fail> {
    let announce = std::mem::take(&mut job.announce);
    job.inbox.open(input);
    let mut desk = desk(job, output);
    for tool in &announce {
        desk.output.write(tool).map_err(|e| Fail::output(&e))?;
    }
    loop {
        match next(&mut desk)? {
            Event::Line(line) => {
                desk.output.pass(&line).map_err(|e| Fail::output(&e))?;
                desk.inbox.passed(line.raw().len());
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
            Event::Settled => desk.ender.settled(),
            // late words of a call that was given up
            Event::Printed { .. } | Event::Finished { .. } => {}
        }
    }
}

/// The next event; what was written is on its way before this blocks.
fn next<W: Write>(desk: &mut Desk<W>) -> Result<Event, Fail> {
    loop {
        if let Some(event) = desk.later.pop_front().or_else(|| desk.inbox.next()) {
            return Ok(event);
        }
        desk.output.flush().map_err(|e| Fail::output(&e))?;
        desk.inbox.wait(&[], None);
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
