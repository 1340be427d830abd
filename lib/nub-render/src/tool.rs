//! Tool calls: one line each, and what is below it for those who want to see more.

use nub_proto::{Item, ItemStatus, PermissionRequest, ToolEnd, Ui};

use crate::{Line, Style, diff};

/// Characters of a result's first line that are shown.
const FIRST_LINE: usize = 100;

/// Lines of a diff that are shown below a call.
const DIFF_LINES: usize = 60;

/// A call that took longer than this is shown with its time, in milliseconds.
const SLOW_MS: u64 = 1000;

/// The line of a call, by its title.
#[must_use]
pub fn call(title: &str) -> Line {
    Line::of(Style::Mark, "→ ").with(Style::Plain, title)
}

/// What is added to the line of a call when it is over.
#[must_use]
pub fn end(call: &ToolEnd) -> Line {
    let style = if call.is_error { Style::Bad } else { Style::Dim };
    let summary = match (&call.ui, call.is_error) {
        (Some(ui), false) => summary(ui).unwrap_or_else(|| first_line(&call.for_model)),
        (Some(ui @ Ui::Command { .. }), true) => summary(ui).unwrap_or_default(),
        (None | Some(_), _) => first_line(&call.for_model),
    };
    let line = Line::of(Style::Dim, " · ").with(style, summary);
    if call.duration_ms < SLOW_MS {
        return line;
    }
    line.with(Style::Dim, format!(" · {}", seconds(call.duration_ms)))
}

/// What stands below the line of a finished call: the diff, the list.
#[must_use]
pub fn body(ui: &Ui) -> Vec<Line> {
    match ui {
        Ui::Diff { unified, .. } => diff(unified, DIFF_LINES),
        Ui::Todo { items } => items.iter().map(item).collect(),
        Ui::Command { full_output: Some(path), .. } => {
            vec![Line::of(Style::Dim, format!("  all of the output is in {path}"))]
        }
        Ui::Command { .. } | Ui::File { .. } | Ui::Paths { .. } | Ui::Matches { .. } => Vec::new(),
        Ui::Skill { .. } | Ui::Mcp { .. } | Ui::Unknown => Vec::new(),
    }
}

/// The question whether a call may run, with the diff or command it is about.
#[must_use]
pub fn ask(request: &PermissionRequest) -> Vec<Line> {
    let mut lines = vec![Line::of(Style::Warn, "? ").with(Style::Bold, &request.title)];
    match &request.ui {
        // the title of a short command says it all
        Some(Ui::Command { command, .. }) if request.title.ends_with(command.as_str()) => {}
        Some(Ui::Command { command, .. }) => {
            lines.extend(command.lines().map(|line| Line::of(Style::Plain, format!("  {line}"))));
        }
        Some(ui) => lines.extend(body(ui)),
        None => {}
    }
    lines
}

fn summary(ui: &Ui) -> Option<String> {
    Some(match ui {
        Ui::Diff { created: true, added, .. } => format!("new, {}", many(*added, "line")),
        Ui::Diff { added, removed, .. } => format!("+{added} -{removed}"),
        Ui::Command { exit_code, signal, timed_out, bytes, truncated, .. } => {
            let cut = if *truncated { ", shortened for the model" } else { "" };
            format!("{}, {}{cut}", how_it_ended(*exit_code, *signal, *timed_out), size(*bytes))
        }
        Ui::File { first_line, lines, total_lines, .. } => match total_lines {
            Some(total) if *total > *lines => {
                format!("lines {first_line}-{} of {total}", first_line + lines.saturating_sub(1))
            }
            Some(_) | None => many(usize::try_from(*lines).unwrap_or(usize::MAX), "line"),
        },
        Ui::Paths { count, truncated } => format!("{}{}", more(*truncated), many(*count, "path")),
        Ui::Matches { count, files, truncated } => {
            format!("{}{} in {}", more(*truncated), many(*count, "match"), many(*files, "file"))
        }
        Ui::Todo { items } => {
            let done = items.iter().filter(|item| item.status == ItemStatus::Done).count();
            format!("{done} of {} done", items.len())
        }
        Ui::Skill { path, .. } => path.clone(),
        Ui::Mcp { .. } | Ui::Unknown => return None,
    })
}

fn how_it_ended(exit_code: Option<i32>, signal: Option<i32>, timed_out: bool) -> String {
    match (timed_out, signal, exit_code) {
        (true, _, _) => "timed out".into(),
        (false, Some(signal), _) => format!("signal {signal}"),
        (false, None, Some(code)) => format!("exit {code}"),
        (false, None, None) => "ended".into(),
    }
}

fn item(item: &Item) -> Line {
    let (style, mark) = match item.status {
        ItemStatus::Pending => (Style::Plain, "  [ ] "),
        ItemStatus::Active => (Style::Bold, "  [~] "),
        ItemStatus::Done => (Style::Dim, "  [x] "),
    };
    Line::of(style, format!("{mark}{}", item.text))
}

fn more(truncated: bool) -> &'static str {
    if truncated { "more than " } else { "" }
}

/// A number and its noun.
pub(crate) fn many(count: usize, noun: &str) -> String {
    let plural = match (count, noun.ends_with("ch")) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{count} {noun}{plural}")
}

/// Milliseconds for people.
pub(crate) fn seconds(ms: u64) -> String {
    format!("{}.{} s", ms / 1000, ms % 1000 / 100)
}

fn size(bytes: u64) -> String {
    match bytes {
        0 => "no output".into(),
        1..=9_999 => many(usize::try_from(bytes).unwrap_or(usize::MAX), "byte"),
        10_000..=9_999_999 => format!("{} kB", bytes / 1000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}

fn first_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("nothing").trim();
    match line.char_indices().nth(FIRST_LINE) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line.to_owned(),
    }
}
