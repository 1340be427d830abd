//! Tests of what people see, without a terminal.

use nub_proto::{ErrorClass, ErrorRecord, Retry, ToolEnd, Ui, Usage};

use crate::{Line, Paint, Style, body, diff, end, error, harmless, result, retry};

fn plain(line: &Line) -> String {
    line.paint(Paint::Plain)
}

fn ended(ui: Option<Ui>, is_error: bool, for_model: &str) -> String {
    let end_record = ToolEnd {
        id: "c1".into(),
        name: "x".into(),
        is_error,
        for_model: for_model.into(),
        ui,
        duration_ms: 3,
    };
    plain(&end(&end_record))
}

fn command(exit_code: Option<i32>, signal: Option<i32>, timed_out: bool) -> Ui {
    let command = "sh test.sh".into();
    Ui::Command { command, exit_code, signal, timed_out, bytes: 1, truncated: false, full_output: None }
}

#[test]
fn terminal_controls_are_shown_not_sent() {
    let evil = "a\x1b]52;c;eA==\x07b\x1b[2J\u{9b}6n\u{202e}txt\u{7f}\r\u{2066}";
    let safe = harmless(evil);
    assert_eq!(safe, "a^[]52;c;eA==^Gb^[[2J<U+009B>6n<U+202E>txt^?^M<U+2066>");
    assert!(safe.chars().all(|c| !c.is_control()));
}

#[test]
fn honest_text_is_left_alone() {
    for text in ["a\tb\nc", "👩‍👩‍👧 🏴󠁧󠁢󠁥󠁮󠁧󠁿 🇩🇪", "שלום مرحبا", "naïve — 日本語", "می‌خواهم"]
    {
        assert_eq!(harmless(text), text);
    }
}

#[test]
fn a_line_stays_a_line() {
    let line = Line::of(Style::Bad, "one\ntwo\x1b[0m");
    assert_eq!(plain(&line), "one two^[[0m");
    assert_eq!(line.paint(Paint::Colour), "\x1b[31mone two^[[0m\x1b[0m");
}

#[test]
fn results_in_a_few_words() {
    assert_eq!(ended(Some(command(Some(1), None, false)), true, "x"), " · exit 1, 1 byte");
    assert_eq!(ended(Some(command(None, Some(9), false)), true, "x"), " · signal 9, 1 byte");
    assert_eq!(ended(Some(command(None, Some(9), true)), true, "x"), " · timed out, 1 byte");
    let matches = Ui::Matches { count: 2, files: 1, truncated: false };
    assert_eq!(ended(Some(matches), false, ""), " · 2 matches in 1 file");
    let part = Ui::File { path: "a".into(), first_line: 3, lines: 2, total_lines: Some(9), truncated: true };
    assert_eq!(ended(Some(part), false, ""), " · lines 3-4 of 9");
    assert_eq!(ended(Some(Ui::Unknown), false, "\n first \nsecond"), " · first");
    assert_eq!(ended(None, true, "no such file: 'x'"), " · no such file: 'x'");
}

#[test]
fn diffs_are_coloured_and_bounded() {
    let unified = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n";
    let styles: Vec<Style> = diff(unified, 9).iter().map(|line| line.0[1].style).collect();
    assert_eq!(styles, [Style::Bold, Style::Bold, Style::Mark, Style::Bad, Style::Good]);
    assert_eq!(plain(&diff(unified, 2)[2]), "  … 3 more lines");
    let ui = Ui::Diff { path: "x".into(), created: false, added: 1, removed: 1, unified: unified.into() };
    assert_eq!(body(&ui).len(), 5);
    assert_eq!(ended(Some(ui), false, ""), " · +1 -1");
}

#[test]
fn failures_come_with_their_advice() {
    let record = ErrorRecord {
        source: "nub-stream".into(),
        class: ErrorClass::Auth,
        message: "the key was refused".into(),
        status: Some(401),
        retryable: false,
        hint: Some("set OPENAI_API_KEY".into()),
        retry_after_ms: None,
        partial: String::new(),
    };
    let lines: Vec<String> = error(&record).iter().map(plain).collect();
    assert_eq!(lines, ["nub-stream: the key was refused (HTTP 401)", "  set OPENAI_API_KEY"]);
}

#[test]
fn waits_and_costs_are_said() {
    let record = Retry {
        attempt: 1,
        max: 3,
        delay_ms: 1500,
        class: ErrorClass::Server,
        status: Some(503),
        message: "busy".into(),
    };
    assert_eq!(plain(&retry(&record)), "! busy (HTTP 503); trying again in 1.5 s (1 of 3)");
    let usage = Usage { input_tokens: 10, output_tokens: 2, ..Usage::default() };
    let run = nub_proto::RunResult {
        stop: nub_proto::Stop::EndTurn,
        text: String::new(),
        turns: 1,
        usage,
        session: "s".into(),
        exit: 0,
    };
    assert_eq!(plain(&result(&run)), "1 turn · 10 tokens in, 2 out");
}
