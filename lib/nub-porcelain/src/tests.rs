//! Tests of the pure parts.

use std::cell::RefCell;
use std::ffi::OsString;
use std::io::{self, Write};
use std::rc::Rc;

use nub_proto::Line as Raw;
use nub_render::{Line, Paint, Style};

use crate::args::{self, Args};
use crate::dispatch::nearest;
use crate::pages::plain;
use crate::show::Show;
use crate::typist::{LONGEST, Typed, whole_line};
use crate::view::{Answer, Calls, Noise, Screen, View};

/// One screen behind both streams.
#[derive(Clone, Default)]
struct Glass(Rc<RefCell<Vec<u8>>>);

impl Write for Glass {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Glass {
    fn text(&self) -> String {
        String::from_utf8(self.0.borrow().clone()).unwrap()
    }
}

fn shared(noise: Noise, paint: Paint) -> (Glass, View<Glass, Glass>) {
    let glass = Glass::default();
    let view = View::new(
        glass.clone(),
        glass.clone(),
        Screen { answer: Answer::Shared, calls: Calls::Live, paint, noise },
    );
    (glass, view)
}

fn job(words: &[&str]) -> args::Job {
    let args: Args = args::parse(words.iter().map(OsString::from).collect()).unwrap();
    args.job(false).unwrap()
}

#[test]
fn sessions_are_new_unless_named() {
    let session = |words: &[&str]| job(words).command.session.unwrap();
    assert_eq!(session(&[]), "new");
    assert_eq!(session(&["-c"]), "latest");
    assert_eq!(session(&["-s", "01A", "-p", "x"]), "01A");
    let resumed = args::resume(&["--mode".into(), "json".into()]);
    assert_eq!(resumed, ["-s", "latest", "--mode", "json"]);
}

#[test]
fn options_may_follow_the_prompt() {
    let job = job(&["-p", "fix", "it", "-q", "--", "-v"]);
    assert_eq!(job.noise, Noise::Quiet);
    assert_eq!(job.print.unwrap().words, ["fix", "it", "-v"]);
}

#[test]
fn a_misspelt_name_finds_its_neighbour() {
    let names = ["ctx", "loop", "session", "stream", "tool"].map(String::from);
    assert_eq!(nearest("sesion", &names), Some("session"));
    assert_eq!(nearest("steram", &names), Some("stream"));
    assert_eq!(nearest("lop", &names), Some("loop"));
    assert_eq!(nearest("kubectl", &names), None);
}

#[test]
fn lines_are_joined_at_a_backslash() {
    let mut input = io::Cursor::new(b"one\r\ntwo\\\nmore\n\\\nend\\".to_vec());
    let mut next = || whole_line(&mut input);
    for line in ["one", "two\nmore", "\nend\n"] {
        assert_eq!(next(), Typed::Line(line.into()));
    }
    assert_eq!(next(), Typed::End);
}

#[test]
fn a_line_that_is_too_long_is_one_line() {
    let mut bytes = vec![b'a'; LONGEST * 2 + 7];
    bytes.extend_from_slice(b"\nnext\n");
    let mut input = io::Cursor::new(bytes);
    let mut next = || whole_line(&mut input);
    assert_eq!(next(), Typed::TooLong);
    assert_eq!(next(), Typed::Line("next".into()));
}

#[test]
fn pages_lose_their_macros_and_keep_their_words() {
    let page = ".Dd today\n.Sh NAME\n.Nm nub\n.Nd an agent\n.Bl -tag\n.It Fl C , Fl Fl cwd Ar DIR\nWork in\n.Ar DIR .\n.El\n";
    assert_eq!(plain(page), "\nNAME\nnub\n- an agent\n\n  -C, --cwd DIR\nWork in\nDIR.\n");
}

#[test]
fn answer_and_activity_share_a_screen() {
    let (glass, mut view) = shared(Noise::Normal, Paint::Plain);
    view.text("Let me look").unwrap();
    view.open("a", &Line::of(Style::Mark, "→ read x")).unwrap();
    view.close("a", Line::of(Style::Mark, "→ read x"), Line::of(Style::Dim, " · 3 lines")).unwrap();
    view.open("b", &Line::of(Style::Mark, "→ long")).unwrap();
    view.open("c", &Line::of(Style::Mark, "→ short")).unwrap();
    view.close("c", Line::of(Style::Mark, "→ short"), Line::of(Style::Dim, " · done")).unwrap();
    view.close("b", Line::of(Style::Mark, "→ long"), Line::of(Style::Dim, " · done")).unwrap();
    view.text("So it is.").unwrap();
    view.end_text().unwrap();
    let expected = "Let me look\n→ read x · 3 lines\n→ long\n→ short · done\n→ long · done\nSo it is.\n";
    assert_eq!(glass.text(), expected);
}

#[test]
fn no_escape_reaches_a_screen_but_our_own() {
    let evil = r"\u001b]52;c;eA==\u0007\u001b[2J\u009b6n\u202e\r";
    let records = [
        r#"{"v":1,"type":"block_start","index":0,"block":{"kind":"text"}}"#.to_owned(),
        format!(r#"{{"v":1,"type":"block_delta","index":0,"text":"{evil}"}}"#),
        r#"{"v":1,"type":"block_start","index":1,"block":{"kind":"thinking"}}"#.to_owned(),
        format!(r#"{{"v":1,"type":"block_delta","index":1,"text":"{evil}"}}"#),
        r#"{"v":1,"type":"block_stop","index":1}"#.to_owned(),
        format!(r#"{{"v":1,"type":"tool_start","id":"a","name":"bash","input":{{}},"title":"{evil}"}}"#),
        format!(r#"{{"v":1,"type":"tool_output","id":"a","stream":"stdout","text":"{evil}"}}"#),
        format!(
            r#"{{"v":1,"type":"tool_end","id":"a","name":"edit","for_model":"{evil}","ui":{{"kind":"diff","path":"{evil}","added":1,"removed":1,"unified":"+{evil}"}},"duration_ms":1}}"#
        ),
        format!(
            r#"{{"v":1,"type":"tool_end","id":"b","name":"{evil}","is_error":true,"for_model":"{evil}","duration_ms":1}}"#
        ),
        format!(r#"{{"v":1,"type":"warning","source":"{evil}","code":"x","message":"{evil}"}}"#),
        format!(
            r#"{{"v":1,"type":"error","source":"{evil}","class":"server","message":"{evil}","retryable":false,"hint":"{evil}"}}"#
        ),
    ];
    let (glass, mut view) = shared(Noise::Verbose, Paint::Colour);
    let mut show = Show::default();
    for record in records {
        let raw = Raw::check(record.into_bytes(), 1).unwrap();
        show.record(&raw, &mut view).unwrap();
    }
    view.end_text().unwrap();
    let ours = ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[36m"];
    let rest = ours.iter().fold(glass.text(), |text, code| text.replace(code, ""));
    assert!(rest.chars().all(|c| c == '\n' || !c.is_control()), "{rest:?}");
    assert!(!rest.contains('\u{202e}'));
    assert!(rest.matches("^[]52;c;eA==^G").count() >= 11, "{rest}");
}
