//! What nub-tool started is ended, whatever it did to get away: at a timeout, at a cancel, at the end.

use std::fs;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::live::{Live, control, message, text};
use crate::scratch::Scratch;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A number of seconds that no other test sleeps, and no beginning of such a number.
fn marker() -> String {
    format!("9{}.{:04}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Everything that sleeps so long, and is no zombie.
fn sleepers(marker: &str) -> Vec<String> {
    let wanted = format!("sleep\0{marker}\0");
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.map(|line| String::from_utf8_lossy(&line).into_owned()).filter(|line| *line == wanted).collect()
}

/// A tree that does what it can to get away: 6 sleepers, of which some left the group, the session, or
/// their parent, and one that ignores what can be ignored.
fn tree(marker: &str) -> String {
    format!(
        "sleep {marker} & setsid sleep {marker} & nohup sleep {marker} >/dev/null 2>&1 & disown
         (setsid sh -c 'setsid sleep {marker} & sleep {marker}' >/dev/null 2>&1 &)
         (trap '' TERM INT HUP; sleep {marker}) & echo ready; wait"
    )
}

fn started(live: &mut Live, command: &str, marker: &str, count: usize) {
    live.send(&message(&[("bash", json!({ "command": command }))]));
    live.until("tool_output");
    let begun = Instant::now();
    while sleepers(marker).len() < count {
        assert!(begun.elapsed() < Duration::from_secs(20), "only {} sleepers came", sleepers(marker).len());
    }
}

/// On a machine that is too busy the answer comes first.
fn gone(marker: &str) {
    let begun = Instant::now();
    while !sleepers(marker).is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(2), "{} are left", sleepers(marker).len());
    }
}

#[test]
fn a_tree_that_is_left_alone_does_get_away_from_its_group() {
    let marker = marker();
    let mut naive = Command::new("bash");
    naive.args(["-c", &tree(&marker)]).stdout(Stdio::null());
    std::os::unix::process::CommandExt::process_group(&mut naive, 0);
    let mut child = naive.spawn().unwrap();
    while sleepers(&marker).len() < 6 {}
    let group = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
    child.wait().unwrap();
    assert!(!sleepers(&marker).is_empty(), "the tree of these tests escapes a group kill");
    assert!(
        Command::new("pkill").args(["-KILL", "-f", &format!("sleep {marker}")]).status().unwrap().success()
    );
}

#[test]
fn a_cancel_ends_the_whole_tree() {
    let (scratch, marker) = (Scratch::repo(), marker());
    let mut live = Live::start(&scratch);
    started(&mut live, &tree(&marker), &marker, 6);
    live.send(&control("cancel"));
    let result = live.results().remove(0);
    gone(&marker);
    assert!(text(&result).contains("cancelled by the user"), "{result}");
    assert_eq!(live.end(), 0);
}

#[test]
fn a_timeout_ends_the_tree_of_its_call_and_spares_servers_of_earlier_ones() {
    let (scratch, server, marker) = (Scratch::repo(), marker(), marker());
    let mut live = Live::start(&scratch);
    live.bash(&format!("setsid sleep {server} >/dev/null 2>&1 & sleep {server} &"));
    let command = json!({ "command": tree(&marker), "timeout": 0.7 });
    live.send(&message(&[("bash", command)]));
    let result = live.results().remove(0);
    assert!(text(&result).ends_with("[timed out after 0.7 s; everything it started was ended]"), "{result}");
    gone(&marker);
    assert_eq!(sleepers(&server).len(), 2);
    assert_eq!(live.end(), 0);
    gone(&server);
}

#[test]
fn the_end_of_stdin_ends_a_coprocess_and_its_trees_at_once() {
    let (scratch, marker) = (Scratch::repo(), marker());
    let mut live = Live::start(&scratch);
    live.bash(&format!("sleep {marker} &"));
    started(&mut live, &tree(&marker), &marker, 7);
    let begun = Instant::now();
    assert_eq!(live.end(), 0);
    gone(&marker);
    assert!(begun.elapsed() < Duration::from_millis(1000), "{:?}", begun.elapsed());
}

#[test]
fn without_a_coprocess_the_work_in_hand_is_finished_first() {
    let (scratch, marker) = (Scratch::repo(), marker());
    let command = format!("sleep {marker} & sleep 0.2; echo finished");
    let call = message(&[("bash", json!({ "command": command }))]);
    let ran = scratch.run("nub-tool", &["run"], call.to_string());
    assert!(ran.of("tool_end")[0]["for_model"].as_str().unwrap().starts_with("finished\n"));
    gone(&marker);
}

#[test]
fn a_signal_ends_everything_with_results_and_code_three() {
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::TERM, rustix::process::Signal::HUP]
    {
        let (scratch, marker) = (Scratch::repo(), marker());
        let mut live = Live::start(&scratch);
        started(&mut live, &tree(&marker), &marker, 6);
        let pid = rustix::process::Pid::from_raw(i32::try_from(live.child.id()).unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
        let result = live.results().remove(0);
        assert!(text(&result).contains("cancelled by the user"), "{result}");
        assert_eq!(live.end(), 3);
        gone(&marker);
    }
}

#[test]
fn a_killed_parent_leaves_nothing_behind() {
    let (scratch, marker) = (Scratch::repo(), marker());
    // the parent holds stdin open, as nub-loop does; killing it closes it
    scratch.file("call", format!("{}\n", message(&[("bash", json!({ "command": tree(&marker) }))])));
    let mut parent = scratch.command("bash");
    parent.args(["-c", "coproc nub-tool run; cat call >&${COPROC[1]}; read x; read x <&${COPROC[0]}"]);
    parent.env("NUB_COPROCESS", "1").stdin(Stdio::piped());
    let mut parent = parent.spawn().unwrap();
    while sleepers(&marker).len() < 6 {}
    parent.kill().unwrap();
    parent.wait().unwrap();
    gone(&marker);
}

#[test]
fn a_stuck_reader_does_not_keep_a_signal_from_ending_everything() {
    let (scratch, marker) = (Scratch::repo(), marker());
    let mut live = Live::start(&scratch);
    // nobody reads: stdout fills up
    live.send(&message(&[("bash", json!({ "command": format!("sleep {marker} & yes") }))]));
    while sleepers(&marker).is_empty() {}
    let status = format!("/proc/{}/wchan", live.child.id());
    while !fs::read_to_string(&status).unwrap().contains("pipe_write") {}
    let pid = rustix::process::Pid::from_raw(i32::try_from(live.child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    live.child.wait().unwrap();
    gone(&marker);
}

#[test]
fn nothing_is_left_of_fifty_trees() {
    trees(50);
}

#[test]
#[ignore = "minutes; run with: cargo test --test it -- --ignored trees --nocapture"]
fn nothing_is_left_of_a_thousand_trees() {
    trees(1000);
}

/// Starts and cancels so many trees in one coprocess; looks for survivors, zombies, descriptors and
/// threads.
fn trees(count: usize) {
    let scratch = Scratch::repo();
    let mut live = Live::start(&scratch);
    live.bash("true");
    let before = descriptors(&live);
    let (mut slowest, mut late) = (Duration::ZERO, 0);
    let mut all = Vec::new();
    for _ in 0..count {
        let marker = marker();
        started(&mut live, &tree(&marker), &marker, 6);
        let begun = Instant::now();
        live.send(&control("cancel"));
        live.results();
        slowest = slowest.max(begun.elapsed());
        late += usize::from(!sleepers(&marker).is_empty());
        gone(&marker);
        all.push(marker);
    }
    assert!(all.iter().all(|marker| sleepers(marker).is_empty()));
    live.bash("true");
    assert_eq!(descriptors(&live), before);
    assert_eq!(zombies(live.child.id()), 0);
    assert_eq!(live.end(), 0);
    let mut stderr = std::io::stderr();
    let line = format!(
        "{count} trees of 6 cancelled, 0 left, {late} were still ending when the answer came, slowest answer {slowest:?}\n"
    );
    std::io::Write::write_all(&mut stderr, line.as_bytes()).unwrap();
}

/// Open descriptors, counted when no call's thread is left: main, signals and ender stay.
fn descriptors(live: &Live) -> usize {
    let count = |name| fs::read_dir(format!("/proc/{}/{name}", live.child.id())).unwrap().count();
    let begun = Instant::now();
    while count("task") != 3 {
        assert!(begun.elapsed() < Duration::from_secs(10), "{} threads", count("task"));
    }
    count("fd")
}

fn zombies(parent: u32) -> usize {
    let stats = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| {
        let text = fs::read_to_string(entry.path().join("stat")).ok()?;
        Some(text.rsplit_once(')')?.1.to_owned())
    });
    stats.filter(|stat| stat.starts_with(&format!(" Z {parent} "))).count()
}

#[test]
fn many_short_commands_leave_no_zombie_and_no_descriptor() {
    let scratch = Scratch::repo();
    let mut live = Live::start(&scratch);
    live.bash("true");
    let before = descriptors(&live);
    for _ in 0..200 {
        live.bash("(true &) ; true");
    }
    let calls: Vec<(&str, Value)> = (0..50).map(|_| ("bash", json!({ "command": "true" }))).collect();
    live.send(&message(&calls));
    assert_eq!(live.results().len(), 50);
    assert_eq!(descriptors(&live), before);
    assert_eq!(zombies(live.child.id()), 0);
}

#[test]
#[ignore = "a measurement; run with: NUB_TOOL=... cargo test --test it -- --ignored trivial --nocapture"]
fn trivial_calls_cost_little_on_top_of_fork_and_exec() {
    let scratch = Scratch::repo();
    // a release build elsewhere can be measured by its path
    let mut command = scratch.command(std::env::var_os("NUB_TOOL").unwrap_or_else(|| "nub-tool".into()));
    command.arg("run");
    let mut live = Live::of(command);
    let (mut through, mut alone) = (Vec::new(), Vec::new());
    let line = format!("{}\n", message(&[("bash", json!({ "command": "true" }))]));
    for _ in 0..1000 {
        let begun = Instant::now();
        live.round(&line);
        through.push(begun.elapsed());
        let begun = Instant::now();
        let mut shell = scratch.command("/bin/bash");
        assert!(shell.args(["-c", "true"]).status().unwrap().success());
        alone.push(begun.elapsed());
    }
    through.sort();
    alone.sort();
    let mut text = String::new();
    for (name, at) in [("fastest", 0), ("quarter", 250), ("median", 500)] {
        let more = through[at].saturating_sub(alone[at]);
        text +=
            &format!("{name}: {:?} through nub-tool, {:?} alone, {more:?} more\n", through[at], alone[at]);
    }
    std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes()).unwrap();
}
