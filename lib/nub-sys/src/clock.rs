//! The time, as records carry it.

use std::time::SystemTime;

/// Now, RFC 3339 in UTC with milliseconds.
#[must_use]
pub fn now() -> String {
    rfc3339(SystemTime::now())
}

/// A time, RFC 3339 in UTC with milliseconds.
#[must_use]
pub fn rfc3339(time: SystemTime) -> String {
    humantime::format_rfc3339_millis(time).to_string()
}

/// Reads an RFC 3339 time.
#[must_use]
pub fn parse(text: &str) -> Option<SystemTime> {
    humantime::parse_rfc3339_weak(text).ok()
}
