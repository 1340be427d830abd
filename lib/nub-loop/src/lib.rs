//! nub-loop: moves records between the stages and keeps the limits. See man/nub-loop.1.

mod args;
mod input;
mod run;
mod start;

use std::collections::VecDeque;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Instant;

use nub_proto::{Line, Message, Talk, Turn, Writer};
use nub_sys::crew::{Crew, Event};
use nub_sys::{Exit, Fail, log};

use args::{Args, Job};
use input::{Ending, Next};
use run::Run;

const NAME: &str = "nub-loop";

/// Where lines come from: our input, the stages, and the path of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Input,
    Ctx,
    Path,
    Session,
    Stream,
    Tool,
}

struct Loop<W: Write> {
    job: Job,
    out: Writer<W>,
    crew: Crew<Part, io::Result<Vec<Line>>>,
    now: State,
}

/// How things are.
#[derive(Default)]
struct State {
    session: String,
    /// Goes into the session before the first message does.
    context: Vec<u8>,
    /// The path as far as it was read, while it is being read.
    path: Option<Vec<Message>>,
    /// Messages that are not on disk yet.
    unstored: usize,
    ready: bool,
    talk: Talk,
    steer: Vec<Message>,
    waiting: VecDeque<Next>,
    run: Option<Run>,
    turn: Turn,
    /// When the stages that were told to end their work must have done so.
    deadline: Option<Instant>,
    ending: Ending,
    last: u8,
}

/// Entry point.
#[must_use]
pub fn main() -> ExitCode {
    let args: Args = match nub_sys::parse(NAME) {
        Ok(args) => args,
        Err(code) => return code,
    };
    nub_sys::run(NAME, || {
        let (job, folder) = args.job(std::env::var_os("NUB_COPROCESS").is_some())?;
        let level = std::env::var("NUB_LOG").ok().and_then(|word| log::Level::parse(&word));
        log::start(NAME, folder, level.unwrap_or(log::Level::Warn));
        Loop::start(job, io::stdout())?.drive().map_err(|e| Fail::output(&e))?
    })
}

impl<W: Write> Loop<W> {
    fn drive(&mut self) -> io::Result<Result<Exit, Fail>> {
        loop {
            if let Some(end) = self.go_on()? {
                return self.out.flush().map(|()| end);
            }
            match self.crew.next(self.now.deadline, || self.out.flush())? {
                Some(Event::Said(part, lines)) => match lines.and_then(|lines| self.take(part, &lines)) {
                    Err(e) if e.kind() == io::ErrorKind::InvalidData => self.fault(part, &e.to_string())?,
                    taken => taken?,
                },
                Some(Event::End(part)) => self.ended(part)?,
                Some(Event::Signal) => self.end(Fail::quiet(Exit::Cancelled))?,
                None => self.overdue()?,
            }
        }
    }

    fn take(&mut self, part: Part, lines: &[Line]) -> io::Result<()> {
        lines.iter().try_for_each(|line| match part {
            Part::Input => self.input(line),
            Part::Ctx => self.head(line),
            Part::Path => self.node(line),
            Part::Session => self.stored(line),
            Part::Stream => self.answer(line),
            Part::Tool => self.tool(line),
        })
    }

    /// Begins what is due. Gives how the program ends once nothing is left to do.
    fn go_on(&mut self) -> io::Result<Option<Result<Exit, Fail>>> {
        while self.now.run.is_none() || self.give_result()? {
            let can = self.get_ready()?;
            match &self.now.ending {
                Ending::Now(fail) if self.now.waiting.is_empty() => return Ok(Some(Err(fail.clone()))),
                Ending::Idle if can && self.now.waiting.is_empty() => {
                    return Ok(Some(Ok(Exit::of_code(Some(self.now.last.into())))));
                }
                Ending::Open | Ending::Idle if !can || self.now.waiting.is_empty() => break,
                Ending::Open | Ending::Idle | Ending::Now(_) => self.begin()?,
            }
        }
        Ok(None)
    }
}
