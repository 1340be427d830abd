//! The desk: takes the calls of one message, runs each on a thread of its own, tells what happens, and
//! has a result for every one of them whatever happens.

use std::collections::VecDeque;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use nub_proto::{
    Allow, Block, Control, Json, Kind, Line, PermissionRequest, ToolEnd, ToolOutput, ToolStart, Writer,
};
use nub_sys::Fail;
use nub_sys::log::{self, Level};

use crate::bash;
use crate::cancel::Cancel;
use crate::command::{Printed, Stop};
use crate::follow::Ender;
use crate::hand::{self, CANCELLED, Call, Ending, Running, STEERED, State};
use crate::inbox::{Event, Inbox, Outbox};
use crate::outcome::Outcome;
use crate::permissions::{Rules, Verdict, key};
use crate::preview::preview;
use crate::tools::{self, Bench, Step, Tool};

/// Whether somebody answers a `permission_request`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asking {
    Possible,
    Impossible,
}

/// What the end of input means while calls run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AtEnd {
    /// Finish them.
    Finish,
    /// Whoever started this program is gone: cancel them.
    Cancel,
}

/// Runs calls.
pub(crate) struct Desk<W: Write> {
    pub bench: Arc<Bench>,
    pub rules: Rules,
    pub output: Writer<W>,
    pub inbox: Inbox,
    pub outbox: Outbox,
    /// What came while calls ran and is not theirs.
    pub later: VecDeque<Event>,
    pub max_parallel: usize,
    pub asking: Asking,
    pub at_end: AtEnd,
    /// A tool that needed a permission nobody could give.
    pub stuck: Option<Tool>,
    /// Where commands that take a while to end are seen to their end.
    pub ender: Ender,
    /// Which message is in hand, so that what comes late from an earlier one is known.
    pub batch: u64,
}

impl<W: Write> Desk<W> {
    /// Runs the calls of one message: an outcome for each, in order.
    ///
    /// # Errors
    /// The output cannot be written.
    pub(crate) fn answer(&mut self, mut calls: Vec<Call>) -> Result<Vec<Outcome>, Fail> {
        self.batch += 1;
        // what was ordered while earlier calls ran, and came after this message, holds for it too
        let control = |event: &Event| match event {
            Event::Line(line) if line.is::<Control>() => Some(line.clone()),
            _ => None,
        };
        for line in self.later.iter().filter_map(control).collect::<Vec<Line>>() {
            self.obey(&mut calls, &line)?;
        }
        self.work(&mut calls)?;
        let outcome = |call: Call| match call.state {
            State::Done(outcome) => outcome,
            State::Waiting | State::Asking | State::Allowed | State::Running(_) => Outcome::error(CANCELLED),
        };
        Ok(calls.into_iter().map(outcome).collect())
    }

    fn work(&mut self, calls: &mut [Call]) -> Result<(), Fail> {
        loop {
            let held = |desk: &Desk<W>| desk.ender.is_busy().then_some(Tool::Bash);
            while let Some(at) = hand::next(calls, self.max_parallel, held(self)) {
                self.go_on(calls, at)?;
            }
            if calls.iter().all(Call::is_done) {
                return Ok(());
            }
            self.output.flush().map_err(|e| Fail::output(&e))?;
            self.follow(calls)?;
            while let Some(event) = self.inbox.next() {
                self.react(calls, event)?;
            }
            self.overdue(calls)?;
        }
    }

    /// Does work for a call on a thread of its own.
    fn aside(
        &mut self,
        calls: &mut [Call],
        at: usize,
        work: impl FnOnce(&Bench) -> Outcome + Send + 'static,
    ) -> Result<(), Fail> {
        let (batch, bench, outbox) = (self.batch, Arc::clone(&self.bench), self.outbox.clone());
        let name = calls[at].name.clone();
        let work = move || {
            let outcome = guarded(&name, || work(&bench));
            // nobody listens when the call was given up
            outbox.send(Event::Finished { batch, call: at, outcome });
        };
        match thread::Builder::new().name("call".into()).spawn(work) {
            Ok(_) => Ok(()),
            Err(e) => self.finish(&mut calls[at], Outcome::error(format!("no thread for this call: {e}"))),
        }
    }

    /// Takes a call one step on: judged, asked about, or started.
    fn go_on(&mut self, calls: &mut [Call], at: usize) -> Result<(), Fail> {
        let call = &mut calls[at];
        let Some(tool) = call.tool else {
            return self.refuse(call, tools::unknown(&call.name));
        };
        let input = match call.arguments() {
            Ok(input) => input.clone(),
            Err(e) => return self.refuse(call, e),
        };
        if matches!(call.state, State::Allowed) {
            return self.start(calls, at, tool, input);
        }
        match self.rules.judge(tool, &input) {
            Verdict::Run => {
                call.state = State::Allowed;
                Ok(())
            }
            Verdict::Refuse(why) => self.refuse(call, why),
            Verdict::Ask if self.asking == Asking::Impossible => {
                self.stuck = Some(tool);
                self.refuse(call, format!("not run: {} = \"ask\", and nobody can be asked", key(tool)))
            }
            Verdict::Ask => self.ask(call, tool, &input),
        }
    }

    fn ask(&mut self, call: &mut Call, tool: Tool, input: &Json) -> Result<(), Fail> {
        let Call { id, name, title, .. } = &*call;
        let ui = preview(&self.bench, tool, input);
        let request = PermissionRequest { id: id.clone(), name: name.clone(), title: title.clone(), ui };
        call.state = State::Asking;
        self.output.write(&request).map_err(|e| Fail::output(&e))
    }

    fn start(&mut self, calls: &mut [Call], at: usize, tool: Tool, input: Json) -> Result<(), Fail> {
        self.say_start(&calls[at], input.clone())?;
        let step = match tool.begin(&input) {
            Ok(step) => step,
            Err(e) => return self.finish(&mut calls[at], Outcome::error(e)),
        };
        let cancel = Cancel::default();
        let started = Instant::now();
        let mut running =
            Running { cancel: cancel.clone(), started, until: None, ending: None, command: None };
        match step {
            Step::Done(outcome) => self.finish(&mut calls[at], outcome),
            Step::Command(call) => {
                let command = match self.ender.ready().and_then(|()| bash::begin(&self.bench.shell, call)) {
                    Ok(command) => Box::new(command),
                    Err(e) => return self.finish(&mut calls[at], Outcome::error(e)),
                };
                running.until = Some(command.running.until());
                running.command = Some(command);
                calls[at].state = State::Running(running);
                Ok(())
            }
            Step::Work(work) => {
                running.until = Some(started + self.bench.shell.max_time);
                calls[at].state = State::Running(running);
                self.aside(calls, at, move |bench| work(bench, &cancel))
            }
        }
    }

    fn react(&mut self, calls: &mut [Call], event: Event) -> Result<(), Fail> {
        match event {
            Event::Line(line) => {
                if line.is::<Control>() {
                    self.obey(calls, &line)?;
                }
                self.later.push_back(Event::Line(line));
            }
            Event::Printed { batch, call, from, text } if batch == self.batch => {
                if !calls[call].is_done() {
                    self.say_printed(&calls[call], from, text)?;
                }
            }
            Event::Finished { batch, call, outcome } if batch == self.batch => {
                if !calls[call].is_done() {
                    let outcome = self.mended(&calls[call], outcome);
                    self.finish(&mut calls[call], outcome)?;
                }
            }
            Event::Printed { .. } | Event::Finished { .. } => {}
            Event::Settled => self.ender.settled(),
            Event::Signal(heard) => {
                heard.try_send(()).ok();
                self.later.push_front(Event::Signal(heard));
                self.cancel(calls)?;
            }
            Event::End => {
                self.later.push_back(Event::End);
                if self.at_end == AtEnd::Cancel {
                    self.cancel(calls)?;
                } else {
                    self.asking = Asking::Impossible;
                    self.unanswered(calls)?;
                }
            }
            Event::Broken(e) => self.later.push_back(Event::Broken(e)),
        }
        Ok(())
    }

    pub(crate) fn obey(&mut self, calls: &mut [Call], line: &Line) -> Result<(), Fail> {
        // a control of a later version is none of ours
        let Ok(control) = line.read::<Control>() else { return Ok(()) };
        match control {
            Control::Cancel => self.cancel(calls),
            Control::Steer => {
                let mut idle = calls.iter_mut().filter(|call| call.is_idle());
                idle.try_for_each(|call| self.finish(call, Outcome::error(STEERED)))
            }
            Control::Permission { id, allow, reason } => self.permit(calls, &id, allow, reason),
            // whoever could answer is gone
            Control::End => {
                self.asking = Asking::Impossible;
                self.unanswered(calls)
            }
            Control::Compact { .. } | Control::Branch { .. } | Control::Model { .. } => Ok(()),
        }
    }

    fn permit(
        &mut self,
        calls: &mut [Call],
        id: &str,
        allow: Allow,
        reason: Option<String>,
    ) -> Result<(), Fail> {
        let asked = |call: &&mut Call| matches!(call.state, State::Asking) && call.id == id;
        let Some(call) = calls.iter_mut().find(asked) else { return Ok(()) };
        match allow {
            Allow::Once => call.state = State::Allowed,
            Allow::Always => {
                let tool = call.tool;
                tool.into_iter().for_each(|tool| self.rules.always(tool));
                let same = |call: &&mut Call| matches!(call.state, State::Asking) && call.tool == tool;
                calls.iter_mut().filter(same).for_each(|call| call.state = State::Allowed);
            }
            Allow::No => {
                let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
                self.finish(call, Outcome::error(format!("not run: the user said no{reason}")))?;
            }
        }
        Ok(())
    }

    fn unanswered(&mut self, calls: &mut [Call]) -> Result<(), Fail> {
        for call in calls.iter_mut().filter(|call| matches!(call.state, State::Asking)) {
            self.stuck = call.tool;
            self.finish(call, Outcome::error("not run: it needed the user's permission, and none came"))?;
        }
        Ok(())
    }

    fn cancel(&mut self, calls: &mut [Call]) -> Result<(), Fail> {
        for at in 0..calls.len() {
            self.see_off(calls, at, Stop::Cancelled);
        }
        let mut idle = calls.iter_mut().filter(|call| call.is_idle());
        idle.try_for_each(|call| self.finish(call, Outcome::error(CANCELLED)))
    }

    /// Calls whose time has come are asked to end; those that were asked and did not are given up.
    fn overdue(&mut self, calls: &mut [Call]) -> Result<(), Fail> {
        let now = Instant::now();
        for at in hand::due(calls, now) {
            let State::Running(Running { ending, command: None, .. }) = &calls[at].state else { continue };
            match ending {
                None => drop(calls[at].end(Ending::TimedOut, now)),
                Some(ending) => {
                    let outcome = self.ended(*ending);
                    self.finish(&mut calls[at], outcome)?;
                }
            }
        }
        Ok(())
    }

    fn ended(&self, ending: Ending) -> Outcome {
        match ending {
            Ending::Cancelled => Outcome::error(CANCELLED),
            Ending::TimedOut => {
                let limit = self.bench.shell.max_time.as_secs_f64();
                Outcome::error(format!("timed out after {limit} s"))
            }
        }
    }

    /// A tool that was asked to end knows not why; a command says it itself.
    fn mended(&self, call: &Call, outcome: Outcome) -> Outcome {
        match &call.state {
            State::Running(Running { ending: Some(ending), .. })
                if outcome.is_error && call.tool != Some(Tool::Bash) =>
            {
                self.ended(*ending)
            }
            _ => outcome,
        }
    }

    /// A call that is answered instead of run.
    fn refuse(&mut self, call: &mut Call, why: String) -> Result<(), Fail> {
        let input = call.arguments().ok().cloned().or_else(|| Json::parse("{}").ok());
        if let Some(input) = input {
            self.say_start(call, input)?;
        }
        self.finish(call, Outcome::error(why))
    }

    fn say_start(&mut self, call: &Call, input: Json) -> Result<(), Fail> {
        let Call { id, name, title, .. } = call;
        let start = ToolStart { id: id.clone(), name: name.clone(), input, title: title.clone() };
        self.output.write(&start).map_err(|e| Fail::output(&e))
    }

    pub(crate) fn say_printed(&mut self, call: &Call, from: Printed, text: String) -> Result<(), Fail> {
        let stream = match from {
            Printed::Stdout => "stdout",
            Printed::Stderr => "stderr",
        };
        let record = ToolOutput { id: call.id.clone(), stream: stream.into(), text };
        self.output.write(&record).map_err(|e| Fail::output(&e))
    }

    pub(crate) fn finish(&mut self, call: &mut Call, mut outcome: Outcome) -> Result<(), Fail> {
        if outcome.content.is_empty() {
            outcome.content.push(Block::text("(nothing)"));
        }
        let duration = match &call.state {
            State::Running(running) => running.started.elapsed(),
            State::Waiting | State::Asking | State::Allowed | State::Done(_) => Duration::ZERO,
        };
        let end = ToolEnd {
            id: call.id.clone(),
            name: call.name.clone(),
            is_error: outcome.is_error,
            for_model: for_model(&outcome),
            ui: outcome.ui.clone(),
            duration_ms: duration.as_millis().try_into().unwrap_or(u64::MAX),
        };
        call.state = State::Done(outcome);
        self.output.write(&end).map_err(|e| Fail::output(&e))
    }
}

/// What the model is told, as one text.
pub(crate) fn for_model(outcome: &Outcome) -> String {
    let text = |block: &Block| match &block.kind {
        Kind::Text { text } | Kind::Thinking { text } => text.clone(),
        Kind::Image { media_type, .. } => format!("[image {media_type}]"),
        Kind::ToolUse { .. } | Kind::ToolResult { .. } => String::new(),
    };
    outcome.content.iter().map(text).collect::<Vec<String>>().join("\n")
}

/// The border of a call's thread: a fault of ours is an error result, not the end of the program.
pub(crate) fn guarded(name: &str, work: impl FnOnce() -> Outcome) -> Outcome {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        log::write(Level::Error, &format!("the tool {name} panicked"));
        Outcome::error(format!("{name}: internal error, a fault of nub; its log says more"))
    })
}
