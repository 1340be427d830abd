//! A run: from a prompt to its result, turn after turn, and what goes wrong on the way.

use std::io::{self, Write};
use std::mem;
use std::time::Duration;

use nub_proto::{
    ErrorClass, ErrorRecord, Heard, INTERRUPTED, Json, Line, Message, MessageRecord, RunResult, Stop, Turn,
    TurnEnd, TurnStart, line_of,
};
use nub_sys::{Exit, Fail, log};

use crate::input::PATIENCE;
use crate::{Loop, NAME, Part};

impl<W: Write> Loop<W> {
    pub(crate) fn in_hand(&self) -> bool {
        self.now.run.is_some() && !self.now.over
    }

    /// A prompt is asked, or has its result at once when it is empty or the program is to end.
    pub(crate) fn begin(&mut self, message: Message) -> io::Result<()> {
        let exit = self.now.fatal.as_ref().map_or(Exit::Usage, Fail::exit);
        self.now.run = Some(RunResult::unasked(self.now.session.clone(), exit as u8));
        self.now.turn = Turn::default();
        self.now.over = self.now.fatal.is_some() || message.is_blank();
        if !self.now.over {
            return self.say(message).and_then(|()| self.next_turn());
        }
        let why = "a prompt needs text or content: there is nothing in this one";
        if self.now.fatal.is_none() { self.warn("empty_prompt", why) } else { Ok(()) }
    }

    fn next_turn(&mut self) -> io::Result<()> {
        let Some(run) = &mut self.now.run else { return Ok(()) };
        run.turns += 1;
        self.now.turn.ask();
        self.out.write(&TurnStart { turn: run.turns })?;
        self.have(Part::Stream)?;
        self.crew.send(Part::Stream, self.now.talk.request());
        Ok(())
    }

    /// A line of the stream stage. The answer goes to the disk and to the tools at the same time.
    pub(crate) fn answer(&mut self, line: &Line) -> io::Result<()> {
        let (record, text) = match self.now.turn.hear(line)? {
            Heard::Event => return self.out.pass(line),
            Heard::Nothing => return Ok(()),
            Heard::End => return self.turn_over(),
            Heard::Message(record, text) => (record, text),
        };
        self.keep(line.whole(), &record.message)?;
        self.now.run.iter_mut().for_each(|run| run.text.clone_from(&text));
        if !self.now.turn.is_calling() {
            return Ok(());
        }
        if self.now.turn.is_cancelled() || self.job.head.no_tools {
            return self.refuse("not run: the user cancelled, or offers no tools");
        }
        self.have(Part::Tool)?;
        self.crew.send(Part::Tool, line.whole());
        self.steer_tools()
    }

    pub(crate) fn tool(&mut self, line: &Line) -> io::Result<()> {
        match line.kind() {
            // a tool that is offered: nub-ctx is to know; when that is all, it can work
            "tool" if !self.now.ready => {
                self.crew.send(Part::Ctx, line.whole());
                return self.out.pass(line);
            }
            "sync" if !self.now.ready => self.crew.close(Part::Ctx),
            "message" => {
                let Some(record) = self.now.turn.results(line)? else { return Ok(()) };
                self.keep(line_of(&record)?, &record.message)?;
                return self.turn_over();
            }
            "error" if self.in_hand() => {
                self.crew.dismiss(Part::Stream, Duration::ZERO);
                self.now.turn.fail(line.read()?)?;
                return self.refuse(INTERRUPTED);
            }
            // echoes, and what was said at the start
            "control" | "tool" | "sync" => {}
            _ => return self.out.pass(line),
        }
        Ok(())
    }

    /// Answers the calls in the place of the tool stage.
    fn refuse(&mut self, why: &str) -> io::Result<()> {
        self.now.turn.refuse(why).map_or(Ok(()), |message| self.say(message))?;
        self.turn_over()
    }

    /// Shows, stores and remembers what was said.
    fn keep(&mut self, line: Vec<u8>, message: &Json) -> io::Result<()> {
        self.out.raw(line.trim_ascii_end())?;
        self.crew.send(Part::Session, [mem::take(&mut self.now.context), line].concat());
        self.now.unstored += 1;
        self.now.talk.push(message);
        Ok(())
    }

    fn say(&mut self, said: impl Into<MessageRecord>) -> io::Result<()> {
        let record = said.into();
        self.keep(line_of(&record)?, &Json::of(&record.message)?)
    }

    /// Once the answer and the results are in: the end of the run, or its next turn.
    fn turn_over(&mut self) -> io::Result<()> {
        if let Some(shown) = self.now.turn.shown(self.now.talk.head()) {
            self.now.run.iter_mut().for_each(|run| run.text = shown.message.text());
            self.say(shown)?;
        }
        let (Some(run), Some(end)) = (&mut self.now.run, self.now.turn.over()) else { return Ok(()) };
        run.take(&end);
        self.now.deadline = None;
        self.out.raw(&end.line)?;
        self.out.write(&TurnEnd { turn: run.turns, stop: end.stop, usage: end.usage })?;
        let limits = &self.job.config.limits;
        let limit = self.now.turn.limit(run.turns, limits.max_turns, limits.repeat_calls);
        let called = end.stop == Stop::ToolUse && self.now.turn.repeats() > 0;
        let ends = end.exit != 0 || !called && (limit.is_some() || !self.now.inbox.is_steering());
        if ends || limit.is_some() {
            self.now.over = true;
            self.now.inbox.late();
            let Some((code, most)) = limit.filter(|_| !ends) else { return Ok(()) };
            (run.stop, run.exit) = (Stop::Limit, Stop::Limit.exit_code());
            return self.warn(code, &format!("the run ends here: limits.{code} is {most}"));
        }
        let steer = self.now.inbox.take()?;
        if !steer.is_empty() {
            self.out.write(&self.now.inbox.queue())?;
        }
        steer.into_iter().try_for_each(|message| self.say(message))?;
        self.next_turn()
    }

    /// Whether the run is over and everything it said is stored, or never will be.
    pub(crate) fn give_result(&mut self) -> io::Result<bool> {
        let lost = self.now.unstored > 0 && !self.crew.has(Part::Session);
        let broken = lost || self.now.fatal.as_ref().is_some_and(|fail| fail.exit() == Exit::Failure);
        let ends = self.now.over && (broken || self.now.unstored == 0);
        let Some(run) = self.now.run.take_if(|_| ends) else { return Ok(false) };
        let run = if broken { run.failed() } else { run };
        self.now.last = Exit::of_code(Some(run.exit.into()));
        self.out.write(&run).map(|()| true)
    }

    /// A part will say nothing more.
    pub(crate) fn ended(&mut self, part: Part) -> io::Result<()> {
        let status = self.crew.dismiss(part, PATIENCE);
        let exit = Exit::of_code(status.and_then(|status| status.code()));
        let how = &status.map_or("ended".into(), |status| format!("ended ({status})"));
        let kind = if exit == Exit::Usage { ErrorClass::Config } else { ErrorClass::Internal };
        match part {
            Part::Input => self.input_ended(),
            Part::Ctx if exit == Exit::Success && self.now.talk.has_head() => Ok(()),
            Part::Path if exit == Exit::Success => self.now.talk.go_on(),
            Part::Ctx | Part::Path | Part::Session | Part::Stream | Part::Tool => self.fault(part, kind, how),
        }
    }

    /// A stage is gone or talks nonsense, or our input does. Without stream or tool stage it goes on, they
    /// are started when needed. What is wrong with the configuration (`Config`) a stage says itself.
    pub(crate) fn fault(&mut self, part: Part, class: ErrorClass, why: &str) -> io::Result<()> {
        self.crew.dismiss(part, Duration::ZERO);
        let unfit = !self.now.ready && class == ErrorClass::Protocol;
        let (name, vital, concerned) = match part {
            Part::Input => ("", true, false),
            Part::Ctx => ("stage ctx: ", true, false),
            Part::Path | Part::Session => ("stage session: ", true, self.in_hand()),
            Part::Stream => ("stage stream: ", unfit, self.now.turn.is_asking()),
            Part::Tool => ("stage tool: ", !self.now.ready, self.now.turn.is_calling()),
        };
        let message = format!("{name}{why}");
        log::write(log::Level::Error, &message);
        if vital && self.now.run.is_none() && self.now.fatal.is_some() {
            return Ok(());
        }
        let class = if vital { class } else { ErrorClass::Internal };
        let error = ErrorRecord::new(NAME, class, message.as_str());
        if vital {
            let exit = Exit::of_code(Some(class.exit_code().into()));
            let quiet = self.job.coprocess || class == ErrorClass::Config;
            self.now.fatal = Some(if quiet { Fail::quiet(exit) } else { Fail::new(exit, message) });
            self.now.talk.stay();
        }
        if !concerned {
            return if vital { self.out.write(&error).and_then(|()| self.cancel()) } else { Ok(()) };
        }
        self.crew.dismiss(Part::Stream, Duration::ZERO);
        if self.now.turn.is_calling() {
            self.crew.dismiss(Part::Tool, PATIENCE);
        }
        self.now.turn.fail(error)?;
        self.refuse(INTERRUPTED)
    }
}
