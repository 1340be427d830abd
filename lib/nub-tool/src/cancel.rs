//! The end of a call before its time: a flag that tools look at between steps.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Shared between the one who cancels and the call that must end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Whether the call must end now. Cheap: look often.
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Ends the call.
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
