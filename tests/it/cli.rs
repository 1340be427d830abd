//! Tests of print mode, the prompt, dispatch and the pages, with a nub-loop of the test's choosing.

use std::io::Read;
use std::process::Stdio;

use crate::cli_fake::{Fake, READY, RESULT, TURN};
use crate::scratch::{Scratch, finish, source};

#[test]
fn print_mode_keeps_answer_and_activity_apart() {
    let fake = Fake::saying(TURN);
    let ran = fake.run(&["-p", "do", "it"], "");
    assert_eq!((ran.code, ran.out.as_str()), (0, "Let me look.\u{1b}[2J\nDone: é\n"));
    let expected = "nub-ctx: warning: AGENTS.md was shortened\n\
        ! busy (HTTP 503); trying again in 0.5 s (1 of 3)\n\
        → sh test.sh · exit 1, 6 bytes\n\
        → read x^[]0;evil^G · 1 line\n";
    assert_eq!(ran.err, expected);
    assert_eq!(fake.input(), serde_json::json!({"v":1,"type":"input","op":"prompt","text":"do it"}));
    assert_eq!(fake.scratch.read("args"), "--session new\n");
    assert_eq!(fake.scratch.read("rest"), "");
}

#[test]
fn quiet_says_less_and_verbose_more() {
    let fake = Fake::saying(TURN);
    assert_eq!(fake.run(&["-pq", "x"], "").err, "");
    let ran = fake.run(&["-pv", "x"], "");
    for piece in ["~ hm, secret thought\n", "  noise\n", "2 turns\n"] {
        assert!(ran.err.contains(piece), "{piece:?} in {}", ran.err);
    }
    assert!(!ran.out.contains("secret"));
}

#[test]
fn json_mode_passes_the_records_byte_for_byte() {
    let fake = Fake::saying(TURN);
    let ran = fake.run(&["-p", "--mode", "json", "x"], "");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert_eq!(ran.out, TURN);
}

#[test]
fn flags_are_handed_down() {
    let fake = Fake::saying(RESULT);
    fake.run(
        &[
            "-p",
            "x",
            "-m",
            "big",
            "--endpoint",
            "there",
            "--max-turns",
            "3",
            "--stage",
            "stream=a | b",
            "-C",
            "sub",
            "-c",
        ],
        "",
    );
    let args = "--cwd sub --model big --endpoint there --max-turns 3 --stage stream=a | b --session latest\n";
    assert_eq!(fake.scratch.read("args"), args);
    fake.run(&["resume", "01AB", "-p", "x"], "");
    assert_eq!(fake.scratch.read("args"), "--session 01AB\n");
    fake.run(&["resume", "-p", "x"], "");
    assert_eq!(fake.scratch.read("args"), "--session latest\n");
    let mut command = fake.nub(&["-p", "x"]);
    command.env("NUB_SESSION", "S9");
    finish(command, "");
    assert_eq!(fake.scratch.read("args"), "\n");
}

#[test]
fn the_exit_code_is_the_results() {
    for code in [0, 1, 2, 3, 4] {
        let record = RESULT.replace("\"exit\":0", &format!("\"exit\":{code}"));
        assert_eq!(Fake::saying(&record).run(&["-p", "x"], "").code, code);
        assert_eq!(Fake::saying(&record).run(&["-p", "--mode", "json", "x"], "").code, code);
    }
}

#[test]
fn failures_are_said_on_stderr_with_their_advice() {
    let error = r#"{"v":1,"type":"error","source":"nub-stream","class":"auth","message":"the key was refused","status":401,"retryable":false,"hint":"set KEY"}"#;
    let result =
        r#"{"v":1,"type":"result","stop":"error","text":"","turns":1,"usage":{},"session":"S","exit":1}"#;
    let ran = Fake::saying(&format!("{error}\n{result}\n")).run(&["-p", "-q", "x"], "");
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert_eq!(ran.err, "nub-stream: the key was refused (HTTP 401)\n  set KEY\n");
}

#[test]
fn a_stop_that_is_no_good_end_is_said() {
    let limit =
        r#"{"v":1,"type":"result","stop":"limit","text":"","turns":50,"usage":{},"session":"S","exit":4}"#;
    let ran = Fake::saying(limit).run(&["-p", "x"], "");
    assert_eq!((ran.code, ran.err.as_str()), (4, "a limit was reached · 50 turns\n"));
}

#[test]
fn a_loop_that_dies_gives_its_code_or_a_message() {
    let fake = Fake::new("nub-loop", "echo 'nub-loop: unknown key' >&2; exit 2");
    let ran = fake.run(&["-p", "x"], "");
    assert_eq!((ran.code, ran.err.as_str()), (2, "nub-loop: unknown key\n"));
    let fake = Fake::new("nub-loop", "kill -9 $$");
    let ran = fake.run(&["-p", "x"], "");
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("without a result"), "{}", ran.err);
    let ran = Fake::saying("no record\n").run(&["-p", "x"], "");
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("no record"), "{}", ran.err);
}

#[test]
fn a_stage_that_does_not_stream_is_shown_all_the_same() {
    let message = r#"{"v":1,"type":"message","message":{"role":"assistant","content":[{"kind":"text","text":"whole"}]}}"#;
    let node = r#"{"v":1,"type":"node","id":"N","parent":"","kind":"message","message":{"role":"assistant","content":[{"kind":"text","text":"whole"}]}}"#;
    let ran = Fake::saying(&format!("{message}\n{node}\n{RESULT}\n")).run(&["-p", "x"], "");
    assert_eq!(ran.out, "whole\n");
}

#[test]
fn piped_text_is_the_prompt_or_is_attached_to_it() {
    let fake = Fake::saying(RESULT);
    fake.run(&["-p"], "what is this?\n");
    assert_eq!(fake.input()["text"], "what is this?");
    fake.run(&["-p", "explain"], "a\n```\n");
    assert_eq!(fake.input()["text"], "explain\n\n````\na\n```\n````");
    fake.run(&["-p", "explain"], "");
    assert_eq!(fake.input()["text"], "explain");
    fake.run(&["-p", "explain", "-"], "b");
    assert_eq!(fake.input()["text"], "explain\n\n```\nb\n```");
    assert_eq!(fake.run(&["-p"], " \n").code, 2);
}

#[test]
fn files_are_attached() {
    let fake = Fake::saying(RESULT);
    fake.scratch.file("a.txt", "alpha\n");
    fake.scratch.file("p.png", b"\x89PNG\r\n\x1a\n0");
    fake.scratch.file("bin", b"\0\x01");
    fake.run(&["-p", "look", "-f", "a.txt"], "");
    assert_eq!(fake.input()["text"], "look\n\na.txt:\n```\nalpha\n```");
    fake.run(&["-p", "look", "-f", "p.png"], "");
    assert_eq!(fake.input()["content"][1]["media_type"], "image/png");
    let ran = fake.run(&["-p", "look", "-f", "none"], "");
    assert_eq!(ran.code, 2);
    assert!(ran.err.starts_with("nub: cannot read 'none': "), "{}", ran.err);
    assert_eq!(fake.run(&["-p", "look", "-f", "bin"], "").code, 2);
    let ran = fake.run(&["-p", "look", "-f", "/dev/zero"], "");
    assert!(ran.code == 2 && ran.err.contains("larger than"), "{}", ran.err);
}

#[test]
fn a_silent_pipe_does_not_hang_print_mode() {
    let fake = Fake::saying(RESULT);
    let mut child = fake
        .nub(&["-p", "x"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let open = child.stdin.take();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(said.contains("stdin is open but silent"), "{said}");
    drop(open);
}

#[test]
fn nobody_to_ask_is_an_error() {
    let asks = r#"{"v":1,"type":"permission_request","id":"a","name":"bash","title":"rm x"}"#;
    let cancelled = RESULT.replace("\"exit\":0", "\"exit\":3");
    let fake = Fake::new(
        "nub-loop",
        &format!(
            "printf '%s\\n' '{READY}'; read -r a; printf '%s\\n' '{asks}'; read -r control; printf '%s\\n' \"$control\" > control; printf '%s\\n' '{cancelled}'; cat"
        ),
    );
    for args in [["-p", "x"].as_slice(), &["-p", "--mode", "json", "x"], &[]] {
        let ran = fake.run(args, "x\ny\n");
        assert_eq!(ran.code, 2, "{args:?}");
        assert!(ran.err.contains("'bash' needs your word"), "{}", ran.err);
        assert!(ran.err.contains("permissions.bash"), "{}", ran.err);
        assert_eq!(fake.scratch.read("control"), "{\"v\":1,\"type\":\"control\",\"op\":\"cancel\"}\n");
    }
}

#[test]
fn names_lead_to_programs() {
    let fake = Fake::new("nub-hello", "echo \"hello $*\"; cat; exit 7");
    fake.add("nub-session", "echo \"session $*\"");
    let ran = fake.run(&["hello", "-x", "--help"], "in");
    assert_eq!((ran.code, ran.out.as_str()), (7, "hello -x --help\nin"));
    assert_eq!(fake.run(&["sessions", "-v"], "").out, "session list -v\n");
    fake.add("nub-stream", "echo \"stream $*\"");
    assert_eq!(fake.run(&["models", "--endpoint", "x"], "").out, "stream --list-models --endpoint x\n");
    for (typed, advice) in [
        ("helo", "did you mean 'nub hello'?"),
        ("sesion", "did you mean 'nub session'?"),
        ("../nub-hello", "nub -p PROMPT"),
        ("fix the bug", "nub -p PROMPT"),
    ] {
        let ran = fake.run(&[typed], "");
        assert!(ran.code == 2 && ran.err.contains(advice), "{typed}: {}", ran.err);
    }
}

#[test]
fn words_without_p_are_an_error() {
    let fake = Fake::saying(RESULT);
    let ran = fake.run(&["-q", "hello"], "");
    assert!(ran.code == 2 && ran.err.contains("nub -p PROMPT"), "{}", ran.err);
    assert_eq!(fake.run(&["--mode", "json"], "").code, 2);
    assert_eq!(fake.run(&["--nonsense"], "").code, 2);
}

#[test]
fn pages_are_part_of_the_program() {
    let scratch = Scratch::new();
    for path in ["/nonexistent", "/usr/bin:/bin"] {
        let mut command = scratch.nub("nub");
        command.env("PATH", path).args(["help", "protocol"]);
        let ran = finish(command, "");
        assert!(ran.code == 0 && ran.out.contains("permission_request"), "{path}: {}{}", ran.out, ran.err);
    }
    for entry in std::fs::read_dir(source().join("man")).unwrap() {
        let page = entry.unwrap().file_name().into_string().unwrap();
        assert_eq!(scratch.run("nub", &["help", &page], "").code, 0, "bins/nub.rs lacks {page}");
    }
    assert!(scratch.run("nub", &["help"], "").out.contains("Print mode"));
    assert_eq!(scratch.run("nub", &["help", "a page"], "").code, 2);
}
