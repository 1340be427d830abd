//! Ending a request from another thread, whatever it waits for: a socket, a name server, a retry.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ureq::Agent;

/// Ends one request.
#[derive(Debug, Default)]
pub struct Cancel {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    fired: bool,
    finished: bool,
    agent: Option<Agent>,
}

/// The request was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cancelled;

impl Cancel {
    /// Cancels.
    pub fn fire(&self) {
        let mut state = self.lock();
        // before the shutdown, so that who reads the broken socket knows why
        state.fired = true;
        if let Some(agent) = state.agent.take() {
            agent.shutdown();
        }
        self.changed.notify_all();
    }

    /// Whether it was cancelled.
    #[must_use]
    pub fn fired(&self) -> bool {
        self.lock().fired
    }

    /// From now on a cancel closes the connections of this agent.
    pub fn holds(&self, agent: &Agent) {
        let mut state = self.lock();
        if state.fired {
            agent.clone().shutdown();
        } else {
            state.agent = Some(agent.clone());
        }
    }

    /// Waits, unless it is cancelled before.
    ///
    /// # Errors
    /// It was cancelled.
    pub fn wait(&self, time: Duration) -> Result<(), Cancelled> {
        let until = Instant::now() + time;
        let mut state = self.lock();
        while !state.fired {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        Err(Cancelled)
    }

    /// Does work that nothing can interrupt (looking up a name, connecting) on a thread of its own, which
    /// is left behind when a cancel comes first. The work must be bounded by timeouts.
    ///
    /// # Errors
    /// It was cancelled.
    pub fn abandonable<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Cancelled> {
        let result: Arc<Mutex<Option<T>>> = Arc::default();
        self.lock().finished = false;
        let (own, slot) = (self.clone(), result.clone());
        let spawned = thread::Builder::new().name("connect".into()).spawn(move || {
            let done = work();
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
            own.lock().finished = true;
            own.changed.notify_all();
        });
        if spawned.is_err() {
            return Err(Cancelled);
        }
        let mut state = self.lock();
        while !state.finished && !state.fired {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.fired {
            return Err(Cancelled);
        }
        drop(state);
        result.lock().unwrap_or_else(PoisonError::into_inner).take().ok_or(Cancelled)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
