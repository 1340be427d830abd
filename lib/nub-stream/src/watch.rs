//! The moment before a socket would block: what is written goes out first, and the deadline of this wait
//! is set. ureq's own limits know one value for all reads; the first byte may take much longer than the
//! next ones, and may come long after the headers.
//!
//! This uses ureq's transport interface, which its version promise does not cover (`unversioned`).

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ureq::Timeout;
use ureq::unversioned::transport::{Buffers, ConnectionDetails, Connector, NextTimeout, Transport, time};

/// What the connection waits for.
#[derive(Debug, Clone, Copy)]
pub enum Wait {
    /// The first byte of an answer, until then.
    FirstByte(Instant),
    /// The next byte, at most so long.
    Next(Duration),
}

/// Watches the connections of one agent.
#[derive(Clone)]
pub struct Watch {
    wait: Arc<Mutex<Wait>>,
    before: Arc<dyn Fn() + Send + Sync>,
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("wait", &self.wait).finish_non_exhaustive()
    }
}

impl Watch {
    /// Calls `before` whenever a read would block.
    pub fn new(before: Arc<dyn Fn() + Send + Sync>) -> Watch {
        Watch { wait: Arc::new(Mutex::new(Wait::Next(Duration::from_secs(1)))), before }
    }

    /// From now on connections wait for this.
    pub fn set(&self, wait: Wait) {
        *self.wait.lock().unwrap_or_else(PoisonError::into_inner) = wait;
    }

    fn limit(&self, mut timeout: NextTimeout) -> NextTimeout {
        let (left, reason) = match *self.wait.lock().unwrap_or_else(PoisonError::into_inner) {
            Wait::FirstByte(until) => {
                (until.saturating_duration_since(Instant::now()), Timeout::RecvResponse)
            }
            Wait::Next(limit) => (limit, Timeout::RecvBody),
        };
        if left < *timeout.after {
            // a socket takes no timeout of zero
            timeout.after = time::Duration::Exact(left.max(Duration::from_millis(1)));
            timeout.reason = reason;
        }
        timeout
    }
}

impl<In: Transport> Connector<In> for Watch {
    type Out = Watched<In>;

    fn connect(
        &self,
        _: &ConnectionDetails<'_>,
        chained: Option<In>,
    ) -> Result<Option<Watched<In>>, ureq::Error> {
        Ok(chained.map(|inner| Watched { inner, watch: self.clone() }))
    }
}

/// A connection that is watched.
#[derive(Debug)]
pub struct Watched<T> {
    inner: T,
    watch: Watch,
}

impl<T: Transport> Transport for Watched<T> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.inner.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), ureq::Error> {
        self.inner.transmit_output(amount, self.watch.limit(timeout))
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, ureq::Error> {
        (self.watch.before)();
        self.inner.await_input(self.watch.limit(timeout))
    }

    fn is_open(&mut self) -> bool {
        self.inner.is_open()
    }

    fn is_tls(&self) -> bool {
        self.inner.is_tls()
    }
}
