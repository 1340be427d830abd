//! Pure functions from records to text for people: a record goes in, styled lines come out, and only
//! [`Line::paint`] turns them into bytes. Nothing here knows a terminal.

mod diff;
mod harmless;
mod line;
mod note;
#[cfg(test)]
mod tests;
mod tool;

pub use diff::diff;
pub use harmless::harmless;
pub use line::{Line, Paint, Span, Style};
pub use note::{compaction, error, queue, result, retry, warning};
pub use tool::{ask, body, call, end};
