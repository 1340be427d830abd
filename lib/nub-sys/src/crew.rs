//! A crew: stages that run side by side, and the one channel on which everything that happens arrives.
//! `P` names the parts they play, `T` is what their output is read as.

use std::collections::BTreeMap;
use std::io;
use std::process::{ChildStdout, Command, ExitStatus};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::stage::Stage;
use crate::{Fail, process, signal};

/// Events that wait at most; a stage that is further ahead is not read until they are gone.
const AHEAD: usize = 64;
/// How long the stages may take to end once their input has ended.
const LINGER: Duration = Duration::from_millis(1500);

/// How long after a signal a program may still be held up, by a full pipe that nobody reads.
const HELD_UP: Duration = Duration::from_secs(4);

/// What happens.
#[derive(Debug)]
pub enum Event<P, T> {
    /// A part said something.
    Said(P, T),
    /// A part will say nothing more.
    End(P),
    /// A signal came by which a user ends work.
    Signal,
}

/// The stages that run.
#[derive(Debug)]
pub struct Crew<P, T> {
    stages: BTreeMap<P, Stage>,
    sender: SyncSender<(u32, Event<P, T>)>,
    events: Receiver<(u32, Event<P, T>)>,
}

impl<P: Copy + Ord + Send + 'static, T: Send + 'static> Crew<P, T> {
    /// Nobody yet, but signals are events from now on, and what a dead stage leaves behind is ours.
    ///
    /// # Errors
    /// Signals cannot be watched, or orphans not be adopted.
    pub fn new() -> Result<Crew<P, T>, Fail> {
        let (sender, events) = sync_channel(AHEAD);
        let signals = sender.clone();
        let tell = move |number| {
            signal::give_up(number, HELD_UP);
            drop(signals.send((0, Event::Signal)));
        };
        signal::watch(tell).map_err(|e| Fail::failure(format!("cannot watch for signals: {e}")))?;
        process::adopt_orphans().map_err(|e| Fail::failure(format!("cannot adopt orphans: {e}")))?;
        Ok(Crew { stages: BTreeMap::new(), sender, events })
    }

    /// Starts a stage. `read` turns its output into events, on a thread of its own.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(
        &mut self,
        part: P,
        command: Command,
        read: impl FnOnce(ChildStdout, &dyn Fn(T)) + Send + 'static,
    ) -> Result<(), Fail> {
        let (stage, output) = Stage::start(command)?;
        self.listen(part, stage.pid(), move |tell| read(output, tell));
        self.stages.insert(part, stage);
        Ok(())
    }

    /// Hears what is no stage, such as our own input.
    pub fn hear(&self, part: P, read: impl FnOnce(&dyn Fn(T)) + Send + 'static) {
        self.listen(part, 0, read);
    }

    fn listen(&self, part: P, pid: u32, read: impl FnOnce(&dyn Fn(T)) + Send + 'static) {
        let sender = self.sender.clone();
        thread::spawn(move || {
            // nobody listens any more when the program ends
            read(&|what| drop(sender.send((pid, Event::Said(part, what)))));
            drop(sender.send((pid, Event::End(part))));
        });
    }

    /// Gives a stage whole lines.
    pub fn send(&self, part: P, lines: Vec<u8>) {
        if let Some(stage) = self.stages.get(&part) {
            stage.send(lines);
        }
    }

    /// Ends the input of a stage.
    pub fn close(&mut self, part: P) {
        if let Some(stage) = self.stages.get_mut(&part) {
            stage.close();
        }
    }

    /// Whether somebody plays a part.
    #[must_use]
    pub fn has(&self, part: P) -> bool {
        self.stages.contains_key(&part)
    }

    /// Takes a stage out of its part: it is no longer heard, and killed unless it ends within `grace`.
    /// Unless it ended well, so is what it leaves behind.
    pub fn dismiss(&mut self, part: P, grace: Duration) -> Option<ExitStatus> {
        let status = self.stages.remove(&part)?.end(Instant::now() + grace);
        if !status.is_some_and(|status| status.success()) {
            process::end_orphans(&self.stages.values().map(Stage::pid).collect::<Vec<_>>());
        }
        status
    }

    /// The next event, or `None` at the deadline. `idle` is called before it waits.
    ///
    /// # Errors
    /// As `idle`.
    pub fn next(
        &self,
        deadline: Option<Instant>,
        mut idle: impl FnMut() -> io::Result<()>,
    ) -> io::Result<Option<Event<P, T>>> {
        loop {
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Ok(None);
            }
            let mut event = self.events.try_recv().ok();
            if event.is_none() {
                idle()?;
                event = match left {
                    None => self.events.recv().ok(),
                    Some(left) => self.events.recv_timeout(left).ok(),
                };
            }
            match event {
                Some((pid, event)) if self.is_current(pid, &event) => return Ok(Some(event)),
                // from one who was dismissed
                Some(_) => {}
                None => return Ok(None),
            }
        }
    }

    fn is_current(&self, pid: u32, event: &Event<P, T>) -> bool {
        match event {
            Event::Said(part, _) | Event::End(part) => {
                pid == 0 || self.stages.get(part).is_some_and(|stage| stage.pid() == pid)
            }
            Event::Signal => true,
        }
    }
}

/// Every way out ends the stages: their inputs first, all at once, then those that linger.
impl<P, T> Drop for Crew<P, T> {
    fn drop(&mut self) {
        self.stages.values_mut().for_each(Stage::close);
        let deadline = Instant::now() + LINGER;
        for stage in self.stages.values_mut() {
            // what they still say must not hold them up
            while self.events.try_recv().is_ok() {}
            stage.end(deadline);
        }
        process::end_all(Duration::ZERO);
    }
}
