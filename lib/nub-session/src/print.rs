//! Lines of a session file on their way out, byte for byte.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;

use nub_sys::Fail;

use crate::index::Span;
use crate::open::Open;

/// A stretch of lines at least this long, in bytes, is left to the kernel to copy.
const LONG: u64 = 128 << 10;
/// Shorter ones are gathered to this many bytes before they are written.
const FULL: usize = 64 << 10;

/// Prints lines.
///
/// # Errors
/// The file cannot be read or the output not be written.
pub fn print(open: &Open, spans: &[Span], output: &mut impl Write) -> Result<(), Fail> {
    let mut waiting = Vec::with_capacity(FULL);
    let mut rest = spans;
    while let Some(first) = rest.first() {
        let lines = rest.windows(2).take_while(|pair| pair[0].offset + pair[0].len + 1 == pair[1].offset);
        let count = lines.count() + 1;
        let last = rest[count - 1];
        rest = &rest[count..];
        let len = last.offset + last.len - first.offset;
        if len < LONG {
            let start = waiting.len();
            waiting.resize(start + len as usize, 0);
            open.file.read_exact_at(&mut waiting[start..], first.offset).map_err(|e| open.failed(&e))?;
            waiting.push(b'\n');
        }
        if len >= LONG || waiting.len() >= FULL {
            output.write_all(&waiting).map_err(|e| Fail::output(&e))?;
            waiting.clear();
        }
        if len >= LONG {
            copy(open, first.offset, len, output).map_err(|e| Fail::output(&e))?;
            waiting.push(b'\n');
        }
    }
    output.write_all(&waiting).and_then(|()| output.flush()).map_err(|e| Fail::output(&e))
}

fn copy(open: &Open, offset: u64, len: u64, output: &mut impl Write) -> io::Result<()> {
    let mut file = &open.file;
    file.seek(SeekFrom::Start(offset))?;
    let copied = io::copy(&mut file.take(len), output)?;
    if copied == len { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}
