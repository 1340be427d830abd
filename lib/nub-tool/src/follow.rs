//! Commands at work: the desk takes what they print while it waits for everything else. Ending a tree, and
//! emptying pipes that somebody holds, takes a while: one thread does that.

use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Instant;

use nub_sys::Fail;

use crate::bash;
use crate::command::{Running, Stop};
use crate::desk::{Desk, guarded};
use crate::hand::{self, Call, Ending};
use crate::inbox::Event;

type Job = Box<dyn FnOnce() + Send>;

/// The thread that ends commands. It is there before the first of them starts, since afterwards there may
/// be no room for another thread.
#[derive(Default)]
pub(crate) struct Ender {
    jobs: Option<Sender<Job>>,
    busy: usize,
}

impl Ender {
    /// Sees to it that the thread is there.
    ///
    /// # Errors
    /// It cannot be made: no command should start.
    pub(crate) fn ready(&mut self) -> Result<(), String> {
        if self.jobs.is_none() {
            let (jobs, queue) = channel::<Job>();
            let work = move || queue.into_iter().for_each(|job| job());
            let thread = thread::Builder::new().name("ender".into()).spawn(work);
            thread.map_err(|e| format!("bash: no thread for it: {e}"))?;
            self.jobs = Some(jobs);
        }
        Ok(())
    }

    /// Whether a tree is being ended. No command starts meanwhile: it would be ended with it.
    pub(crate) fn is_busy(&self) -> bool {
        self.busy > 0
    }

    /// One job is done.
    pub(crate) fn settled(&mut self) {
        self.busy = self.busy.saturating_sub(1);
    }

    fn give(&mut self, job: Job) {
        if let Some(jobs) = &self.jobs {
            // the thread lives as long as this does
            self.busy += usize::from(jobs.send(job).is_ok());
        }
    }
}

impl<W: Write> Desk<W> {
    /// Waits for whatever happens next, and takes what commands print.
    pub(crate) fn follow(&mut self, calls: &mut [Call]) -> Result<(), Fail> {
        let until = hand::earliest(calls);
        let commands: Vec<&Running> =
            calls.iter_mut().filter_map(Call::command).map(|command| &command.running).collect();
        let counts: Vec<usize> = commands.iter().map(|command| command.pipes().count()).collect();
        let ready = self.inbox.wait(&commands, until);
        let mut ready = ready.as_slice();
        let mut counts = counts.into_iter();
        for at in 0..calls.len() {
            let Some(command) = calls[at].command() else { continue };
            let (own, others) = ready.split_at(counts.next().unwrap_or_default());
            ready = others;
            let mut printed = Vec::new();
            let mut print = |from, text: &str| printed.push((from, text.to_owned()));
            command.running.read(own, &mut print);
            let stop = command.running.stop(Instant::now());
            let is_over = stop == Some(Stop::Ended) && command.running.is_over(&mut print);
            printed.into_iter().try_for_each(|(from, text)| self.say_printed(&calls[at], from, text))?;
            match stop {
                Some(Stop::Ended) if is_over => self.conclude(calls, at)?,
                Some(stop) => self.see_off(calls, at, stop),
                None => {}
            }
        }
        Ok(())
    }

    /// A command that is over needs no thread.
    fn conclude(&mut self, calls: &mut [Call], at: usize) -> Result<(), Fail> {
        let Some(command) = calls[at].release() else { return Ok(()) };
        let mut printed = Vec::new();
        let mut print = |from, text: &str| printed.push((from, text.to_owned()));
        let shell = &self.bench.shell;
        let outcome = guarded("bash", || bash::conclude(shell, *command, Stop::Ended, &mut print));
        printed.into_iter().try_for_each(|(from, text)| self.say_printed(&calls[at], from, text))?;
        self.finish(&mut calls[at], outcome)
    }

    /// Gives a command, if the call is one, to the thread that ends it.
    pub(crate) fn see_off(&mut self, calls: &mut [Call], at: usize, stop: Stop) {
        let now = Instant::now();
        let command = match stop {
            // what the thread still does is sure to end, and says what was printed until then
            Stop::Ended | Stop::TimedOut => calls[at].release(),
            Stop::Cancelled => calls[at].end(Ending::Cancelled, now),
        };
        let Some(command) = command else { return };
        let (batch, bench, outbox) = (self.batch, Arc::clone(&self.bench), self.outbox.clone());
        self.ender.give(Box::new(move || {
            let mut print = |from, text: &str| {
                outbox.send(Event::Printed { batch, call: at, from, text: text.to_owned() });
            };
            let outcome = guarded("bash", || bash::conclude(&bench.shell, *command, stop, &mut print));
            outbox.send(Event::Settled);
            // nobody listens when the call was given up
            outbox.send(Event::Finished { batch, call: at, outcome });
        }));
    }
}
