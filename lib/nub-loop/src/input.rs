//! Our own input: what the user says and orders, and what a cancel does.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use nub_conf::Steer;
use nub_proto::{Block, Control, InputOp, InputRecord, Line, Message, Queue, Record, Role, Warning, line_of};
use nub_sys::{Exit, Fail};

use crate::{Loop, NAME, Part};

/// How long the stream stage may take to end an answer; killing it costs a connection.
const HASTE: Duration = Duration::from_millis(100);
/// How long the tool stage may take to end its calls; killing it may leave children behind.
const PATIENCE: Duration = Duration::from_secs(2);

/// What waits for the end of a run.
pub(crate) enum Next {
    Prompt(Message),
    Branch(String),
}

/// When the program ends.
#[derive(Default, PartialEq, Eq)]
pub(crate) enum Ending {
    #[default]
    Open,
    /// When nothing waits any more.
    Idle,
    /// After the work in hand.
    Now(Fail),
}

impl<W: Write> Loop<W> {
    /// A line of our input.
    pub(crate) fn input(&mut self, line: &Line) -> io::Result<()> {
        match line.kind() {
            "input" => self.said(line.read()?),
            "control" => self.ordered(line.read()?),
            _ => self.out.pass(line),
        }
    }

    fn said(&mut self, input: InputRecord) -> io::Result<()> {
        let text = input.text.unwrap_or_default();
        let content = input.content.unwrap_or_else(|| vec![Block::text(text)]);
        let message = Message { role: Role::User, content };
        if !self.in_hand() || input.op != InputOp::Steer {
            self.now.waiting.push_back(Next::Prompt(message));
            return if self.in_hand() { self.tell_queue() } else { Ok(()) };
        }
        self.now.steer.push(message);
        self.tell_queue()?;
        self.steer_tools()
    }

    fn ordered(&mut self, control: Control) -> io::Result<()> {
        match control {
            Control::Cancel => return self.cancel(),
            Control::Permission { .. } | Control::Steer => return self.order(Part::Tool, &control),
            Control::Compact { .. } => return self.warn("compact", "this version does not summarise"),
            Control::Model { model, endpoint } => return self.now.talk.set_model(model, endpoint),
            Control::Branch { node } => self.now.waiting.push_back(Next::Branch(node)),
            Control::End => self.now.ending = Ending::Idle,
        }
        Ok(())
    }

    /// What was said is done; as a coprocess only when the end was ordered. The tools learn that nobody can
    /// be asked any more.
    pub(crate) fn input_ended(&mut self) -> io::Result<()> {
        if self.now.ending == Ending::Open && self.job.coprocess && self.in_hand() {
            return self.end(Fail::quiet(Exit::Cancelled));
        }
        if self.now.ending == Ending::Open {
            self.now.ending = Ending::Idle;
        }
        self.order(Part::Tool, &Control::End)
    }

    /// Ends the work in hand, then the program.
    pub(crate) fn end(&mut self, fail: Fail) -> io::Result<()> {
        self.now.ending = Ending::Now(fail);
        self.cancel()
    }

    /// Tells the stages to stop. They have a limited time for it.
    pub(crate) fn cancel(&mut self) -> io::Result<()> {
        if !self.in_hand() {
            return Ok(());
        }
        self.now.turn.cancel();
        let time = if self.now.turn.is_asking() { HASTE } else { PATIENCE };
        self.now.deadline.get_or_insert_with(|| Instant::now() + time);
        self.order(Part::Stream, &Control::Cancel)?;
        self.order(Part::Tool, &Control::Cancel)
    }

    /// A stage did not stop in time.
    pub(crate) fn overdue(&mut self) -> io::Result<()> {
        self.now.deadline = None;
        let part = if self.now.turn.is_asking() { Part::Stream } else { Part::Tool };
        self.fault(part, "did not stop when it was told to")
    }

    /// Calls that have not started are answered when a message waits for the model.
    pub(crate) fn steer_tools(&mut self) -> io::Result<()> {
        let due = !self.now.steer.is_empty() && self.job.config.run.steer == Steer::Now;
        if due { self.order(Part::Tool, &Control::Steer) } else { Ok(()) }
    }

    pub(crate) fn order<T: Record>(&self, part: Part, record: &T) -> io::Result<()> {
        self.crew.send(part, line_of(record)?);
        Ok(())
    }

    pub(crate) fn tell_queue(&mut self) -> io::Result<()> {
        let prompts = self.now.waiting.iter().filter_map(|next| match next {
            Next::Prompt(message) => Some(message.text()),
            Next::Branch(_) => None,
        });
        let steer = self.now.steer.iter().map(Message::text).collect();
        self.out.write(&Queue { steer, follow_up: prompts.collect() })
    }

    pub(crate) fn warn(&mut self, code: &str, message: &str) -> io::Result<()> {
        self.out.write(&Warning { source: NAME.into(), code: code.into(), message: message.into() })
    }
}
