//! What a run says beside its answer: warnings, retries, failures, what it cost.

use nub_proto::{Compaction, ErrorRecord, Phase, Queue, Retry, RunResult, Stop, Warning};

use crate::tool::{many, seconds};
use crate::{Line, Style};

/// A warning, in the form of a diagnostic: `nub-ctx: warning: ...`.
#[must_use]
pub fn warning(warning: &Warning) -> Line {
    Line::of(Style::Plain, format!("{}: ", warning.source))
        .with(Style::Warn, "warning: ")
        .with(Style::Plain, &warning.message)
}

/// A retry and the wait before it.
#[must_use]
pub fn retry(retry: &Retry) -> Line {
    let status = retry.status.map_or(String::new(), |status| format!(" (HTTP {status})"));
    Line::of(Style::Warn, "! ").with(
        Style::Plain,
        format!(
            "{}{status}; trying again in {} ({} of {})",
            retry.message,
            seconds(retry.delay_ms),
            retry.attempt,
            retry.max
        ),
    )
}

/// A failure in the form of a diagnostic, and what can be done on a line of its own.
#[must_use]
pub fn error(error: &ErrorRecord) -> Vec<Line> {
    let status = error.status.map_or(String::new(), |status| format!(" (HTTP {status})"));
    let mut lines = vec![
        Line::of(Style::Plain, format!("{}: ", error.source))
            .with(Style::Bad, format!("{}{status}", error.message)),
    ];
    let hint = error.hint.iter().flat_map(|hint| hint.lines());
    lines.extend(hint.map(|line| Line::of(Style::Plain, format!("  {line}"))));
    lines
}

/// The texts that wait, or nothing when none does.
#[must_use]
pub fn queue(queue: &Queue) -> Vec<Line> {
    let steer = queue.steer.iter().map(|text| ("for the next request: ", text));
    let later = queue.follow_up.iter().map(|text| ("for later: ", text));
    steer
        .chain(later)
        .map(|(when, text)| Line::of(Style::Dim, format!("waits {when}")).with(Style::Plain, text))
        .collect()
}

/// A compaction.
#[must_use]
pub fn compaction(compaction: &Compaction) -> Line {
    let text = match (compaction.phase, compaction.tokens_after) {
        (Phase::Start, _) => format!("summarising {} tokens", compaction.tokens_before),
        (Phase::End, Some(after)) => format!("summarised: {} -> {after} tokens", compaction.tokens_before),
        (Phase::End, None) => "nothing to summarise".into(),
    };
    Line::of(Style::Dim, text)
}

/// What a run came to: how it ended unless it ended well, turns and tokens.
#[must_use]
pub fn result(result: &RunResult) -> Line {
    let usage = result.usage;
    let about = if usage.estimated { "about " } else { "" };
    let mut parts = vec![many(result.turns as usize, "turn")];
    if usage.input_tokens + usage.output_tokens > 0 {
        let tokens = format!("{about}{} tokens in, {} out", usage.input_tokens, usage.output_tokens);
        parts.push(tokens);
    }
    let (style, how) = ending(result.stop);
    Line::of(style, how).with(Style::Dim, parts.join(" · "))
}

fn ending(stop: Stop) -> (Style, &'static str) {
    match stop {
        Stop::EndTurn => (Style::Dim, ""),
        Stop::ToolUse => (Style::Warn, "ended before its calls · "),
        Stop::MaxTokens => (Style::Warn, "the answer reached its token limit · "),
        Stop::Refusal => (Style::Warn, "refused · "),
        Stop::Cancelled => (Style::Warn, "cancelled · "),
        Stop::Truncated => (Style::Bad, "the answer broke off · "),
        Stop::Limit => (Style::Warn, "a limit was reached · "),
        Stop::Budget => (Style::Warn, "the token budget is used up · "),
        Stop::Error => (Style::Bad, "failed · "),
    }
}
