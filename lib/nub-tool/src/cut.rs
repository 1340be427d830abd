//! What the model sees of a long output: its start and its end, and of every long line the same.

/// The most characters of one output the model sees.
pub(crate) const KEPT: usize = 30_000;
/// Characters kept of a line's start and end.
const LINE_START: usize = 1_500;
const LINE_END: usize = 500;

/// Takes an output piece by piece, in bounded memory.
#[derive(Debug)]
pub(crate) struct Cut {
    head: String,
    room: usize,
    tail: End,
    in_line: usize,
    line_end: End,
    has_long_line: bool,
}

/// What is left of an output.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rest {
    /// The start, or all of it.
    pub head: String,
    /// The end, when something between was dropped.
    pub tail: String,
    /// Characters dropped between the two.
    pub dropped: usize,
    /// Something was dropped, here or within a line.
    pub is_cut: bool,
}

impl Cut {
    /// An empty output.
    pub(crate) fn new() -> Cut {
        Cut {
            head: String::new(),
            room: KEPT / 2,
            tail: End::new(KEPT / 2),
            in_line: 0,
            line_end: End::new(LINE_END),
            has_long_line: false,
        }
    }

    /// Takes the next piece.
    pub(crate) fn push(&mut self, mut text: &str) {
        while !text.is_empty() {
            let short = if self.in_line == 0 { short_lines(text) } else { 0 };
            let end = memchr::memchr(b'\n', &text.as_bytes()[short..]).map(|at| short + at);
            self.keep(&text[..short]);
            self.in_line(&text[short..end.unwrap_or(text.len())]);
            if end.is_some() {
                self.end_line();
                self.keep("\n");
            }
            text = end.map_or("", |end| &text[end + 1..]);
        }
    }

    /// Takes a part of a line.
    fn in_line(&mut self, text: &str) {
        let (start, more) = split(text, LINE_START - self.in_line);
        self.in_line += start.chars().count();
        self.keep(start);
        self.line_end.push(more);
    }

    /// The end of the output.
    pub(crate) fn finish(mut self) -> Rest {
        self.end_line();
        let dropped = self.tail.dropped();
        let (mut head, mut tail) = (self.head, self.tail.take());
        if dropped == 0 {
            head.push_str(&std::mem::take(&mut tail));
        }
        Rest { head, tail, dropped, is_cut: dropped > 0 || self.has_long_line }
    }

    fn end_line(&mut self) {
        let dropped = self.line_end.dropped();
        let end = self.line_end.take();
        if dropped > 0 {
            self.has_long_line = true;
            self.keep(&format!(" [… {dropped} characters of this line cut …] "));
        }
        self.keep(&end);
        self.in_line = 0;
    }

    fn keep(&mut self, text: &str) {
        if self.room == 0 {
            return self.tail.push(text);
        }
        let (start, more) = split(text, self.room);
        self.room -= start.chars().count();
        self.head.push_str(start);
        self.tail.push(more);
    }
}

/// The last characters of a text that comes in pieces.
#[derive(Debug)]
struct End {
    text: String,
    count: usize,
    total: usize,
    limit: usize,
}

impl End {
    fn new(limit: usize) -> End {
        End { text: String::new(), count: 0, total: 0, limit }
    }

    fn push(&mut self, text: &str) {
        let count = text.chars().count();
        self.text.push_str(text);
        self.count += count;
        self.total += count;
        if self.count > 4 * self.limit {
            self.trim();
        }
    }

    fn trim(&mut self) {
        let surplus = self.count.saturating_sub(self.limit);
        let at = split(&self.text, surplus).0.len();
        self.text.drain(..at);
        self.count -= surplus;
    }

    fn dropped(&self) -> usize {
        self.total.saturating_sub(self.limit)
    }

    fn take(&mut self) -> String {
        self.trim();
        (self.count, self.total) = (0, 0);
        std::mem::take(&mut self.text)
    }
}

/// How many bytes of whole lines, none of which can be too long, stand at the beginning.
fn short_lines(text: &str) -> usize {
    let mut whole = 0;
    for at in memchr::memchr_iter(b'\n', text.as_bytes()) {
        if at - whole > LINE_START {
            break;
        }
        whole = at + 1;
    }
    whole
}

/// Splits after so many characters.
fn split(text: &str, characters: usize) -> (&str, &str) {
    if text.is_ascii() {
        return text.split_at(characters.min(text.len()));
    }
    match text.char_indices().nth(characters) {
        Some((at, _)) => text.split_at(at),
        None => (text, ""),
    }
}
