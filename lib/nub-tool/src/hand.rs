//! The calls in hand: those of one message, which of them may start, and when they are given up.

use std::time::{Duration, Instant};

use nub_proto::{Block, Input, Json, Kind, Message};

use crate::bash;
use crate::cancel::Cancel;
use crate::outcome::Outcome;
use crate::title::title;
use crate::tools::Tool;

/// What a call is answered with when the user cancels.
pub(crate) const CANCELLED: &str = "cancelled by the user";
/// What a call that had not started is answered with when the user says something.
pub(crate) const STEERED: &str = "not run: the user sent a new message";
/// A call that was asked to end and does not is given up after this time.
const GIVE_UP: Duration = Duration::from_millis(70);

/// One call.
pub(crate) struct Call {
    pub id: String,
    pub name: String,
    pub title: String,
    pub input: Input,
    pub tool: Option<Tool>,
    pub state: State,
}

/// How far it is.
pub(crate) enum State {
    Waiting,
    Asking,
    /// Allowed, not started yet.
    Allowed,
    Running(Running),
    Done(Outcome),
}

/// A call at work.
pub(crate) struct Running {
    pub cancel: Cancel,
    pub started: Instant,
    /// When something must be done about it.
    pub until: Option<Instant>,
    /// Why it was asked to end.
    pub ending: Option<Ending>,
    /// The command that it is, as long as the desk follows it.
    pub command: Option<Box<bash::Call>>,
}

/// Why a call was asked to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Cancelled,
    TimedOut,
}

/// The calls of a message, in order; empty when it has none.
pub(crate) fn calls(message: Message) -> Vec<Call> {
    let call = |block: Block| match block.kind {
        Kind::ToolUse { id, name, input } => Some(Call::new(id, name, input)),
        Kind::Text { .. } | Kind::Thinking { .. } | Kind::ToolResult { .. } | Kind::Image { .. } => None,
    };
    message.content.into_iter().filter_map(call).collect()
}

impl Call {
    /// A call that waits.
    pub(crate) fn new(id: String, name: String, input: Input) -> Call {
        let arguments = match &input {
            Input::Object(json) => Some(json),
            Input::Raw(_) => None,
        };
        Call {
            title: title(&name, arguments),
            tool: Tool::find(&name),
            id,
            name,
            input,
            state: State::Waiting,
        }
    }

    /// The arguments, or the text that says what is wrong with them.
    pub(crate) fn arguments(&self) -> Result<&Json, String> {
        match &self.input {
            Input::Object(json) => Ok(json),
            Input::Raw(text) => {
                let sent: String = text.chars().take(2000).collect();
                Err(format!("{}: the arguments are no JSON object; this came: {sent}", self.name))
            }
        }
    }

    /// Asks a call at work to end. A command is given back: somebody must see it to its end.
    pub(crate) fn end(&mut self, why: Ending, now: Instant) -> Option<Box<bash::Call>> {
        let State::Running(running) = &mut self.state else { return None };
        // a cancel does not wait for the end of a timeout
        if running.ending.is_none_or(|ending| ending != why && why == Ending::Cancelled) {
            running.cancel.set();
            running.ending = Some(why);
            running.until = Some(now + GIVE_UP);
        }
        running.command.take()
    }

    /// Gives up the command that it is, whose end comes by itself.
    pub(crate) fn release(&mut self) -> Option<Box<bash::Call>> {
        let State::Running(running) = &mut self.state else { return None };
        let command = running.command.take()?;
        running.until = None;
        Some(command)
    }

    /// The command that it is, when it is at work.
    pub(crate) fn command(&mut self) -> Option<&mut bash::Call> {
        match &mut self.state {
            State::Running(running) => running.command.as_deref_mut(),
            State::Waiting | State::Asking | State::Allowed | State::Done(_) => None,
        }
    }

    /// Whether it neither runs nor has ended.
    pub(crate) fn is_idle(&self) -> bool {
        match self.state {
            State::Waiting | State::Asking | State::Allowed => true,
            State::Running(_) | State::Done(_) => false,
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        matches!(self.state, State::Done(_))
    }

    fn until(&self) -> Option<Instant> {
        match &self.state {
            State::Running(running) => running.until,
            State::Waiting | State::Asking | State::Allowed | State::Done(_) => None,
        }
    }
}

/// The next call that may go on, when there is one: it waits for none before it, fewer than `most` are
/// running, and it is not of the tool that is `held` back.
pub(crate) fn next(calls: &[Call], most: usize, held: Option<Tool>) -> Option<usize> {
    let running = calls.iter().filter(|call| matches!(call.state, State::Running(_))).count();
    let is_free = |at: usize| {
        let later = calls[at].tool;
        let blocks = |call: &Call| match (call.tool, later) {
            (Some(tool), Some(later)) => !call.is_done() && tool.goes_before(later),
            (None, _) | (_, None) => false,
        };
        !calls[..at].iter().any(blocks)
    };
    let may_go = |at: usize| match calls[at].state {
        State::Waiting => is_free(at),
        State::Allowed => running < most && is_free(at) && (held.is_none() || calls[at].tool != held),
        State::Asking | State::Running(_) | State::Done(_) => false,
    };
    (0..calls.len()).find(|at| may_go(*at))
}

/// When the next call must be looked at.
pub(crate) fn earliest(calls: &[Call]) -> Option<Instant> {
    calls.iter().filter_map(Call::until).min()
}

/// The calls whose time has come.
pub(crate) fn due(calls: &[Call], now: Instant) -> Vec<usize> {
    (0..calls.len()).filter(|at| calls[*at].until().is_some_and(|until| until <= now)).collect()
}
