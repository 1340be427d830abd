//! The line session: prompts from a terminal or a pipe, answers as they stream. On a terminal a line
//! typed while the agent works steers it; on a pipe each line waits for the answer to the one before.

use std::collections::VecDeque;
use std::io;
use std::process::ChildStdout;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use nub_proto::{Allow, Control, FrameError, InputOp, Line as Raw, PermissionRequest, Reader, Ready};
use nub_render::{Line, Style};
use nub_sys::{Exit, Fail, tty};

use crate::args::Command;
use crate::engine::Engine;
use crate::print::{refusal, unfinished};
use crate::prompt::prompt;
use crate::show::{self, Seen, Show};
use crate::supervise::{Manner, Watch, supervise};
use crate::typist::{LONGEST, Typed, Typist};
use crate::view::{Cursor, Noise, Real};

/// Events that may wait. A reader that is ahead waits too.
const AHEAD: usize = 256;

const HELP: &[&str] = &[
    "/help    this list",
    "/reset   begin a new session",
    "/exit    end (so does the end of input)",
    "A line that ends with \\ goes on in the next one. Anything else is for the agent;",
    "while it works, what you type reaches it before its next step. Ctrl+C stops it, twice ends nub.",
];

enum Event {
    Record(Raw),
    Over(Option<FrameError>),
    Typed(Typed),
    Interrupted,
}

/// How a session ends.
enum Next {
    End,
    Again,
    Died,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Starting,
    Idle,
    Working,
}

/// Where lines come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Terminal,
    Pipe,
}

/// Runs sessions until the input ends.
///
/// # Errors
/// nub-loop cannot be started or dies, or stdout is gone.
pub(crate) fn run(mut command: Command, screen: crate::view::Screen) -> Result<Exit, Fail> {
    let (source, manner) = match tty::stdin() {
        true => (Source::Terminal, Manner::Patient),
        false => (Source::Pipe, Manner::Once),
    };
    let (tell, events) = sync_channel(AHEAD);
    let (interrupts, lines) = (tell.clone(), tell.clone());
    let interrupted = move || drop(interrupts.try_send(Event::Interrupted));
    supervise(manner, interrupted, move |watch| {
        let each = move |typed: Typed| drop(lines.send(Event::Typed(typed)));
        let typist = Typist::start(|| io::stdin().lock(), each)
            .map_err(|e| Fail::failure(format!("cannot read stdin: {e}")))?;
        let view = Real::real(screen);
        let mut talk = Talk {
            source,
            watch,
            view,
            typist,
            events,
            show: Show::default(),
            state: State::Starting,
            permitted: false,
            ended: false,
            last: Exit::Success,
            asking: VecDeque::new(),
            refused: None,
        };
        loop {
            match talk.session(&command, &tell)? {
                Next::Again => command.session = Some("new".into()),
                Next::End | Next::Died => {
                    let exit = if source == Source::Terminal { Exit::Success } else { talk.last };
                    return watch.ended().map_or(Ok(exit), Err);
                }
            }
        }
    })
}

struct Talk<'a> {
    source: Source,
    watch: &'a Watch,
    view: Real,
    typist: Typist,
    events: Receiver<Event>,
    show: Show,
    state: State,
    /// A line was asked for and has not come.
    permitted: bool,
    /// No more lines come, or none are wanted.
    ended: bool,
    last: Exit,
    asking: VecDeque<PermissionRequest>,
    refused: Option<Fail>,
}

impl Talk<'_> {
    fn session(&mut self, command: &Command, tell: &SyncSender<Event>) -> Result<Next, Fail> {
        let (running, output) = Engine::start(command, &[])?;
        self.state = State::Starting;
        let held = self.watch.hold(&running.engine);
        let tell = tell.clone();
        thread::spawn(move || forward(output, &tell));
        let next = held.and_then(|()| self.converse(&running.engine));
        match &next {
            Ok(Next::Again) => {}
            Ok(Next::End | Next::Died) => self.watch.closing(self.last),
            Err(fail) => self.watch.closing(fail.exit()),
        }
        running.engine.close();
        if !matches!(next, Ok(Next::Died)) {
            while !matches!(self.events.recv(), Ok(Event::Over(_)) | Err(_)) {}
        }
        let status = running.finish()?;
        match (next?, self.refused.take()) {
            (_, Some(fail)) => Err(fail),
            (Next::Died, None) => Err(self.watch.ended().unwrap_or_else(|| unfinished(status))),
            (next @ (Next::End | Next::Again), None) => Ok(next),
        }
    }

    fn converse(&mut self, engine: &Engine) -> Result<Next, Fail> {
        loop {
            let event = match self.events.try_recv() {
                Ok(event) => event,
                Err(_) => {
                    self.view.flush()?;
                    self.events.recv().map_err(|_| Fail::failure("nobody speaks any more"))?
                }
            };
            let next = match event {
                Event::Record(raw) => self.record(&raw, engine)?,
                Event::Over(None) => Some(Next::Died),
                Event::Over(Some(e)) => return Err(Fail::usage(format!("nub-loop: {e}"))),
                Event::Typed(typed) => self.heard(typed, engine)?,
                Event::Interrupted => self.interrupted()?,
            };
            if let Some(next) = next {
                return Ok(next);
            }
        }
    }

    fn record(&mut self, raw: &Raw, engine: &Engine) -> Result<Option<Next>, Fail> {
        match self.show.record(raw, &mut self.view)? {
            Seen::Nothing => Ok(None),
            Seen::Ready(ready) if self.state == State::Starting => {
                self.welcome(&ready)?;
                self.idle()
            }
            Seen::Ready(_) => Ok(None),
            Seen::Ask(request) => {
                self.asked(request, engine)?;
                Ok(None)
            }
            Seen::Result(result) => {
                self.last = show::exit(result.exit);
                self.asking.clear();
                if self.refused.is_some() { Ok(Some(Next::End)) } else { self.idle() }
            }
        }
    }

    /// Asks for the next line, if there is one to come.
    fn idle(&mut self) -> Result<Option<Next>, Fail> {
        self.state = State::Idle;
        if self.ended {
            return Ok(Some(Next::End));
        }
        self.invite("› ")?;
        Ok(None)
    }

    fn invite(&mut self, mark: &str) -> Result<(), Fail> {
        if self.source == Source::Terminal {
            self.view.hint(&Line::of(Style::Mark, mark))?;
        }
        if !self.permitted {
            self.permitted = true;
            self.typist.permit();
        }
        Ok(())
    }

    fn heard(&mut self, typed: Typed, engine: &Engine) -> Result<Option<Next>, Fail> {
        if typed != Typed::End {
            self.permitted = false;
        }
        match typed {
            Typed::Line(line) => self.typed(line.trim(), engine),
            Typed::TooLong => {
                self.last = Exit::Usage;
                self.note(&format!("a line of more than {} MiB is no prompt", LONGEST >> 20))?;
                self.after_note()
            }
            Typed::End => Ok(self.typed_end(engine)),
        }
    }

    fn typed(&mut self, line: &str, engine: &Engine) -> Result<Option<Next>, Fail> {
        self.watch.went_on();
        self.view.typed(Cursor::NewLine);
        if !self.asking.is_empty() {
            return self.answered(line, engine).map(|()| None);
        }
        match (line, self.state) {
            ("", State::Working) => {}
            ("", State::Starting | State::Idle) => return self.idle(),
            ("/exit" | "/quit", State::Working) => {
                self.ended = true;
                engine.cancel();
            }
            ("/exit" | "/quit", State::Starting | State::Idle) => return Ok(Some(Next::End)),
            ("/reset", State::Working) => self.note("the agent works; Ctrl+C stops it")?,
            ("/reset", State::Starting | State::Idle) => {
                self.note("a new session begins")?;
                return Ok(Some(Next::Again));
            }
            ("/help", _) => {
                let lines = HELP.iter().map(|line| Line::of(Style::Plain, *line)).collect();
                show::all(lines, &mut self.view)?;
                return self.after_note();
            }
            (line, _) if is_command(line) => {
                self.note(&format!("there is no command '{line}'; /help lists them"))?;
                return self.after_note();
            }
            (text, State::Working) => engine.say(&prompt(InputOp::Steer, text)),
            (text, State::Starting | State::Idle) => {
                self.state = State::Working;
                engine.say(&prompt(InputOp::Prompt, text));
            }
        }
        self.listen();
        Ok(None)
    }

    fn after_note(&mut self) -> Result<Option<Next>, Fail> {
        match self.state {
            State::Starting | State::Idle => self.idle(),
            State::Working => {
                self.listen();
                Ok(None)
            }
        }
    }

    /// On a terminal lines are read also while the agent works.
    fn listen(&mut self) {
        if self.source == Source::Terminal && !self.permitted {
            self.permitted = true;
            self.typist.permit();
        }
    }

    fn typed_end(&mut self, engine: &Engine) -> Option<Next> {
        self.ended = true;
        for request in self.asking.drain(..) {
            engine.say(&Control::Permission { id: request.id, allow: Allow::No, reason: None });
        }
        match self.state {
            State::Starting | State::Working => None,
            State::Idle => {
                if self.source == Source::Terminal {
                    drop(self.view.line(&Line::default()));
                }
                Some(Next::End)
            }
        }
    }

    fn interrupted(&mut self) -> Result<Option<Next>, Fail> {
        self.view.typed(Cursor::MidLine);
        match self.state {
            State::Starting | State::Working => Ok(None),
            State::Idle => {
                self.note("Ctrl+C again ends, and so does /exit")?;
                self.idle()
            }
        }
    }

    fn asked(&mut self, request: PermissionRequest, engine: &Engine) -> Result<(), Fail> {
        if self.source == Source::Pipe {
            self.refused = Some(refusal(&request));
            engine.cancel();
            return Ok(());
        }
        self.asking.push_back(request);
        if self.asking.len() == 1 { self.question() } else { Ok(()) }
    }

    fn question(&mut self) -> Result<(), Fail> {
        let Some(request) = self.asking.front() else { return Ok(()) };
        show::all(nub_render::ask(request), &mut self.view)?;
        self.invite("[y]es, [a]lways, [n]o (and why) › ")
    }

    fn answered(&mut self, line: &str, engine: &Engine) -> Result<(), Fail> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let allow = match word {
            "y" | "yes" => Allow::Once,
            "a" | "always" => Allow::Always,
            "n" | "no" => Allow::No,
            _ => return self.question(),
        };
        if let Some(request) = self.asking.pop_front() {
            let reason = (allow == Allow::No && !rest.is_empty()).then(|| rest.to_owned());
            engine.say(&Control::Permission { id: request.id, allow, reason });
        }
        self.listen();
        self.question()
    }

    fn welcome(&mut self, ready: &Ready) -> Result<(), Fail> {
        if self.source == Source::Pipe || self.view.screen.noise == Noise::Quiet {
            return Ok(());
        }
        let model = if ready.model.is_empty() { String::new() } else { format!(" · {}", ready.model) };
        let line = Line::of(Style::Bold, "nub")
            .with(Style::Plain, model)
            .with(Style::Dim, format!(" · session {} · /help", ready.session));
        self.view.line(&line)
    }

    fn note(&mut self, text: &str) -> Result<(), Fail> {
        self.view.line(&Line::of(Style::Dim, text))
    }
}

/// A slash and a word: not a path, not a sentence.
fn is_command(line: &str) -> bool {
    line.strip_prefix('/').is_some_and(|word| {
        let word = word.split(' ').next().unwrap_or_default();
        !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase())
    })
}

fn forward(output: ChildStdout, tell: &SyncSender<Event>) {
    let mut reader = Reader::new(output);
    loop {
        let (event, more) = match reader.next_line() {
            Ok(Some(raw)) => (Event::Record(raw), true),
            Ok(None) => (Event::Over(None), false),
            Err(e) => (Event::Over(Some(e)), false),
        };
        if tell.send(event).is_err() || !more {
            return;
        }
    }
}
