//! Tests of diagnostics and the clock.

use std::io;

use crate::{Exit, Fail, clock, log::Level};

#[test]
fn a_reader_that_went_away_is_success() {
    let gone = Fail::output(&io::Error::from(io::ErrorKind::BrokenPipe));
    assert_eq!((gone.exit(), gone.message()), (Exit::Success, ""));
    let full = Fail::output(&io::Error::from(io::ErrorKind::StorageFull));
    assert_eq!(full.exit(), Exit::Failure);
    assert!(full.message().starts_with("cannot write to stdout"));
}

#[test]
fn times_are_utc_with_milliseconds() {
    let text = clock::now();
    assert_eq!((text.len(), text.ends_with('Z')), (24, true));
    assert_eq!(clock::rfc3339(clock::parse(&text).unwrap()), text);
}

#[test]
fn levels_are_words() {
    assert_eq!(Level::parse("debug"), Some(Level::Debug));
    assert_eq!(Level::parse("loud"), None);
}
