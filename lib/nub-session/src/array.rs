//! `--format json`: the records as one JSON array, made while they pass.

use std::io::{self, Write};

use nub_sys::Fail;

/// Turns the lines that `work` writes into an array.
///
/// # Errors
/// As `work`, and when the output cannot be written.
pub fn wrap<W: Write, T>(
    output: &mut W,
    work: impl FnOnce(&mut Array<&mut W>) -> Result<T, Fail>,
) -> Result<T, Fail> {
    let mut array = Array { output, begun: false, ended: false };
    let done = work(&mut array)?;
    array.close().map_err(|e| Fail::output(&e))?;
    Ok(done)
}

/// Puts commas between lines and brackets around them.
#[derive(Debug)]
pub struct Array<W> {
    output: W,
    /// A line has begun.
    begun: bool,
    /// A line has ended, and perhaps none follows.
    ended: bool,
}

impl<W: Write> Array<W> {
    fn close(mut self) -> io::Result<()> {
        self.output.write_all(if self.begun { b"\n]\n" } else { b"[]\n" })?;
        self.output.flush()
    }
}

impl<W: Write> Write for Array<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let text = part.strip_suffix(b"\n").unwrap_or(part);
            if !self.begun {
                self.output.write_all(b"[\n")?;
            } else if self.ended {
                self.output.write_all(b",\n")?;
            }
            self.output.write_all(text)?;
            self.begun = true;
            self.ended = text.len() < part.len();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}
