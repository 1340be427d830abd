//! What sessions cost: a path out of a large file, an append that is on the disk, a list of many.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::process::{Command, Stdio};
use std::time::Instant;

use rustix::fs::fdatasync;

use crate::line;
use crate::run::{Folder, median, ms, wall};

/// Nodes of the large file.
const NODES: u32 = 100_000;
/// Bytes of each.
const NODE: usize = 5_000;
/// Messages that are appended one by one.
const APPENDS: usize = 100;
/// Sessions that are listed.
const SESSIONS: u32 = 1_000;

/// All three, in a repository of their own.
pub fn sessions(folder: &Folder) {
    path(folder);
    append(folder);
    list(folder);
}

fn node(at: u32, parent: &str, bytes: usize) -> (String, String) {
    let id = format!("01{at:024}");
    let text = "it is \\\"said\\\"\\n".repeat(bytes / 15);
    let role = if at.is_multiple_of(2) { "user" } else { "assistant" };
    let line = format!(
        r#"{{"v":1,"type":"node","id":"{id}","parent":"{parent}","kind":"message","message":{{"role":"{role}","content":[{{"kind":"text","text":"{text}"}}]}},"meta":{{"created_at":"2026-01-01T00:00:00Z"}}}}"#
    );
    (id, line)
}

fn path(folder: &Folder) {
    let file = folder.path.join("large.jsonl");
    let mut output = BufWriter::new(File::create(&file).unwrap());
    let mut parent = String::new();
    for at in 0..NODES {
        let (id, line) = node(at, &parent, NODE);
        writeln!(output, "{line}").unwrap();
        parent = id;
    }
    output.into_inner().unwrap().sync_all().unwrap();
    let (mut here, mut reference) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        here.push(wall(folder.nub("nub-session").args(["path", "-s"]).arg(&file)));
        reference.push(wall(Command::new("wc").arg("-l").arg(&file)));
    }
    let size = file.metadata().unwrap().len() >> 20;
    fs::remove_file(file).unwrap();
    line(
        &format!("path of {NODES} nodes, {size} MiB / wc -l"),
        ms(median(&mut here)),
        ms(median(&mut reference)),
        "ms",
        3.0,
    );
}

fn append(folder: &Folder) {
    let mut child = folder
        .nub("nub-session")
        .args(["append", "--new"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut bare = File::create(folder.path.join("bare.jsonl")).unwrap();
    let text = "x".repeat(2_000);
    let said = format!(
        "{{\"v\":1,\"type\":\"message\",\"message\":{{\"role\":\"user\",\"content\":[{{\"kind\":\"text\",\"text\":\"{text}\"}}]}}}}\n"
    );
    let (mut here, mut reference) = (Vec::new(), Vec::new());
    let mut answer = String::new();
    for _ in 0..APPENDS {
        let begin = Instant::now();
        input.write_all(said.as_bytes()).unwrap();
        output.read_line(&mut answer).unwrap();
        here.push(begin.elapsed());
        let begin = Instant::now();
        bare.write_all(said.as_bytes()).unwrap();
        fdatasync(&bare).unwrap();
        reference.push(begin.elapsed());
    }
    drop(input);
    assert!(child.wait().unwrap().success());
    line(
        "append of 2 kB / write and fdatasync",
        ms(median(&mut here)),
        ms(median(&mut reference)),
        "ms",
        3.0,
    );
}

fn list(folder: &Folder) {
    let sessions = folder.path.join(".nub/sessions");
    for at in 0..SESSIONS {
        let (mut lines, mut parent) = (String::new(), String::new());
        for n in 0..10 {
            let (id, line) = node(n, &parent, 500);
            lines.push_str(&(line + "\n"));
            parent = id;
        }
        fs::write(sessions.join(format!("00{at:024}.jsonl")), lines).unwrap();
    }
    let run = || wall(folder.nub("nub-session").arg("list"));
    run();
    let mut here: Vec<_> = (0..10).map(|_| run()).collect();
    line(&format!("list of {SESSIONS} sessions / 20 ms"), ms(median(&mut here)), 20.0, "ms", 1.0);
}
