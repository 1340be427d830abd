//! How much of a running command's output people are shown while it runs: all of an ordinary one, and
//! of a flood a bounded rate. What is skipped is counted in the text itself.

use std::time::{Duration, Instant};

/// Bytes that are shown at once.
const BURST: usize = 256 << 10;
/// Bytes a second after that.
const RATE: usize = 64 << 10;
/// The longest piece, in bytes.
const PIECE: usize = 16 << 10;
/// What a text costs at least: a record has a price of its own.
const LEAST: usize = 256;

/// A budget of bytes that fills up again.
#[derive(Debug)]
pub(crate) struct Pace {
    budget: usize,
    filled: Instant,
    skipped: usize,
}

impl Pace {
    /// A full budget.
    pub(crate) fn new(now: Instant) -> Pace {
        Pace { budget: BURST, filled: now, skipped: 0 }
    }

    /// What may be shown of the next text, in pieces. A text that is skipped leaves a count before the
    /// next one that is not.
    pub(crate) fn pieces(&mut self, text: &str, now: Instant) -> Vec<String> {
        self.fill(now);
        if text.is_empty() {
            return Vec::new();
        }
        let cost = text.len().max(LEAST);
        if cost > self.budget {
            self.skipped += text.len();
            return Vec::new();
        }
        self.budget -= cost;
        let mut pieces = vec![self.mark()];
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, more) = rest.split_at(rest.floor_char_boundary(PIECE));
            pieces.push(piece.to_owned());
            rest = more;
        }
        pieces.retain(|piece| !piece.is_empty());
        pieces
    }

    /// How much was skipped since the last piece, in words; empty when nothing was.
    pub(crate) fn mark(&mut self) -> String {
        match std::mem::take(&mut self.skipped) {
            0 => String::new(),
            skipped => format!("\n[… {skipped} bytes not shown …]\n"),
        }
    }

    fn fill(&mut self, now: Instant) {
        let gone = now.saturating_duration_since(self.filled);
        if gone >= Duration::from_millis(100) {
            let more = gone.as_millis().try_into().unwrap_or(usize::MAX).saturating_mul(RATE) / 1000;
            self.budget = BURST.min(self.budget.saturating_add(more));
            self.filled = now;
        }
    }
}
