//! Framing: one record, one line, split on LF only. The reader checks the envelope and keeps the raw
//! line beside its type, so that a filter forwards what it does not own byte for byte.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{VERSION, json};

/// The longest line that is read, in bytes. Longer ones are refused, not buffered.
pub const MAX_LINE: usize = 64 << 20;

/// How many lines are told at once at most.
const BATCH: usize = 256;

/// How many bytes of an offending line an error shows.
const SHOWN: usize = 80;

/// A type of record. `TYPE` is its name on the wire.
pub trait Record: Serialize {
    /// The value of the field `type`.
    const TYPE: &'static str;
}

macro_rules! records {
    ($($name:literal => $type:ty),* $(,)?) => {
        $(impl $crate::Record for $type {
            const TYPE: &'static str = $name;
        })*
    };
}
pub(crate) use records;

/// What can be wrong with a line of input. Line numbers count from 1.
#[derive(Debug)]
pub enum FrameError {
    /// Reading failed.
    Io(io::Error),
    /// A line is longer than [`MAX_LINE`].
    TooLong {
        /// Line number.
        line: u64,
    },
    /// A line is no JSON object with `v` and `type`.
    NotRecord {
        /// Line number.
        line: u64,
        /// Its first bytes.
        head: String,
    },
    /// A record of a later version of the protocol.
    Version {
        /// Line number.
        line: u64,
        /// The `v` it carries.
        version: u64,
    },
    /// A record of a known type with fields of another shape.
    Shape {
        /// Line number.
        line: u64,
        /// The record's type.
        kind: String,
        /// What the parser said.
        reason: String,
    },
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrameError::Io(e) => write!(f, "cannot read records: {e}"),
            FrameError::TooLong { line } => {
                write!(f, "input line {line} is longer than {} MiB", MAX_LINE >> 20)
            }
            FrameError::NotRecord { line, head } => {
                write!(f, "input line {line} is no record (a JSON object with v and type): {head}")
            }
            FrameError::Version { line, version } => write!(
                f,
                "input line {line} is a record of version {version}; this program knows version {VERSION}"
            ),
            FrameError::Shape { line, kind, reason } => {
                let a = if kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
                write!(f, "input line {line}: {a} {kind} record that cannot be read: {reason}")
            }
        }
    }
}

impl std::error::Error for FrameError {}

/// What is no record has the kind `InvalidData`.
impl From<FrameError> for io::Error {
    fn from(e: FrameError) -> io::Error {
        match e {
            FrameError::Io(e) => e,
            FrameError::TooLong { .. }
            | FrameError::NotRecord { .. }
            | FrameError::Version { .. }
            | FrameError::Shape { .. } => io::Error::new(io::ErrorKind::InvalidData, e),
        }
    }
}

/// One line of input: its type and its bytes without the line end.
#[derive(Debug, Clone)]
pub struct Line {
    raw: Vec<u8>,
    kind: String,
    number: u64,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    v: u64,
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
}

impl Line {
    /// Checks the envelope of one line.
    ///
    /// # Errors
    /// The line is no record, or one of a later version.
    pub fn check(raw: Vec<u8>, number: u64) -> Result<Line, FrameError> {
        let kind = match serde_json::from_slice::<Envelope>(&raw) {
            Ok(envelope) => known(&envelope, number)?,
            Err(_) => match serde_json::from_str::<Envelope>(&json::lossless(&raw)) {
                Ok(envelope) => known(&envelope, number)?,
                Err(_) => return Err(FrameError::NotRecord { line: number, head: head(&raw) }),
            },
        };
        Ok(Line { raw, kind, number })
    }

    /// The record's type.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The line as it came, without its line end.
    #[must_use]
    pub fn raw(&self) -> &[u8] {
        &self.raw
    }

    /// The line with its line end.
    #[must_use]
    pub fn whole(&self) -> Vec<u8> {
        [&*self.raw, b"\n"].concat()
    }

    /// The line's number in its input, from 1.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether the line is a record of this type.
    #[must_use]
    pub fn is<T: Record>(&self) -> bool {
        self.kind == T::TYPE
    }

    /// Reads the record. Unknown fields are ignored, lone surrogates replaced.
    ///
    /// # Errors
    /// The fields have another shape.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, FrameError> {
        serde_json::from_slice(&self.raw).or_else(|first| {
            serde_json::from_str(&json::lossless(&self.raw)).map_err(|_| FrameError::Shape {
                line: self.number,
                kind: self.kind.clone(),
                reason: first.to_string(),
            })
        })
    }
}

fn known(envelope: &Envelope, line: u64) -> Result<String, FrameError> {
    if envelope.v > VERSION {
        return Err(FrameError::Version { line, version: envelope.v });
    }
    Ok(envelope.kind.clone().into_owned())
}

fn head(raw: &[u8]) -> String {
    String::from_utf8_lossy(&raw[..raw.len().min(SHOWN)]).escape_debug().to_string()
}

/// Reads lines of records.
#[derive(Debug)]
pub struct Reader<R> {
    input: BufReader<R>,
    number: u64,
}

impl<R: Read> Reader<R> {
    /// Wraps an input. The buffer is this reader's own: give it the raw stream.
    pub fn new(input: R) -> Reader<R> {
        Reader { input: BufReader::with_capacity(64 << 10, input), number: 0 }
    }

    /// The next record, or `None` at the end. Blank lines are skipped; a CR before the LF is no part
    /// of the record.
    ///
    /// # Errors
    /// The input cannot be read, or holds something else than records.
    pub fn next_line(&mut self) -> Result<Option<Line>, FrameError> {
        loop {
            let mut raw = Vec::new();
            self.number += 1;
            let limit = MAX_LINE as u64 + 1;
            self.input.by_ref().take(limit).read_until(b'\n', &mut raw).map_err(FrameError::Io)?;
            if raw.is_empty() {
                return Ok(None);
            }
            if raw.last() == Some(&b'\n') {
                raw.pop();
            } else if raw.len() > MAX_LINE {
                return Err(FrameError::TooLong { line: self.number });
            }
            if raw.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            return Line::check(raw, self.number).map(Some);
        }
    }

    /// Whether the next line is already here. When it is not, reading may block: flush first.
    #[must_use]
    pub fn has_line(&self) -> bool {
        self.input.buffer().contains(&b'\n')
    }
}

/// Reads an input to its end and tells the lines that are there at once. An error comes last.
pub fn read_lines(input: impl Read, mut tell: impl FnMut(io::Result<Vec<Line>>)) {
    let mut reader = Reader::new(input);
    let mut lines = Vec::new();
    let end = loop {
        match reader.next_line() {
            Ok(Some(line)) => lines.push(line),
            Ok(None) => break None,
            Err(e) => break Some(Err(e.into())),
        }
        if !reader.has_line() || lines.len() == BATCH {
            tell(Ok(std::mem::take(&mut lines)));
        }
    };
    tell(Ok(lines));
    end.map(tell);
}

/// How every record begins, up to the name of its type.
const OPENING: &[u8] = b"{\"v\":1,\"type\":\"";
const _: () = assert!(OPENING[5] == b'0' + VERSION as u8);

/// Appends a record and its line end to a buffer.
///
/// # Errors
/// As `serde_json`: only for values that are no JSON, or no object.
pub fn encode<T: Record>(record: &T, into: &mut Vec<u8>) -> io::Result<()> {
    let start = into.len();
    into.extend_from_slice(OPENING);
    into.extend_from_slice(T::TYPE.as_bytes());
    into.push(b'"');
    // serde's flatten would do the same at twice the price: the body's brace becomes a comma
    let body = into.len();
    let written = serde_json::to_writer(&mut *into, record).map_err(io::Error::from);
    match (written, &into[body..]) {
        (Ok(()), b"{}") => drop(into.remove(body)),
        (Ok(()), [b'{', ..]) => into[body] = b',',
        (written, _) => {
            into.truncate(start);
            return written.and(Err(io::Error::other("a record that is no object")));
        }
    }
    into.push(b'\n');
    Ok(())
}

/// A record as a line with its end.
///
/// # Errors
/// As [`encode`].
pub fn line_of<T: Record>(record: &T) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    encode(record, &mut line)?;
    Ok(line)
}

/// Writes lines of records. Every record reaches the output in one `write`.
#[derive(Debug)]
pub struct Writer<W: Write> {
    output: W,
    buffer: Vec<u8>,
}

/// When this much is waiting the writer passes it on without being asked.
const FULL: usize = 64 << 10;

impl<W: Write> Writer<W> {
    /// Wraps an output that need not be buffered.
    pub fn new(output: W) -> Writer<W> {
        Writer { output, buffer: Vec::new() }
    }

    /// Adds a record. It is on its way only after [`Writer::flush`].
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn write<T: Record>(&mut self, record: &T) -> io::Result<()> {
        encode(record, &mut self.buffer)?;
        self.spill()
    }

    /// Adds a line as it came.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn pass(&mut self, line: &Line) -> io::Result<()> {
        self.raw(line.raw())
    }

    /// Adds the bytes of one line, without its line end.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn raw(&mut self, line: &[u8]) -> io::Result<()> {
        self.buffer.extend_from_slice(line);
        self.buffer.push(b'\n');
        self.spill()
    }

    fn spill(&mut self) -> io::Result<()> {
        if self.buffer.len() >= FULL { self.flush() } else { Ok(()) }
    }

    /// Passes on everything that was added.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        if !self.buffer.is_empty() {
            self.output.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        self.output.flush()
    }
}
