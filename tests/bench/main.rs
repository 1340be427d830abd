//! `cargo bench`: what the programs cost, as ratios to a reference measured in the same run.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

mod mock; // a model server that keeps the times of what it sees
mod run; // timing of processes, their CPU and the memory of their tree
mod session; // a path out of a large file, an append, a list of many

use std::fs;
use std::time::Duration;

use mock::Mock;
use run::{Folder, cpu, median, ms, peak_memory, program, wall};

/// Start-ups that are timed for each program.
const STARTS: usize = 60;
/// Prompts from start to request.
const PROMPTS: usize = 30;
/// Turns of the long run.
const TURNS: usize = 50;
/// Chunks of the long answer.
const CHUNKS: usize = 200_000;

fn main() {
    // `cargo test --benches` only asks whether this builds
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    println!("{:<44} {:>10} {:>10} {:>7} {:>6}", "what", "here", "reference", "ratio", "goal");
    start_up();
    first_request();
    turns();
    stream();
    session::sessions(&Folder::new("http://127.0.0.1:9/v1"));
}

fn line(what: &str, here: f64, reference: f64, unit: &str, goal: f64) {
    println!("{what:<44} {here:>7.2} {unit} {reference:>7.2} {unit} {:>6.2}x {goal:>5.1}x", here / reference);
}

fn start_up() {
    for name in ["nub", "nub-ctx", "nub-stream", "nub-tool", "nub-session", "nub-loop"] {
        let mut here = Vec::new();
        let mut reference = Vec::new();
        for _ in 0..STARTS {
            here.push(wall(program(name).arg("--version")));
            reference.push(wall(&mut std::process::Command::new("/bin/true")));
        }
        line(
            &format!("{name} --version / true"),
            ms(median(&mut here)),
            ms(median(&mut reference)),
            "ms",
            2.0,
        );
    }
}

fn first_request() {
    let mock = Mock::start(|_| mock::text("hello"));
    let folder = Folder::new(&mock.url);
    let mut here = Vec::new();
    let mut reference = Vec::new();
    for _ in 0..PROMPTS {
        here.push(mock.time_to_request(folder.nub("nub").args(["-p", "hi"])));
        let mut curl = std::process::Command::new("curl");
        curl.args(["-s", "-o", "/dev/null", "-d", "{}", &format!("{}/chat/completions", mock.url)]);
        reference.push(mock.time_to_request(&mut curl));
    }
    line("nub -p: start to request / curl", ms(median(&mut here)), ms(median(&mut reference)), "ms", 2.0);
}

fn turns() {
    let mock = Mock::start(|turn| if turn < TURNS { mock::bash(turn) } else { mock::text("done") });
    let folder = Folder::new(&mock.url);
    let mut child =
        folder.nub("nub").args(["-p", "go"]).env("NUB_LIMITS__MAX_TURNS", "1000").spawn().unwrap();
    let memory = peak_memory(child.id(), || child.try_wait().unwrap().is_some());
    let mut gaps = mock.gaps();
    assert_eq!(gaps.len(), TURNS, "the run ended early");
    let mut shell: Vec<Duration> =
        (0..TURNS).map(|_| wall(std::process::Command::new("sh").args(["-c", "true"]))).collect();
    line("a turn with one bash call / sh -c true", ms(median(&mut gaps)), ms(median(&mut shell)), "ms", 2.5);
    println!(
        "{:<44} {:>7.1} MB {:>20} {:>6}",
        "memory of the whole tree, peak",
        memory as f64 / 1e6,
        "",
        "30 MB"
    );
}

fn stream() {
    let mock = Mock::start(|_| mock::long(CHUNKS));
    let folder = Folder::new(&mock.url);
    let request = folder.path.join("request.ndjson");
    let body =
        r#"{"v":1,"type":"request","messages":[{"role":"user","content":[{"kind":"text","text":"hi"}]}]}"#;
    fs::write(&request, format!("{body}\n")).unwrap();
    let here = cpu(&folder, &format!("nub-stream <'{}' >/dev/null", request.display()));
    let reference = cpu(&folder, &format!("curl -sN -d '{{}}' {}/chat/completions >/dev/null", mock.url));
    line(&format!("{CHUNKS} chunks, CPU / curl"), ms(here), ms(reference), "ms", 3.0);
}
