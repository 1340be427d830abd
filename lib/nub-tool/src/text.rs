//! Bytes of files as text: lines of any length in bounded memory, and the encodings nub tells apart.

use std::io::{self, BufRead};

use crate::cancel::Cancel;

/// One line, perhaps cut.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    /// Its first bytes, without the line end.
    pub bytes: Vec<u8>,
    /// Bytes that were left out at its end.
    pub more: u64,
}

/// Reads the next line and keeps at most `keep` bytes of it; none at the end.
///
/// # Errors
/// As the reader, and when the call is cancelled.
pub(crate) fn next_line(reader: &mut impl BufRead, keep: usize, cancel: &Cancel) -> io::Result<Option<Line>> {
    let mut line = Line::default();
    let mut started = false;
    loop {
        if cancel.is_set() {
            return Err(io::Error::other("cancelled"));
        }
        let buffer = match reader.fill_buf() {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            result => result?,
        };
        if buffer.is_empty() {
            return Ok(started.then_some(line));
        }
        started = true;
        let end = memchr::memchr(b'\n', buffer);
        let part = &buffer[..end.unwrap_or(buffer.len())];
        let kept = part.len().min(keep.saturating_sub(line.bytes.len()));
        line.bytes.extend_from_slice(&part[..kept]);
        line.more += (part.len() - kept) as u64;
        let used = part.len() + usize::from(end.is_some());
        reader.consume(used);
        if end.is_some() {
            if line.more == 0 && line.bytes.last() == Some(&b'\r') {
                line.bytes.pop();
            }
            return Ok(Some(line));
        }
    }
}

/// Passes over at most `count` lines and gives how many there were.
///
/// # Errors
/// As the reader, and when the call is cancelled.
pub(crate) fn skip_lines(reader: &mut impl BufRead, count: u64, cancel: &Cancel) -> io::Result<u64> {
    let mut skipped = 0;
    let mut is_begun = false;
    while skipped < count {
        if cancel.is_set() {
            return Err(io::Error::other("cancelled"));
        }
        let buffer = match reader.fill_buf() {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            result => result?,
        };
        if buffer.is_empty() {
            return Ok(skipped + u64::from(is_begun));
        }
        let ends = memchr::memchr_iter(b'\n', buffer);
        let there = ends.clone().count() as u64;
        let missing = count - skipped;
        let used = if there < missing { None } else { ends.clone().nth(missing as usize - 1) };
        is_begun = used.is_none() && buffer.last() != Some(&b'\n');
        skipped += there.min(missing);
        let used = used.map_or(buffer.len(), |at| at + 1);
        reader.consume(used);
    }
    Ok(skipped)
}

/// A line as text: UTF-8, or else byte by byte as Latin-1 (and `true`). A character that was cut at
/// the end of `bytes` is dropped when the line goes on.
pub(crate) fn decode_line(line: &Line) -> (String, Decoded) {
    let cut = match std::str::from_utf8(&line.bytes) {
        Err(e) if line.more > 0 && e.error_len().is_none() => e.valid_up_to(),
        _ => line.bytes.len(),
    };
    match std::str::from_utf8(&line.bytes[..cut]) {
        Ok(text) => (text.to_owned(), Decoded::Utf8),
        Err(_) => (latin1(&line.bytes), Decoded::Latin1),
    }
}

/// How a line was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decoded {
    /// As UTF-8.
    Utf8,
    /// Byte by byte, as it is no UTF-8.
    Latin1,
}

/// Bytes as Latin-1.
pub(crate) fn latin1(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

/// Text as Latin-1, if it can be.
pub(crate) fn to_latin1(text: &str) -> Option<Vec<u8>> {
    text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect()
}

/// Order of the two bytes in UTF-16.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Little end first.
    Little,
    /// Big end first.
    Big,
}

/// UTF-16 as text, without its mark; lone surrogates become U+FFFD.
pub(crate) fn from_utf16(bytes: &[u8], order: Order) -> String {
    let units = bytes.chunks_exact(2).map(|pair| match order {
        Order::Little => u16::from_le_bytes([pair[0], pair[1]]),
        Order::Big => u16::from_be_bytes([pair[0], pair[1]]),
    });
    let text = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER));
    text.skip_while({
        let mut first = true;
        move |c| std::mem::take(&mut first) && *c == '\u{feff}'
    })
    .collect()
}

/// Text as UTF-16 with its mark.
pub(crate) fn to_utf16(text: &str, order: Order) -> Vec<u8> {
    let units = std::iter::once(0xfeff).chain(text.encode_utf16());
    units
        .flat_map(|unit| match order {
            Order::Little => unit.to_le_bytes(),
            Order::Big => unit.to_be_bytes(),
        })
        .collect()
}

/// The first `limit` characters of a text and how many bytes follow.
pub(crate) fn cut(text: &str, limit: usize) -> (&str, usize) {
    match text.char_indices().nth(limit) {
        Some((at, _)) => (&text[..at], text.len() - at),
        None => (text, 0),
    }
}
