//! Bytes that arrive in pieces, made text: no character is torn, what is no UTF-8 becomes U+FFFD.

/// Holds back the beginning of a character until the rest of it comes.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    held: Vec<u8>,
}

impl Decoder {
    /// The text of the next piece.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> String {
        self.held.extend_from_slice(bytes);
        let whole = self.held.len() - torn(&self.held);
        let text = String::from_utf8_lossy(&self.held[..whole]).into_owned();
        self.held.drain(..whole);
        text
    }

    /// What was held back when the last piece came.
    pub(crate) fn finish(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.held)).into_owned()
    }
}

/// How many bytes at the end begin a character that may still be completed.
fn torn(bytes: &[u8]) -> usize {
    let from = bytes.len().saturating_sub(3);
    let start = (from..bytes.len()).rev().find(|at| bytes[*at] & 0xC0 != 0x80);
    let Some(tail) = start.map(|at| &bytes[at..]) else { return 0 };
    match std::str::from_utf8(tail) {
        Err(e) if e.error_len().is_none() => tail.len(),
        Err(_) | Ok(_) => 0,
    }
}
