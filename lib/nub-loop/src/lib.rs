//! nub-loop: moves records between the stages and keeps the limits. See man/nub-loop.1.

mod args;
mod input;
mod run;

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;
use std::time::Instant;

use nub_proto::{Control, Head, Line, Message, Node, RunResult, Session, Talk, Turn, Writer, read_lines};
use nub_sys::crew::{Crew, Event};
use nub_sys::{Exit, Fail, log};

use args::{Args, Job};

const NAME: &str = "nub-loop";
/// Comes back from a filter after everything that came before it.
const SYNC: &[u8] = b"{\"v\":1,\"type\":\"sync\"}\n";

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
    run: Option<RunResult>,
    /// The run waits for nothing but the disk.
    over: bool,
    turn: Turn,
    /// Inputs for the next request, and those for the end of the run.
    steer: Vec<Line>,
    waiting: VecDeque<Line>,
    /// When the stages that were told to end their work must have done so.
    deadline: Option<Instant>,
    deaf: bool,
    /// The end comes when nothing waits any more.
    closing: bool,
    /// The end comes after the work in hand.
    fatal: Option<Fail>,
    last: Exit,
}

/// Entry point.
pub fn main() -> ExitCode {
    nub_sys::program(NAME, |args: Args| {
        let (job, folder) = args.job(std::env::var_os("NUB_COPROCESS").is_some())?;
        log::start_as_told(NAME, folder);
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
                Some(Event::Said(part, lines)) => self.take(part, lines)?,
                Some(Event::End(part)) => self.ended(part)?,
                Some(Event::Signal) => self.end(Fail::quiet(Exit::Cancelled))?,
                None => self.overdue()?,
            }
        }
    }

    fn take(&mut self, part: Part, lines: io::Result<Vec<Line>>) -> io::Result<()> {
        let mut take = |line: &Line| match part {
            Part::Input => self.input(line),
            Part::Ctx => self.head(line),
            Part::Path => self.node(line),
            Part::Session => self.stored(line),
            Part::Stream => self.answer(line),
            Part::Tool => self.tool(line),
        };
        match lines.and_then(|lines| lines.iter().try_for_each(&mut take)) {
            Err(e) if e.kind() == ErrorKind::InvalidData => self.fault(part, Exit::Usage, &e.to_string()),
            taken => taken,
        }
    }

    /// Begins what is due. Gives how the program ends once nothing is left to do.
    fn go_on(&mut self) -> io::Result<Option<Result<Exit, Fail>>> {
        while (self.now.run.is_none() || self.give_result()?) && self.get_ready()? {
            match (self.now.waiting.pop_front(), &self.now.fatal) {
                (Some(line), _) => self.tell_queue().and_then(|()| self.input(&line))?,
                (None, Some(fail)) => return Ok(Some(Err(fail.clone()))),
                (None, None) if self.now.closing => return Ok(Some(Ok(self.now.last))),
                (None, None) => break,
            }
        }
        Ok(None)
    }

    /// Starts every stage at once.
    fn start(job: Job, output: W) -> Result<Loop<W>, Fail> {
        let mut parts = vec![Part::Tool, Part::Session, Part::Ctx, Part::Path, Part::Stream];
        parts.retain(|part| !(job.fresh && *part == Part::Path || job.head.no_tools && *part == Part::Tool));
        let now = State { path: (!job.fresh).then(Vec::new), ..State::default() };
        let mut all = Loop { job, out: Writer::new(output), crew: Crew::new()?, now };
        parts.into_iter().try_for_each(|part| all.play(part))?;
        all.crew.send(Part::Tool, SYNC.to_vec());
        if all.job.head.no_tools {
            all.crew.close(Part::Ctx);
        }
        Ok(all)
    }

    fn play(&mut self, part: Part) -> Result<(), Fail> {
        self.crew.start(part, self.job.command(part)?, |output, tell| read_lines(output, tell))
    }

    /// A stage that ended between two turns is started again.
    fn have(&mut self, part: Part) -> io::Result<()> {
        if self.crew.has(part) {
            return Ok(());
        }
        self.play(part).or_else(|fail| self.fault(part, fail.exit(), fail.message()))?;
        if self.now.deaf { self.order(part, &Control::End) } else { Ok(()) }
    }

    fn head(&mut self, line: &Line) -> io::Result<()> {
        match line.kind() {
            "request" => return self.now.talk.set_head(line.read()?),
            "context" => self.now.context = line.whole(),
            _ => {}
        }
        self.out.pass(line)
    }

    fn node(&mut self, line: &Line) -> io::Result<()> {
        if line.is::<Node>() {
            self.now.path.get_or_insert_default().push(line.read::<Node>()?.message);
        }
        Ok(())
    }

    fn stored(&mut self, line: &Line) -> io::Result<()> {
        match line.kind() {
            "session" => {
                self.now.session = line.read::<Session>()?.id;
                self.job.session = Some(self.now.session.clone().into());
            }
            "node" => self.now.unstored = self.now.unstored.saturating_sub(1),
            "sync" => return self.have(Part::Path),
            "error" => self.end(Fail::quiet(Exit::Failure))?,
            _ => {}
        }
        self.out.pass(line)
    }

    /// Goes on from another node: its path is read once the session knows.
    fn branch(&mut self, node: String) -> io::Result<()> {
        let head = Head { head: node };
        self.now.path = Some(Vec::new());
        self.order(Part::Session, &head)?;
        self.crew.send(Part::Session, SYNC.to_vec());
        self.out.write(&head)
    }

    /// Whether a prompt can be asked, or dropped. Says so once, and listens from then on.
    fn get_ready(&mut self) -> io::Result<bool> {
        let now = &mut self.now;
        let can = !self.crew.has(Part::Ctx) && now.path.is_none() && !now.session.is_empty();
        if !can || now.ready || now.fatal.is_some() {
            return Ok(can || now.fatal.is_some());
        }
        now.ready = true;
        self.crew.hear(Part::Input, |tell| read_lines(io::stdin(), tell));
        let head = now.talk.head();
        let endpoint = self.job.config.endpoint(&head.endpoint);
        let window = endpoint.map_or(0, |endpoint| endpoint.resolve(&head.model).caps.max_context);
        self.out.write(&now.talk.ready(&now.session, nub_tokens::head(head), window)).map(|()| true)
    }
}
