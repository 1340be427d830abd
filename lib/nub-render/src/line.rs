//! Styled lines: what text means, apart from how it is shown.

use crate::harmless;

/// What a piece of text means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Text.
    Plain,
    /// Something beside the matter.
    Dim,
    /// A name or a heading.
    Bold,
    /// It went well, or was added.
    Good,
    /// It failed, or was removed.
    Bad,
    /// Worth a look.
    Warn,
    /// A mark that begins a line.
    Mark,
}

impl Style {
    fn code(self) -> &'static str {
        match self {
            Style::Plain => "",
            Style::Dim => "\x1b[2m",
            Style::Bold => "\x1b[1m",
            Style::Good => "\x1b[32m",
            Style::Bad => "\x1b[31m",
            Style::Warn => "\x1b[33m",
            Style::Mark => "\x1b[36m",
        }
    }
}

/// Whether styles become colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// Text only.
    Plain,
    /// ANSI colours.
    Colour,
}

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// What it means.
    pub style: Style,
    /// Foreign text is welcome: it is made harmless when it is painted.
    pub text: String,
}

/// One line for people, without its line end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line(pub Vec<Span>);

impl Line {
    /// A line of one piece.
    pub fn of(style: Style, text: impl Into<String>) -> Line {
        Line::default().with(style, text)
    }

    /// Adds a piece.
    #[must_use]
    pub fn with(mut self, style: Style, text: impl Into<String>) -> Line {
        match self.0.last_mut().filter(|last| last.style == style) {
            Some(last) => last.text.push_str(&text.into()),
            None => self.0.push(Span { style, text: text.into() }),
        }
        self
    }

    /// The line as it is written: one line, whatever its text holds, and no escape but our own.
    #[must_use]
    pub fn paint(&self, paint: Paint) -> String {
        let mut out = String::new();
        for span in &self.0 {
            let text = harmless(&span.text).replace('\n', " ");
            let code = match paint {
                Paint::Plain => "",
                Paint::Colour => span.style.code(),
            };
            out.push_str(code);
            out.push_str(&text);
            if !code.is_empty() {
                out.push_str("\x1b[0m");
            }
        }
        out
    }
}
