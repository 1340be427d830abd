//! nub-session and accidents: killed at any byte, a second writer, a full disk, a folder that cannot be
//! written, signals. Nothing acknowledged is ever lost.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::scratch::{Scratch, bin_folder, finish};
use crate::session::{file, message, session, texts};

/// A running `nub-session append`.
struct Append {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Append {
    fn start(mut command: Command) -> Append {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        Append { child, input, output }
    }

    fn of(scratch: &Scratch) -> Append {
        let mut command = scratch.nub("nub-session");
        command.arg("append");
        Append::start(command)
    }

    fn say(&mut self, line: &str) {
        self.input.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
    }

    fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"))
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Exit code and stderr.
    fn end(mut self) -> (Option<i32>, String) {
        drop(self.input.take());
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        let mut err = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        (self.child.wait().unwrap().code(), err)
    }
}

/// A small generator of numbers: the points at which writers are killed, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }

    /// The size of a message: mostly small, now and then so large that a kill tears its one write.
    fn size(&mut self, largest: u64) -> usize {
        let size = if self.below(8) == 0 { (largest / 4) + self.below(largest) } else { self.below(20_000) };
        usize::try_from(size).unwrap()
    }
}

/// A file larger than this, in bytes, is left: each new writer reads it, and a debug build reads slowly.
const SCANNED: usize = 1 << 20;

/// Kills writers of one file again and again. Returns how many torn tails there were.
fn kill_writers(points: u32, largest: u64, seed: u64) -> u32 {
    let mut numbers = Numbers(seed);
    let mut torn = 0;
    let mut left = points;
    while left > 0 {
        let scratch = Scratch::repo();
        let path = scratch.work().join("killed.jsonl");
        let mut good = Vec::new();
        while left > 0 && good.len() < SCANNED {
            torn += u32::from(kill_one(&scratch, &path, &mut good, &mut numbers, largest));
            left -= 1;
        }
    }
    torn
}

/// One writer, killed as soon as its file has grown to a random length.
fn kill_one(scratch: &Scratch, path: &Path, good: &mut Vec<u8>, numbers: &mut Numbers, largest: u64) -> bool {
    let said: String =
        (0..=numbers.below(4)).map(|_| message("user", &"x".repeat(numbers.size(largest)))).collect();
    let point = good.len() as u64 + numbers.below(said.len() as u64 + 400);
    let mut command = scratch.nub("nub-session");
    command.args(["append", "-s"]).arg(path);
    let mut append = Append::start(command);
    let mut input = append.input.take().unwrap();
    let feeder = std::thread::spawn(move || drop(input.write_all(said.as_bytes())));
    let mut output = append.output;
    let reader = std::thread::spawn(move || {
        let mut acknowledged = Vec::new();
        drop(output.read_to_end(&mut acknowledged));
        acknowledged
    });
    while fs::metadata(path).map_or(0, |meta| meta.len()) < point
        && append.child.try_wait().unwrap().is_none()
    {
        std::hint::spin_loop();
    }
    append.child.kill().unwrap();
    append.child.wait().unwrap();
    feeder.join().unwrap();
    let acknowledged = reader.join().unwrap();
    let now = fs::read(path).unwrap_or_default();
    let whole = now.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    assert!(now.starts_with(good), "what was there is untouched");
    let mut new = now[good.len()..whole].split_inclusive(|byte| *byte == b'\n').peekable();
    new.next_if(|line| good.is_empty() && line.starts_with(br#"{"v":1,"type":"session""#));
    let new: Vec<&[u8]> = new.collect();
    let promised: Vec<&[u8]> =
        acknowledged.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n")).collect();
    assert!(new.starts_with(&promised), "{} of {} stored", new.len(), promised.len());
    // those that were acknowledged are what append printed; here it is about the others
    for line in &new[promised.len()..] {
        serde_json::from_slice::<&serde_json::value::RawValue>(line).unwrap();
    }
    if whole < now.len() && whole > 0 {
        let ran = session(scratch, &["path", "-s", path.to_str().unwrap()], "");
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(ran.err.contains("torn line"), "{}", ran.err);
    }
    *good = now[..whole].to_vec();
    whole < now.len()
}

#[test]
fn a_writer_killed_at_any_byte_loses_nothing_it_acknowledged() {
    let torn = kill_writers(200, 512 << 10, 1);
    assert!(torn > 0, "no torn tail was ever made: the test tests nothing");
}

#[test]
#[ignore = "minutes: 10,000 kill points with messages of up to 8 MB"]
fn ten_thousand_kill_points() {
    let torn = kill_writers(10_000, 4 << 20, 7);
    assert!(torn > 100, "{torn} torn tails");
    let mut report = File::create(bin_folder().join("session-kill-points.txt")).unwrap();
    writeln!(report, "10000 kill points, {torn} torn tails, nothing acknowledged was lost").unwrap();
}

#[test]
fn a_second_writer_is_refused_and_readers_are_not() {
    let scratch = Scratch::repo();
    let mut first = Append::of(&scratch);
    first.say(&message("user", "mine"));
    first.answer();
    let began = Instant::now();
    let second = session(&scratch, &["append", "--user", "theirs"], "");
    assert_eq!(second.code, 1);
    assert!(began.elapsed() >= Duration::from_secs(1), "it waits a moment for a writer that is ending");
    assert!(second.err.contains(&format!("in use by process {}", first.child.id())), "{}", second.err);
    assert_eq!(texts(&session(&scratch, &["path"], "")), ["mine"]);
    first.say(&message("user", "still mine"));
    first.answer();
    assert_eq!(first.end(), (Some(0), String::new()));
    assert_eq!(session(&scratch, &["append", "--user", "now"], "").code, 0);
    assert_eq!(texts(&session(&scratch, &["path"], "")), ["mine", "still mine", "now"]);
}

#[test]
fn many_writers_never_interleave() {
    let scratch = Scratch::repo();
    session(&scratch, &["append", "--user", "first"], "");
    let writers: Vec<Append> = (0..12)
        .map(|n| {
            let mut append = Append::of(&scratch);
            let line = |m: usize| message("user", &format!("{n} {m} {}", "y".repeat(m * 9_000)));
            let said: String = (0..5).map(line).collect();
            // one that was refused no longer reads
            drop(append.input.take().unwrap().write_all(said.as_bytes()));
            append
        })
        .collect();
    let stored: usize = writers.into_iter().map(Append::end).filter(|(code, _)| *code == Some(0)).count();
    let ran = session(&scratch, &["path"], "");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let said = texts(&ran);
    assert_eq!(said.len(), 1 + 5 * stored);
    for group in said[1..].chunks(5) {
        let words = |text: &String| text.split(' ').take(2).map(String::from).collect::<Vec<_>>();
        let writer = &words(&group[0])[0];
        assert!(group.iter().enumerate().all(|(m, text)| words(text) == [writer.clone(), m.to_string()]));
    }
    let id = |n: &Value| n["id"].as_str().unwrap().to_owned();
    assert!(ran.of("node").iter().map(id).collect::<Vec<_>>().is_sorted());
}

#[test]
fn a_write_beyond_a_limit_is_taken_back_and_rescued() {
    let scratch = Scratch::repo();
    session(&scratch, &["append"], message("user", &"a".repeat(60_000)));
    let good = fs::read(file(&scratch)).unwrap();
    let mut command = scratch.command("sh");
    command.args(["-c", "ulimit -f 128; exec nub-session append"]);
    let big = message("user", &"z".repeat(20_000));
    let ran = finish(command, [r#"{"v":1,"type":"sync"}"#, "\n", &big].concat());
    assert_eq!(ran.code, 1, "{}", ran.err);
    broken(&scratch, &ran.out, &ran.err, &good, &big);
    assert_eq!(ran.records()[0]["type"], "sync", "what came before passes");
    assert_eq!(session(&scratch, &["append"], &big).code, 0, "it goes on when there is room");
}

/// What must be so after something could not be stored.
fn broken(scratch: &Scratch, out: &str, err: &str, good: &[u8], said: &str) {
    let last: Value = serde_json::from_str(out.lines().last().unwrap()).unwrap();
    assert_eq!((last["type"].as_str(), last["source"].as_str()), (Some("error"), Some("nub-session")));
    assert!(!out.contains(r#""type":"node""#));
    assert_eq!(fs::read(file(scratch)).unwrap(), good, "the file ends where it did");
    let rescued = err.split('\'').find(|word| word.contains("/rescue/")).map(PathBuf::from).unwrap();
    let kept: Value = serde_json::from_str(&fs::read_to_string(rescued).unwrap()).unwrap();
    let said: Value = serde_json::from_str(said).unwrap();
    assert_eq!(kept["message"], said["message"]);
}

#[test]
fn what_goes_into_a_removed_file_is_not_acknowledged() {
    let scratch = Scratch::repo();
    let mut append = Append::of(&scratch);
    append.say(&message("user", "before"));
    append.answer();
    fs::remove_file(file(&scratch)).unwrap();
    append.say(&message("user", "after"));
    assert_eq!(append.answer()["type"], "error");
    let (code, err) = append.end();
    assert_eq!(code, Some(1));
    let rescued = err.split('\'').find(|word| word.contains("/rescue/")).unwrap();
    assert!(fs::read_to_string(rescued).unwrap().contains("after"));
}

/// A shell that may mount, or none where the system does not permit it.
pub fn mounting(scratch: &Scratch, script: &str) -> Option<Command> {
    let mut trial = scratch.command("unshare");
    trial.args(["-Urm", "mount", "-t", "tmpfs", "none", "/mnt"]).stderr(Stdio::null());
    if !trial.status().is_ok_and(|status| status.success()) {
        eprintln!("skipped: unshare -Urm may not mount here");
        return None;
    }
    let mut command = scratch.command("unshare");
    command.args(["-Urm", "sh", "-c", script]);
    Some(command)
}

#[test]
fn a_full_disk_is_told_and_the_session_goes_on_when_there_is_room() {
    let scratch = Scratch::repo();
    fs::create_dir_all(scratch.work().join(".nub")).unwrap();
    let big = message("user", &"z".repeat(90_000));
    fs::write(scratch.work().join("big"), &big).unwrap();
    let script = "mount -t tmpfs -o size=96k,mode=700 none .nub && nub-session append --user before >/dev/null &&
        cp .nub/sessions/* good && dd if=/dev/zero of=.nub/filler bs=1k count=40 2>/dev/null;
        nub-session append <big >out 2>err; echo $? >code
        cp .nub/sessions/* now; rm .nub/filler; nub-session append --user after >/dev/null && nub-session path";
    let Some(command) = mounting(&scratch, script) else { return };
    let ran = finish(command, "");
    assert_eq!(texts(&ran), ["before", "after"], "{}", ran.err);
    assert_eq!(scratch.read("code"), "1\n", "{}", scratch.read("err"));
    assert!(scratch.read("err").contains("No space left"), "{}", scratch.read("err"));
    assert_eq!(scratch.read("good"), scratch.read("now"), "the short write is taken back");
    assert!(scratch.read("out").contains(r#""type":"error","source":"nub-session""#));
    let rescued = scratch.read("err");
    let rescued = rescued.split('\'').find(|word| word.contains("/rescue/")).unwrap();
    assert!(fs::read_to_string(rescued).unwrap().contains("zzz"));
}

#[test]
fn a_folder_that_cannot_be_written_is_a_clear_error() {
    let scratch = Scratch::repo();
    scratch.file(".nub", "a file");
    let said = message("user", "hi");
    let ran = session(&scratch, &["append"], &said);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("/.nub': it is no folder"), "{}", ran.err);
    assert_eq!(ran.records()[0]["type"], "error");
    let rescued = ran.err.split('\'').find(|word| word.contains("/rescue/")).unwrap();
    assert_eq!(fs::read_to_string(rescued).unwrap(), said);
    fs::remove_file(scratch.work().join(".nub")).unwrap();
    session(&scratch, &["append", "--user", "before"], "");
    let script = "mount --bind . . && mount -o remount,bind,ro . && cd \"$PWD\" || exit 9
        nub-session append --user more; echo $? >&2; nub-session append --new --user more; echo $? >&2
        nub-session path";
    let Some(command) = mounting(&scratch, script) else { return };
    let ran = finish(command, "");
    assert_eq!(ran.err.matches("Read-only file system").count(), 2, "{}", ran.err);
    assert_eq!(ran.err.matches("\n1\n").count(), 2, "{}", ran.err);
    assert_eq!(texts(&ran), ["before"], "reading goes on");
}

#[test]
fn a_signal_waits_for_what_is_still_said() {
    let scratch = Scratch::repo();
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let mut append = Append::of(&scratch);
        append.say(&message("user", "before"));
        append.answer();
        append.signal(signal);
        append.say(&message("user", "after"));
        append.answer();
        assert_eq!(append.end().0, Some(3));
    }
    assert_eq!(texts(&session(&scratch, &["path"], "")).len(), 6);
}

#[test]
fn a_signal_ends_it_within_about_a_second_whatever_comes() {
    let scratch = Scratch::repo();
    let mut append = Append::of(&scratch);
    append.say(&message("user", "before"));
    append.answer();
    append.say("{\"v\":1,\"type\":\"mess");
    append.signal(Signal::TERM);
    let began = Instant::now();
    let code = append.child.wait().unwrap().code();
    assert_eq!(code, Some(3));
    assert!(began.elapsed() < Duration::from_millis(1900), "{:?}", began.elapsed());
}

#[test]
fn a_signal_ends_the_others_at_once() {
    let scratch = Scratch::repo();
    session(&scratch, &["append"], message("user", &"w".repeat(500_000)));
    // nobody reads, so it hangs in a write
    let mut command = scratch.nub("nub-session");
    let mut child = command.arg("path").stdout(Stdio::piped()).spawn().unwrap();
    let mut first = [0];
    child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3));
}
