//! Tests of how nub ends: by a signal, a closed stdout, a kill, and with nothing left behind.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;

use crate::cli_fake::{Fake, RESULT, TURN};

#[test]
fn a_closed_stdout_ends_quietly_and_leaves_nothing_behind() {
    let endless = "read -r a; echo $$ > pid; while :; do cat records || exit 0; done";
    let fake = Fake::new("nub-loop", endless);
    fake.scratch.file(
        "records",
        TURN.lines().filter(|l| l.contains("block_")).map(|l| format!("{l}\n")).collect::<String>(),
    );
    for mode in ["text", "json"] {
        let mut child = fake
            .nub(&["-p", "--mode", mode, "x"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut reader = BufReader::new(child.stdout.take().unwrap());
        reader.read_line(&mut String::new()).unwrap();
        drop(reader);
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""));
        gone(&fake.scratch.read("pid"));
    }
}

/// A process that was waited for leaves no trace; ours are waited for by nub.
fn gone(pid: &str) {
    assert!(!Path::new("/proc").join(pid.trim()).exists(), "process {pid} is still there");
}

struct Started {
    child: Child,
    out: BufReader<std::process::ChildStdout>,
}

fn start(mut command: Command) -> Started {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    Started { child, out }
}

impl Started {
    fn signal(&self, signal: Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        line
    }
}

const DELTA: &str = r#"{"v":1,"type":"block_start","index":0,"block":{"kind":"text"}}
{"v":1,"type":"block_delta","index":0,"text":"working\n"}"#;

#[test]
fn a_signal_cancels_and_gives_3() {
    let cancelled = RESULT.replace("\"exit\":0", "\"exit\":3").replace("end_turn", "cancelled");
    let script = format!(
        "echo $$ > pid; read -r a; printf '%s\\n' '{DELTA}'; read -r b; printf '%s\\n' \"$b\" > control; printf '%s\\n' '{cancelled}'; cat"
    );
    let fake = Fake::new("nub-loop", &script);
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let mut nub = start(fake.nub(&["-p", "x"]));
        assert_eq!(nub.line(), "working\n");
        nub.signal(signal);
        assert_eq!(nub.child.wait().unwrap().code(), Some(3));
        assert_eq!(fake.scratch.read("control"), "{\"v\":1,\"type\":\"control\",\"op\":\"cancel\"}\n");
        gone(&fake.scratch.read("pid"));
    }
}

#[test]
fn a_second_signal_kills_a_deaf_loop() {
    let fake = Fake::new(
        "nub-loop",
        &format!(
            "trap '' INT TERM HUP; echo $$ > pid; printf '%s\\n' '{DELTA}'; while :; do sleep 100; done"
        ),
    );
    let mut nub = start(fake.nub(&["-p", "x"]));
    assert_eq!(nub.line(), "working\n");
    nub.signal(Signal::INT);
    nub.signal(Signal::INT);
    assert_eq!(nub.child.wait().unwrap().code(), Some(3));
}

#[test]
fn a_loop_sees_its_input_end_when_nub_is_killed() {
    let script = format!(
        "printf '%s\\n' '{DELTA}'; read -r a; cat > /dev/null; echo \"$NUB_COPROCESS\" > flag; echo over > over"
    );
    let fake = Fake::new("nub-loop", &script);
    let fifo = fake.scratch.work().join("over");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
        .unwrap();
    let mut nub = start(fake.nub(&["-p", "x"]));
    assert_eq!(nub.line(), "working\n");
    nub.child.kill().unwrap();
    nub.child.wait().unwrap();
    assert_eq!(fs::read_to_string(&fifo).unwrap(), "over\n");
    assert_eq!(fake.scratch.read("flag"), "1\n");
}

#[test]
fn a_blocked_reader_does_not_outlive_a_signal() {
    let fake = Fake::new("nub-loop", "read -r a; echo $$ > pid; exec yes \"$(cat records)\"");
    fake.scratch.file("records", DELTA.replace("working\\n", &"x".repeat(2000)));
    let mut nub = start(fake.nub(&["-p", "x"]));
    let mut some = [0; 4096];
    nub.out.read_exact(&mut some).unwrap();
    nub.signal(Signal::TERM);
    nub.signal(Signal::TERM);
    assert_eq!(nub.child.wait().unwrap().code(), Some(3));
}
