//! Work and signals side by side. The work runs on a thread of its own, so that a signal ends it also
//! while it is stuck in a full pipe; the main thread holds the watch.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nub_sys::{Exit, Fail, signal};

use crate::engine::Engine;

/// How long nub-loop may take to end after the first signal: it stores what was said.
const PATIENCE: Duration = Duration::from_millis(2500);

/// How long it may take after the second signal, with its input closed.
const HASTE: Duration = Duration::from_millis(300);

/// SIGINT.
const INTERRUPT: i32 = 2;

/// What the first SIGINT means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// The end.
    Once,
    /// The end of the turn; the second one is the end, unless a line was typed in between.
    Patient,
}

enum Told {
    Signal(i32),
    Closing(Exit),
    Done(Result<Exit, Fail>),
}

/// What the work shares with the watch.
#[derive(Clone)]
pub(crate) struct Watch {
    current: Arc<Mutex<Option<Engine>>>,
    pressed: Arc<AtomicU32>,
    ending: Arc<AtomicBool>,
    tell: Sender<Told>,
    on_interrupt: Arc<dyn Fn() + Send + Sync>,
}

impl Watch {
    /// Names the nub-loop that signals are for.
    ///
    /// # Errors
    /// A signal came before.
    pub(crate) fn hold(&self, engine: &Engine) -> Result<(), Fail> {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(engine.clone());
        self.ended().map_or(Ok(()), Err)
    }

    /// The end that a signal asked for, if one did.
    pub(crate) fn ended(&self) -> Option<Fail> {
        self.ending.load(Ordering::Relaxed).then(|| Fail::quiet(Exit::Cancelled))
    }

    /// The work ends now, like this: what still runs gets a limited time.
    pub(crate) fn closing(&self, exit: Exit) {
        // the watch is gone only when the program ends
        drop(self.tell.send(Told::Closing(exit)));
    }

    /// The user went on: the next Ctrl+C is a first one again.
    pub(crate) fn went_on(&self) {
        self.pressed.store(0, Ordering::Relaxed);
    }

    fn engine(&self) -> Option<Engine> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Does the work under watch. `on_interrupt` is called when a SIGINT cancelled a turn and nothing else.
///
/// # Errors
/// As the work; cancelled when it had to be killed.
pub(crate) fn supervise(
    manner: Manner,
    on_interrupt: impl Fn() + Send + Sync + 'static,
    work: impl FnOnce(&Watch) -> Result<Exit, Fail> + Send + 'static,
) -> Result<Exit, Fail> {
    let (tell, told) = channel();
    let watch = Watch {
        current: Arc::default(),
        pressed: Arc::default(),
        ending: Arc::default(),
        tell: tell.clone(),
        on_interrupt: Arc::new(on_interrupt),
    };
    let signals = tell.clone();
    signal::watch(move |number| drop(signals.send(Told::Signal(number))))
        .map_err(|e| Fail::failure(format!("cannot watch for signals: {e}")))?;
    let own = watch.clone();
    thread::spawn(move || drop(tell.send(Told::Done(work(&own)))));
    let mut limit: Option<Instant> = None;
    let mut late = Exit::Cancelled;
    loop {
        let message = match limit {
            None => told.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(limit) => told.recv_timeout(limit.saturating_duration_since(Instant::now())),
        };
        match message {
            Ok(Told::Done(end)) => return end,
            Ok(Told::Closing(exit)) => {
                late = exit;
                limit = Some(sooner(limit, PATIENCE));
            }
            Ok(Told::Signal(number)) => {
                if let Some(time) = watch.react(manner, number) {
                    limit = Some(sooner(limit, time));
                }
            }
            Err(_) => {
                watch.engine().iter().for_each(Engine::kill);
                return Ok(late);
            }
        }
    }
}

fn sooner(limit: Option<Instant>, time: Duration) -> Instant {
    let new = Instant::now() + time;
    limit.map_or(new, |limit| limit.min(new))
}

impl Watch {
    /// Reacts to a signal; gives the time that is left for the end, if it is to end.
    fn react(&self, manner: Manner, number: i32) -> Option<Duration> {
        let count = self.pressed.fetch_add(1, Ordering::Relaxed) + 1;
        let engine = self.engine();
        if manner == Manner::Patient && number == INTERRUPT && count == 1 {
            // first, so that it is seen before what the cancel leads to
            (self.on_interrupt)();
            engine.iter().for_each(Engine::cancel);
            return None;
        }
        self.ending.store(true, Ordering::Relaxed);
        if manner == Manner::Once && count == 1 {
            engine.iter().for_each(Engine::cancel);
            return Some(PATIENCE);
        }
        engine.iter().for_each(Engine::close);
        Some(if count == 1 { PATIENCE } else { HASTE })
    }
}
