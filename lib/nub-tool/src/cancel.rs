//! The end of a call before its time: a flag that tools look at between steps, and a pipe that wakes
//! the one that waits.

use std::io::{PipeWriter, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Shared between the one who cancels and the call that must end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cancel(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    cancelled: AtomicBool,
    wake: Mutex<Option<Arc<PipeWriter>>>,
}

impl Cancel {
    /// Whether the call must end now. Cheap: look often.
    pub(crate) fn is_set(&self) -> bool {
        self.0.cancelled.load(Ordering::Acquire)
    }

    /// Ends the call.
    pub(crate) fn set(&self) {
        let wake = self.0.wake.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.cancelled.store(true, Ordering::Release);
        ring(wake.as_deref());
    }

    /// From now on a cancel writes one byte into this pipe, at once when it came already.
    pub(crate) fn wake_through(&self, pipe: Arc<PipeWriter>) {
        let mut wake = self.0.wake.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_set() {
            ring(Some(&pipe));
        }
        *wake = Some(pipe);
    }
}

/// A pipe whose reader is gone has nobody to wake.
fn ring(pipe: Option<&PipeWriter>) {
    if let Some(mut pipe) = pipe {
        drop(pipe.write_all(b"!"));
    }
}
