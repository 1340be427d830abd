//! nub-loop: moves records between the stages and keeps the limits. See man/nub-loop.1.

mod args;
mod input;
mod run;

use std::io::{self, ErrorKind::InvalidData, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use nub_proto::{Control, ErrorClass, Head, Inbox, Line, RunResult, Talk, Turn, Warning, Writer, read_lines};
use nub_sys::crew::{Crew, Event};
use nub_sys::{Exit, Fail, log};

use args::{Args, Job};

const NAME: &str = "nub-loop";
/// Comes back from a filter after everything that came before it.
const SYNC: &[u8] = b"{\"v\":1,\"type\":\"sync\"}\n";

/// How long a prompt may take to arrive when the program cannot start.
const ON_ITS_WAY: Duration = Duration::from_millis(250);

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
    /// Where the session is told to go on.
    branch: Option<Head>,
    /// Messages that are not on disk yet.
    unstored: usize,
    ready: bool,
    talk: Talk,
    run: Option<RunResult>,
    /// The run waits for nothing but the disk.
    over: bool,
    turn: Turn,
    inbox: Inbox,
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
        let (out, crew) = (Writer::new(io::stdout()), Crew::new()?);
        Loop { job, out, crew, now: State::default() }.drive().map_err(|e| Fail::output(&e))?
    })
}

impl<W: Write> Loop<W> {
    fn drive(&mut self) -> io::Result<Result<Exit, Fail>> {
        self.start()?;
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
            Part::Path => self.now.talk.node(line),
            Part::Session => self.stored(line),
            Part::Stream => self.answer(line),
            Part::Tool => self.tool(line),
        };
        match lines.and_then(|lines| lines.iter().try_for_each(&mut take)) {
            Err(e) if e.kind() == InvalidData => self.fault(part, ErrorClass::Protocol, &e.to_string()),
            taken => taken,
        }
    }

    /// Begins what is due. Gives how the program ends once nothing is left to do.
    fn go_on(&mut self) -> io::Result<Option<Result<Exit, Fail>>> {
        while (self.now.run.is_none() || self.give_result()?) && self.get_ready()? {
            match (self.now.inbox.waiting.pop_front(), &self.now.fatal) {
                (Some(line), _) => {
                    self.out.write(&self.now.inbox.queue()).and_then(|()| self.input(&line))?
                }
                (None, None) if self.now.closing => return Ok(Some(Ok(self.now.last))),
                (None, Some(_)) if self.now.deadline.is_some() && !self.now.closing => break,
                (None, Some(fail)) => return Ok(Some(Err(fail.clone()))),
                (None, None) => break,
            }
        }
        Ok(None)
    }

    /// Starts every stage at once. The path is read when the session is known.
    fn start(&mut self) -> io::Result<()> {
        let no_tools = self.job.head.no_tools;
        let all = [Part::Tool, Part::Session, Part::Ctx, Part::Stream];
        all.into_iter().skip(no_tools.into()).try_for_each(|part| self.have(part))?;
        self.crew.send(Part::Tool, SYNC.to_vec());
        if no_tools {
            self.crew.close(Part::Ctx);
        }
        Ok(())
    }

    /// A stage that ended between two turns is started again.
    fn have(&mut self, part: Part) -> io::Result<()> {
        if self.crew.has(part) {
            return Ok(());
        }
        let command = self.job.command(part);
        let start = |command| self.crew.start(part, command, |output, tell| read_lines(output, tell));
        if let Err(fail) = command.and_then(start) {
            let class = if fail.exit() == Exit::Usage { ErrorClass::Protocol } else { ErrorClass::Internal };
            return self.fault(part, class, fail.message());
        }
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

    fn stored(&mut self, line: &Line) -> io::Result<()> {
        match line.kind() {
            "session" => {
                if self.now.session.is_empty() && !self.job.fresh {
                    self.now.talk.expect();
                    self.have(Part::Path)?;
                }
                self.now.session = line.read::<nub_proto::Session>()?.id;
                self.job.session = ["-s".into(), self.now.session.clone().into()].into();
            }
            "node" => self.now.unstored = self.now.unstored.saturating_sub(1),
            "warning" if line.read::<Warning>()?.code == "unknown_node" => self.now.branch = None,
            "sync" => match self.now.branch.take() {
                Some(head) => return self.out.write(&head).and_then(|()| self.have(Part::Path)),
                None => self.now.talk.stay(),
            },
            "error" => self.end(Fail::quiet(Exit::Failure))?,
            _ => {}
        }
        self.out.pass(line)
    }

    /// Goes on from another node: its path is read once the session knows it. To the root there is none.
    fn branch(&mut self, node: String) -> io::Result<()> {
        let head = Head { head: node };
        self.order(Part::Session, &head)?;
        if head.head.is_empty() {
            return self.now.talk.go_on().and_then(|()| self.out.write(&head));
        }
        self.crew.send(Part::Session, SYNC.to_vec());
        self.now.talk.expect();
        self.now.branch = Some(head);
        Ok(())
    }

    /// Whether a prompt can be asked, or dropped. Says so once, and listens from then on.
    fn get_ready(&mut self) -> io::Result<bool> {
        let now = &mut self.now;
        let can = !self.crew.has(Part::Ctx) && !now.talk.is_expecting() && !now.session.is_empty();
        if now.ready || !can && now.fatal.is_none() {
            return Ok(can || now.fatal.is_some());
        }
        now.ready = true;
        self.crew.hear(Part::Input, |tell| read_lines(io::stdin(), tell));
        if now.fatal.is_some() {
            // each prompt that is on its way has its result
            now.deadline = Some(Instant::now() + ON_ITS_WAY);
            return Ok(true);
        }
        let head = now.talk.head();
        let window = self.job.config.max_context(&head.endpoint, &head.model);
        self.out.write(&now.talk.ready(&now.session, nub_tokens::head(head), window)).map(|()| true)
    }
}
