//! Where a JSON object or array ends, found in pieces of any size without parsing it.

use memchr::{memchr2, memchr2_iter};

/// Follows one JSON value from its first bracket to the bracket that closes it.
#[derive(Debug, Clone, Default)]
pub struct Scan {
    depth: usize,
    in_string: bool,
    escaped: bool,
    closed: bool,
}

impl Scan {
    /// Goes on over `bytes`. The offset behind the closing bracket, once it was met.
    pub fn over(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while at < bytes.len() && !self.closed {
            at += if self.in_string { self.string(&bytes[at..]) } else { self.token(bytes[at]) };
        }
        self.closed.then_some(at)
    }

    /// Whether the value is complete.
    pub fn closed(&self) -> bool {
        self.closed
    }

    fn token(&mut self, byte: u8) -> usize {
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                self.closed = self.depth == 0;
            }
            _ => {}
        }
        1
    }

    fn string(&mut self, bytes: &[u8]) -> usize {
        if self.escaped {
            self.escaped = false;
            return 1;
        }
        let Some(at) = memchr2(b'"', b'\\', bytes) else {
            return bytes.len();
        };
        if bytes[at] == b'"' {
            self.in_string = false;
        } else {
            self.escaped = true;
        }
        at + 1
    }
}

/// The ends of lines in `bytes`: offsets of CR and LF. Nothing else ends a line, whatever Unicode says.
pub fn line_ends(bytes: &[u8]) -> impl Iterator<Item = usize> + '_ {
    memchr2_iter(b'\n', b'\r', bytes)
}
