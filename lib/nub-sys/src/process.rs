//! Process trees: everything a program started, directly or not, found and ended. On Linux that
//! includes what left its process group or session, since the program adopts orphans
//! ([`adopt_orphans`]); elsewhere a tree is its process group.

mod list;
mod reaper;

use std::io;
use std::time::{Duration, Instant};

pub use list::{Process, descendants};
pub use reaper::{Deaths, Ended, Reaper, Watched};
use rustix::process::{Pid, Signal};

/// Between two rounds of SIGKILL at the latest.
const ROUND: Duration = Duration::from_millis(10);
/// A process that SIGKILL does not end within this time hangs in the kernel and is given up.
const HOPELESS: Duration = Duration::from_secs(2);

/// Makes this program the parent of every descendant whose own parent ends, so that none gets away.
///
/// # Errors
/// The kernel refuses.
pub fn adopt_orphans() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok(())
}

/// Whether this program has no child at all, not even one that waits to be reaped. Since orphans are
/// adopted, it then has no descendant either.
#[must_use]
pub fn is_childless() -> bool {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(waitid(WaitId::All, look), Err(rustix::io::Errno::CHILD))
}

/// Ends every descendant but those in `spared` and what these started: SIGTERM, after `grace` SIGKILL,
/// again and again until none is left. `group` is the process group of what was started.
/// Returns whether none is left; zombies do not count, reap them.
pub fn end(group: Option<u32>, spared: &[Process], grace: Duration) -> bool {
    if is_childless() {
        return true;
    }
    let family = list::own_groups();
    let signal = |group: Option<u32>, found: &[Process], signal| {
        let mut groups: Vec<u32> = group.into_iter().chain(found.iter().map(|p| p.group)).collect();
        groups.retain(|group| !family.contains(group));
        send(groups, found, signal);
    };
    let found = descendants(spared);
    signal(group, &found, Signal::TERM);
    // once its leader is reaped the number of a group may be another's
    let group = group.filter(|_| !cfg!(target_os = "linux"));
    gone(&found, grace);
    let give_up = Instant::now() + HOPELESS;
    let mut quiet = 0;
    while !is_childless() {
        let found = descendants(spared);
        // one look can miss what is handed from a dying parent to this program
        quiet = if found.is_empty() { quiet + 1 } else { 0 };
        if quiet == 2 {
            return true;
        }
        if Instant::now() > give_up {
            return false;
        }
        signal(group, &found, Signal::KILL);
        gone(&found, ROUND);
    }
    true
}

/// Ends every descendant, as the last thing a program does, and reaps them: whoever adopts zombies may not.
pub fn end_all(grace: Duration) -> bool {
    let is_done = end(None, &[], grace);
    while let Ok(Some(_)) = rustix::process::wait(rustix::process::WaitOptions::NOHANG) {}
    is_done
}

/// Kills and reaps every descendant but the process groups `spared` and what these started.
pub fn end_orphans(spared: &[u32]) {
    let (spared, orphans): (Vec<_>, Vec<_>) =
        descendants(&[]).into_iter().partition(|process| spared.contains(&process.group));
    end(None, &spared, Duration::ZERO);
    for orphan in orphans.iter().filter_map(|process| pid(process.pid)) {
        // what is below one that is spared is no child of ours
        let _ = rustix::process::waitpid(Some(orphan), rustix::process::WaitOptions::NOHANG);
    }
}

/// Signals whole groups first: a group cannot outrun its signal by forking, a single process can.
fn send(mut groups: Vec<u32>, found: &[Process], signal: Signal) {
    groups.sort_unstable();
    groups.dedup();
    // what has ended by itself needs no signal
    for group in groups.into_iter().filter_map(pid) {
        rustix::process::kill_process_group(group, signal).ok();
    }
    for process in found.iter().filter_map(|process| pid(process.pid)) {
        rustix::process::kill_process(process, signal).ok();
    }
}

fn pid(raw: u32) -> Option<Pid> {
    i32::try_from(raw).ok().and_then(Pid::from_raw)
}

/// Waits until every one of these has ended, or for `limit`.
#[cfg(target_os = "linux")]
fn gone(found: &[Process], limit: Duration) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    /// So many are waited for at once: each costs a file descriptor.
    const WATCHED: usize = 64;
    let until = Instant::now() + limit;
    let open = |process: &Process| {
        rustix::process::pidfd_open(pid(process.pid)?, rustix::process::PidfdFlags::empty()).ok()
    };
    let handles: Vec<_> = found.iter().take(WATCHED).filter_map(open).collect();
    let mut waiting: Vec<PollFd> = handles.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
    while !waiting.is_empty() {
        let left = until.saturating_duration_since(Instant::now());
        let Ok(left) = Timespec::try_from(left) else { return };
        match poll(&mut waiting, Some(&left)) {
            Ok(0) => return,
            Ok(_) => waiting.retain(|fd| fd.revents().is_empty()),
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

/// There is nothing to wait on here: a short pause between two rounds.
#[cfg(not(target_os = "linux"))]
fn gone(_found: &[Process], limit: Duration) {
    std::thread::sleep(limit.min(ROUND));
}
