//! What can go wrong with one request, in the words of the protocol's `error` record.

use nub_proto::ErrorClass;

/// A request that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The kind of failure.
    pub class: ErrorClass,
    /// One line for people.
    pub message: String,
    /// HTTP status.
    pub status: Option<u16>,
    /// Whether asking again may help.
    pub retryable: bool,
    /// What the user can do.
    pub hint: Option<String>,
    /// How long the server asked to wait, in milliseconds.
    pub retry_after_ms: Option<u64>,
    /// The text that had arrived.
    pub partial: String,
}

impl Failure {
    /// A failure that asking again does not mend.
    #[must_use]
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Failure {
        Failure {
            class,
            message: message.into(),
            status: None,
            retryable: false,
            hint: None,
            retry_after_ms: None,
            partial: String::new(),
        }
    }

    /// The same, but asking again may help.
    #[must_use]
    pub fn retryable(mut self) -> Failure {
        self.retryable = true;
        self
    }

    /// With the text that had arrived.
    #[must_use]
    pub fn partial(mut self, text: String) -> Failure {
        self.partial = text;
        self
    }

    /// With what the user can do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hint = Some(hint.into());
        self
    }
}
