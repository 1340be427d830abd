//! Our own input: what the user says and orders, and what a cancel does.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use nub_conf::Steer;
use nub_proto::{Control, ErrorClass, InputOp, InputRecord, Line, Record, Warning, line_of};
use nub_sys::{Exit, Fail};

use crate::{Loop, NAME, Part};

/// How long a stream stage may take to end an answer.
const HASTE: Duration = Duration::from_millis(100);
/// How long a tool stage may take to end its calls, and any stage to end after its output.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

impl<W: Write> Loop<W> {
    /// A line of our input, or one that waited.
    pub(crate) fn input(&mut self, line: &Line) -> io::Result<()> {
        let is_busy = self.now.run.is_some() || self.now.talk.is_expecting();
        match line.kind() {
            "input" => {
                let input: InputRecord = line.read()?;
                if input.op == InputOp::Steer && self.in_hand() {
                    self.now.inbox.steer(line);
                    self.steer_tools()?;
                } else if is_busy {
                    self.now.inbox.waiting.push_back(line.clone());
                } else {
                    return self.begin(input.message());
                }
                return self.out.write(&self.now.inbox.queue());
            }
            "control" => match line.read::<Control>()? {
                Control::Cancel => return self.cancel(),
                Control::Compact { .. } => return self.warn("compact", "this version does not summarise"),
                Control::Model { model, endpoint } => return self.now.talk.set_model(model, endpoint),
                Control::Branch { node } if !is_busy => return self.branch(node),
                Control::Branch { .. } => self.now.inbox.waiting.push_back(line.clone()),
                Control::Permission { .. } | Control::Steer => self.crew.send(Part::Tool, line.whole()),
                Control::End => self.now.closing = true,
            },
            _ => self.out.pass(line)?,
        }
        Ok(())
    }

    /// What was said is done; as a coprocess only when the end was ordered. The tools learn that nobody can
    /// be asked any more.
    pub(crate) fn input_ended(&mut self) -> io::Result<()> {
        if self.job.coprocess && !self.now.closing && self.in_hand() {
            return self.end(Fail::quiet(Exit::Cancelled));
        }
        (self.now.closing, self.now.deaf) = (true, true);
        self.order(Part::Tool, &Control::End)
    }

    /// Ends the work in hand, then the program.
    pub(crate) fn end(&mut self, fail: Fail) -> io::Result<()> {
        self.now.fatal = Some(fail);
        self.cancel()
    }

    /// Tells the stages to stop. They have a limited time for it.
    pub(crate) fn cancel(&mut self) -> io::Result<()> {
        if !self.in_hand() {
            return Ok(());
        }
        self.now.turn.cancel();
        let time = if self.now.turn.is_calling() { PATIENCE } else { HASTE };
        self.now.deadline.get_or_insert_with(|| Instant::now() + time);
        self.order(Part::Stream, &Control::Cancel)?;
        self.order(Part::Tool, &Control::Cancel)
    }

    pub(crate) fn overdue(&mut self) -> io::Result<()> {
        self.now.deadline = None;
        let part = if self.now.turn.is_asking() { Part::Stream } else { Part::Tool };
        let why = "did not stop when it was told to";
        if self.in_hand() { self.fault(part, ErrorClass::Internal, why) } else { Ok(()) }
    }

    /// Calls that have not started are answered when a message waits for the model.
    pub(crate) fn steer_tools(&mut self) -> io::Result<()> {
        let due = self.now.inbox.is_steering() && self.job.config.run.steer == Steer::Now;
        if due { self.order(Part::Tool, &Control::Steer) } else { Ok(()) }
    }

    pub(crate) fn order<T: Record>(&self, part: Part, record: &T) -> io::Result<()> {
        self.crew.send(part, line_of(record)?);
        Ok(())
    }

    pub(crate) fn warn(&mut self, code: &str, message: &str) -> io::Result<()> {
        self.out.write(&Warning { source: NAME.into(), code: code.into(), message: message.into() })
    }
}
