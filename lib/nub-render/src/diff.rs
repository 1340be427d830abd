//! Unified diffs.

use crate::{Line, Style};

/// The lines of a unified diff, with at most `most` of them shown.
#[must_use]
pub fn diff(unified: &str, most: usize) -> Vec<Line> {
    let all = unified.lines().count();
    let mut lines: Vec<Line> =
        unified.lines().take(most).map(|line| Line::of(Style::Plain, "  ").with(style(line), line)).collect();
    if all > most {
        lines.push(Line::of(Style::Dim, format!("  … {} more lines", all - most)));
    }
    lines
}

fn style(line: &str) -> Style {
    match line.as_bytes().first() {
        Some(_) if line.starts_with("+++ ") || line.starts_with("--- ") => Style::Bold,
        Some(b'+') => Style::Good,
        Some(b'-') => Style::Bad,
        Some(b'@') => Style::Mark,
        Some(_) if line.starts_with("diff ") || line.starts_with("index ") => Style::Dim,
        _ => Style::Plain,
    }
}
