//! The lines of a session file, forwards or backwards, without ever holding more than one buffer.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use memchr::{memchr, memrchr};
use nub_proto::{Line, MAX_LINE};

/// How much is read at once, in bytes.
const CHUNK: usize = 256 << 10;
/// How much of the beginning of a longer line is kept, in bytes: enough for id and parent.
const KEPT: usize = 4 << 10;

/// One line: where it lies, and its beginning.
#[derive(Debug, Clone, Copy)]
pub struct Raw<'a> {
    /// Offset of its first byte in the file.
    pub offset: u64,
    /// Its length in bytes, without the line end.
    pub len: u64,
    /// Its first bytes; all of them when `head.len() == len`.
    pub head: &'a [u8],
    /// Whether a line end follows.
    pub ended: bool,
}

impl Raw<'_> {
    /// Whether `head` is the whole line.
    pub fn is_whole(&self) -> bool {
        self.head.len() as u64 == self.len
    }
}

/// Lines from the beginning to the end.
#[derive(Debug)]
pub struct Forward<'f> {
    file: &'f File,
    buffer: Vec<u8>,
    /// File offset of the first byte in the buffer.
    base: u64,
    /// The unread part of the buffer.
    at: usize,
    end: usize,
}

impl<'f> Forward<'f> {
    /// Starts at an offset.
    pub fn new(file: &'f File, base: u64) -> Forward<'f> {
        Forward { file, buffer: vec![0; CHUNK], base, at: 0, end: 0 }
    }

    /// The next line, or `None` at the end of the file.
    pub fn next(&mut self) -> io::Result<Option<Raw<'_>>> {
        let mut searched = self.at;
        loop {
            if let Some(found) = memchr(b'\n', &self.buffer[searched..self.end]) {
                let start = std::mem::replace(&mut self.at, searched + found + 1);
                return Ok(Some(self.line(start..searched + found, true)));
            }
            searched = self.end - self.at;
            if searched == CHUNK {
                return self.long().map(Some);
            }
            if self.refill()? == 0 {
                let start = std::mem::replace(&mut self.at, self.end);
                return Ok((start < self.end).then(|| self.line(start..self.end, false)));
            }
        }
    }

    fn line(&self, range: std::ops::Range<usize>, ended: bool) -> Raw<'_> {
        Raw {
            offset: self.base + range.start as u64,
            len: range.len() as u64,
            head: &self.buffer[range],
            ended,
        }
    }

    /// Moves the unread part to the front and reads on behind it.
    fn refill(&mut self) -> io::Result<usize> {
        self.buffer.copy_within(self.at..self.end, 0);
        self.base += self.at as u64;
        self.end -= self.at;
        self.at = 0;
        let read = read_at(self.file, &mut self.buffer[self.end..], self.base + self.end as u64)?;
        self.end += read;
        Ok(read)
    }

    /// A line that fills the buffer without an end: its beginning is kept in front, the rest only
    /// searched.
    fn long(&mut self) -> io::Result<Raw<'_>> {
        let offset = self.base;
        let mut behind = self.base + self.end as u64;
        loop {
            let read = read_at(self.file, &mut self.buffer[KEPT..], behind)?;
            let found = memchr(b'\n', &self.buffer[KEPT..KEPT + read]);
            let stop = behind + found.unwrap_or(read) as u64;
            if found.is_some() || read == 0 {
                // read again from behind the line: simpler than moving what was read
                self.base = stop + u64::from(found.is_some());
                self.at = 0;
                self.end = 0;
                let head = &self.buffer[..KEPT];
                return Ok(Raw { offset, len: stop - offset, head, ended: found.is_some() });
            }
            behind += read as u64;
        }
    }
}

/// Lines from the end to the beginning.
#[derive(Debug)]
pub struct Backward<'f> {
    file: &'f File,
    buffer: Vec<u8>,
    /// File offset of the first byte in the buffer.
    base: u64,
    end: usize,
    /// File offset just behind the line that comes next, its line end not counted.
    stop: u64,
    done: bool,
}

impl<'f> Backward<'f> {
    /// Starts with the last whole line.
    pub fn new(file: &'f File, extent: Extent) -> Backward<'f> {
        let stop = extent.good.saturating_sub(u64::from(!extent.open));
        let buffer = vec![0; CHUNK + KEPT];
        Backward { file, buffer, base: extent.good, end: 0, stop, done: extent.good == 0 }
    }

    /// The line before, or `None` at the beginning of the file.
    pub fn next(&mut self) -> io::Result<Option<Raw<'_>>> {
        if self.done {
            return Ok(None);
        }
        let mut limit = self.stop.min(self.base + self.end as u64);
        loop {
            let searched = limit.saturating_sub(self.base) as usize;
            if let Some(found) = memrchr(b'\n', &self.buffer[..searched]) {
                return Ok(Some(self.line(found + 1)));
            }
            if self.base == 0 {
                self.done = true;
                return Ok(Some(self.line(0)));
            }
            limit = self.stop.min(self.base);
            self.earlier()?;
        }
    }

    /// Loads the part before, and keeps the first bytes of this one behind it.
    fn earlier(&mut self) -> io::Result<()> {
        let base = self.base.saturating_sub(CHUNK as u64);
        let read = (self.base - base) as usize;
        let kept = self.end.min(KEPT);
        self.buffer.copy_within(..kept, read);
        self.file.read_exact_at(&mut self.buffer[..read], base)?;
        self.base = base;
        self.end = read + kept;
        Ok(())
    }

    fn line(&mut self, start: usize) -> Raw<'_> {
        let offset = self.base + start as u64;
        let len = self.stop - offset;
        self.stop = offset.saturating_sub(1);
        let shown = (len as usize).min(self.end - start);
        Raw { offset, len, head: &self.buffer[start..start + shown], ended: true }
    }
}

fn read_at(file: &File, into: &mut [u8], offset: u64) -> io::Result<usize> {
    loop {
        match file.read_at(into, offset) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// How far a file holds whole lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Bytes of whole lines.
    pub good: u64,
    /// The last of them lacks its line end, but is a complete record.
    pub open: bool,
    /// Bytes of a torn line behind them.
    pub torn: u64,
}

/// Finds the last line end and judges what follows it.
pub fn extent(file: &File) -> io::Result<Extent> {
    let len = file.metadata()?.len();
    let mut chunk = vec![0; KEPT];
    let mut end = len;
    let mut good = 0;
    while end > 0 {
        let start = end.saturating_sub(chunk.len() as u64);
        let part = &mut chunk[..(end - start) as usize];
        file.read_exact_at(part, start)?;
        if let Some(found) = memrchr(b'\n', part) {
            good = start + found as u64 + 1;
            break;
        }
        end = start;
        chunk.resize(CHUNK, 0);
    }
    let tail = len - good;
    let complete = (1..=MAX_LINE as u64).contains(&tail) && Line::check(read(file, good, tail)?, 0).is_ok();
    Ok(if complete {
        Extent { good: len, open: true, torn: 0 }
    } else {
        Extent { good, open: false, torn: tail }
    })
}

/// Reads a whole line.
pub fn read(file: &File, offset: u64, len: u64) -> io::Result<Vec<u8>> {
    let mut line = vec![0; usize::try_from(len).map_err(io::Error::other)?];
    file.read_exact_at(&mut line, offset)?;
    Ok(line)
}
