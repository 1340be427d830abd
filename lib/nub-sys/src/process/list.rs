//! The list of descendants.

/// A process, told from a later one with the same id by its start time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// Its process group.
    pub group: u32,
    /// When it started, in ticks since boot.
    pub started: u64,
    /// Its name, at most 15 bytes.
    pub name: String,
}

/// Every living descendant of this program but those in `spared` and what these started.
#[cfg(target_os = "linux")]
#[must_use]
pub fn descendants(spared: &[Process]) -> Vec<Process> {
    let all = stats();
    let mut parents = vec![std::process::id()];
    let mut found = Vec::new();
    while let Some(parent) = parents.pop() {
        for stat in all.iter().filter(|stat| stat.parent == parent) {
            if !spared.iter().any(|s| (s.pid, s.started) == (stat.process.pid, stat.process.started)) {
                parents.push(stat.process.pid);
                // a zombie has ended, but may still be the parent of others
                found.extend((!stat.has_ended).then(|| stat.process.clone()));
            }
        }
    }
    found
}

/// Without /proc a tree is known by its process group only.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn descendants(_spared: &[Process]) -> Vec<Process> {
    Vec::new()
}

/// The groups of this program and of the one that started it, which are never signalled: a command could
/// have joined them. Read from /proc, since a group outside of a container has the number 0 here, with
/// which rustix panics.
#[cfg(target_os = "linux")]
pub(super) fn own_groups() -> Vec<u32> {
    let Some(own) = stat("self") else { return Vec::new() };
    let parent = stat(&own.parent.to_string());
    [Some(own), parent].into_iter().flatten().map(|stat| stat.process.group).collect()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn own_groups() -> Vec<u32> {
    let own = rustix::process::getpgid(None).ok();
    let parents = rustix::process::getppid().and_then(|parent| rustix::process::getpgid(Some(parent)).ok());
    [own, parents].into_iter().flatten().map(|group| group.as_raw_nonzero().get().unsigned_abs()).collect()
}

#[cfg(target_os = "linux")]
struct Stat {
    process: Process,
    parent: u32,
    has_ended: bool,
}

#[cfg(target_os = "linux")]
fn stats() -> Vec<Stat> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| stat(entry.file_name().to_str()?)).collect()
}

/// Reads `/proc/PID/stat`: `pid (name) state ppid pgrp ...`, where the name may hold anything.
#[cfg(target_os = "linux")]
fn stat(pid: &str) -> Option<Stat> {
    if pid != "self" && !pid.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let bytes = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let (head, tail) = text.rsplit_once(')')?;
    let (number, name) = head.split_once('(')?;
    let fields: Vec<&str> = tail.split_ascii_whitespace().collect();
    Some(Stat {
        has_ended: matches!(*fields.first()?, "Z" | "X" | "x"),
        parent: fields.get(1)?.parse().ok()?,
        process: Process {
            pid: number.trim().parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            started: fields.get(19)?.parse().ok()?,
            name: name.to_owned(),
        },
    })
}
