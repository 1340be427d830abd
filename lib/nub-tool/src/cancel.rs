//! The wish that a call ends now. Everything that loops over foreign data looks at it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Shared between a call and whoever may end it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Asks the call to end.
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the call should end.
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
