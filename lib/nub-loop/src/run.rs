//! A run: from a prompt to its result, turn after turn, and what goes wrong on the way.

use std::io::{self, Write};
use std::mem;
use std::time::Duration;

use nub_proto::{
    ErrorClass, ErrorRecord, Heard, Json, Line, Message, MessageRecord, RunResult, Stop, Turn, TurnEnd,
    TurnStart, Usage, line_of,
};
use nub_sys::log::{self, Level};
use nub_sys::{Exit, Fail};

use crate::{Ending, Loop, NAME, Next, Part};

/// How long a stage may take to end after its output has ended.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// How long a tool stage may take to end its calls when there is no answer to go on with.
const LAST_CALLS: Duration = Duration::from_secs(2);

/// One prompt on its way to its result.
pub(crate) struct Run {
    result: RunResult,
    is_over: bool,
    /// The last answer with calls, and how often the same calls came in a row.
    called: Option<Message>,
    repeats: u32,
}

impl<W: Write> Loop<W> {
    pub(crate) fn in_hand(&self) -> bool {
        self.now.run.as_ref().is_some_and(|run| !run.is_over)
    }

    /// Takes what waits: a prompt is asked, or at the end of the program has its result at once.
    pub(crate) fn begin(&mut self) -> io::Result<()> {
        let prompt = match self.now.waiting.pop_front() {
            Some(Next::Prompt(prompt)) => prompt,
            Some(Next::Branch(node)) => return self.branch(node),
            None => return Ok(()),
        };
        let (session, text) = (self.now.session.clone(), String::new());
        let (stop, usage) = (Stop::Cancelled, Usage::default());
        let mut result = RunResult { stop, text, turns: 0, usage, session, exit: stop.exit_code() };
        if let Ending::Now(fail) = &self.now.ending {
            result.exit = fail.exit() as u8;
            self.now.run = Some(Run { result, is_over: true, called: None, repeats: 0 });
            return Ok(());
        }
        self.now.run = Some(Run { result, is_over: false, called: None, repeats: 0 });
        self.say(&MessageRecord { message: prompt, meta: None })?;
        self.next_turn()
    }

    fn next_turn(&mut self) -> io::Result<()> {
        let Some(run) = &mut self.now.run else { return Ok(()) };
        run.result.turns += 1;
        self.now.turn = Turn::asked();
        self.out.write(&TurnStart { turn: run.result.turns })?;
        if self.have(Part::Stream)? {
            self.crew.send(Part::Stream, self.now.talk.request());
        }
        Ok(())
    }

    /// A line of the stream stage.
    pub(crate) fn answer(&mut self, line: &Line) -> io::Result<()> {
        match self.now.turn.hear(line)? {
            Heard::Event => self.out.pass(line),
            Heard::Nothing => Ok(()),
            Heard::Message(record, message) => self.answered(line, &record.message, message),
            Heard::End => self.turn_over(),
        }
    }

    /// The answer: to the disk and to the tools at the same time.
    fn answered(&mut self, line: &Line, json: &Json, message: Message) -> io::Result<()> {
        self.keep([line.raw(), b"\n"].concat(), json)?;
        let Some(run) = &mut self.now.run else { return Ok(()) };
        run.result.text = message.text();
        let again = run.called.as_ref().is_some_and(|called| called.calls_like(&message));
        run.repeats = if again { run.repeats + 1 } else { 1 };
        run.called = Some(message).filter(|_| self.now.turn.is_calling());
        if run.called.is_none() {
            return Ok(());
        }
        if self.now.turn.is_cancelled() {
            return self.refuse("not run: the user cancelled");
        }
        if self.job.head.no_tools {
            return self.refuse("not run: there are no tools in this session");
        }
        if self.have(Part::Tool)? {
            self.crew.send(Part::Tool, [line.raw(), b"\n"].concat());
            self.steer_tools()?;
        }
        Ok(())
    }

    /// A line of the tool stage.
    pub(crate) fn tool(&mut self, line: &Line) -> io::Result<()> {
        match line.kind() {
            "tool" | "sync" if !self.now.ready => self.offered(line),
            "error" if self.in_hand() => self.fault(Part::Tool, &line.read::<ErrorRecord>()?.message),
            // echoes, and what was said at the start
            "control" | "tool" | "sync" => Ok(()),
            "message" => {
                let Some(record) = self.now.turn.results(line)? else { return Ok(()) };
                self.keep(line_of(&record)?, &record.message)?;
                self.turn_over()
            }
            _ => self.out.pass(line),
        }
    }

    /// Answers the calls in the place of the tool stage.
    fn refuse(&mut self, why: &str) -> io::Result<()> {
        if let Some(message) = self.now.turn.refuse(why) {
            self.say(&MessageRecord { message, meta: None })?;
        }
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

    fn say(&mut self, record: &MessageRecord) -> io::Result<()> {
        self.keep(line_of(record)?, &Json::of(&record.message)?)
    }

    /// Once the answer and the results are in: the end of the run, or its next turn.
    fn turn_over(&mut self) -> io::Result<()> {
        if let Some(shown) = self.now.turn.shown(self.now.talk.head()) {
            self.say(&shown)?;
            self.now.run.iter_mut().for_each(|run| run.result.text = shown.message.text());
        }
        let (Some(run), Some(end)) = (&mut self.now.run, self.now.turn.over()) else { return Ok(()) };
        (run.result.stop, run.result.exit) = (end.stop, end.exit);
        run.result.usage += end.usage;
        self.now.deadline = None;
        self.out.raw(&end.line)?;
        self.out.write(&TurnEnd { turn: run.result.turns, stop: end.stop, usage: end.usage })?;
        let (turns, limits) = (run.result.turns, &self.job.config.limits);
        let called = end.stop == Stop::ToolUse && run.called.is_some();
        let last = turns >= limits.max_turns;
        if end.exit != 0 || !called && (last || self.now.steer.is_empty()) {
            return self.finish();
        }
        if called && limits.repeat_calls > 0 && run.repeats >= limits.repeat_calls {
            let text = format!("the model made the same calls {} times in a row", run.repeats);
            return self.limit("repeat_calls", &text);
        }
        if last {
            return self
                .limit("max_turns", &format!("the model was asked {turns} times, the most for one prompt"));
        }
        let steer = mem::take(&mut self.now.steer);
        if !steer.is_empty() {
            self.tell_queue()?;
        }
        steer.into_iter().try_for_each(|message| self.say(&MessageRecord { message, meta: None }))?;
        self.next_turn()
    }

    fn limit(&mut self, code: &str, text: &str) -> io::Result<()> {
        if let Some(run) = &mut self.now.run {
            (run.result.stop, run.result.exit) = (Stop::Limit, Stop::Limit.exit_code());
        }
        self.warn(code, text)?;
        self.finish()
    }

    /// The run is over. What came too late to steer it is the next prompt.
    fn finish(&mut self) -> io::Result<()> {
        self.now.run.iter_mut().for_each(|run| run.is_over = true);
        let late = mem::take(&mut self.now.steer).into_iter().rev();
        late.for_each(|message| self.now.waiting.push_front(Next::Prompt(message)));
        Ok(())
    }

    /// Whether the run is over and everything it said is stored.
    pub(crate) fn give_result(&mut self) -> io::Result<bool> {
        let stored = self.now.unstored == 0 || !self.crew.has(Part::Session);
        let Some(run) = self.now.run.take_if(|run| run.is_over && stored) else { return Ok(false) };
        self.now.last = run.result.exit;
        self.out.write(&run.result)?;
        Ok(true)
    }

    /// A part will say nothing more.
    pub(crate) fn ended(&mut self, part: Part) -> io::Result<()> {
        let status = self.crew.dismiss(part, LAST_WORDS);
        match (part, status) {
            (Part::Input, _) => self.input_ended(),
            (Part::Path | Part::Ctx, Some(status)) if status.success() => self.gathered(),
            (_, Some(status)) => self.fault(part, &format!("ended ({status})")),
            (_, None) => self.fault(part, "ended"),
        }
    }

    /// A stage is gone or talks nonsense, or our input does. The stream and tool stages are started again
    /// when they are needed; without the others there is no going on.
    pub(crate) fn fault(&mut self, part: Part, why: &str) -> io::Result<()> {
        self.crew.dismiss(part, Duration::ZERO);
        let (name, vital, concerned) = match part {
            Part::Input => ("", true, false),
            Part::Ctx => ("stage ctx: ", true, false),
            Part::Path | Part::Session => ("stage session: ", true, self.in_hand()),
            Part::Stream => ("stage stream: ", false, self.now.turn.is_asking()),
            Part::Tool => ("stage tool: ", !self.now.ready, self.now.turn.is_calling()),
        };
        let message = format!("{name}{why}");
        log::write(Level::Error, &message);
        let class = if part == Part::Input { ErrorClass::Protocol } else { ErrorClass::Internal };
        let error = ErrorRecord::new(NAME, class, message.as_str());
        if vital {
            let exit = Exit::of_code(Some(class.exit_code().into()));
            let fail = if self.job.coprocess { Fail::quiet(exit) } else { Fail::new(exit, message) };
            self.now.ending = Ending::Now(fail);
        }
        if !concerned {
            return if vital { self.out.write(&error).and_then(|()| self.cancel()) } else { Ok(()) };
        }
        if self.now.turn.is_asking() {
            self.crew.dismiss(Part::Stream, Duration::ZERO);
        }
        if self.now.turn.is_calling() {
            self.crew.dismiss(Part::Tool, LAST_CALLS);
        }
        self.now.turn.fail(error)?;
        self.refuse("interrupted: the program ended before this call finished, its effects are unknown")
    }
}
