//! What a server's error means: class, retry and advice.

use nub_proto::ErrorClass;
use serde_json::value::RawValue;

use crate::failure::Failure;

/// An error object (or string) inside an answer of status 200: classified as the same code would be as
/// HTTP status.
#[must_use]
pub fn in_stream(error: &RawValue) -> Failure {
    Failure::new(ErrorClass::Server, error.get()).retryable()
}
