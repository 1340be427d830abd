//! Timing of processes, their CPU and the memory of their tree.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs};

/// Bytes of a page of memory.
const PAGE: u64 = 4096;

pub fn bin_folder() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_nub")).parent().unwrap()
}

pub fn program(name: &str) -> Command {
    let mut command = Command::new(bin_folder().join(name));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

pub fn wall(command: &mut Command) -> Duration {
    let begin = Instant::now();
    assert!(command.stdout(Stdio::null()).status().unwrap().success());
    begin.elapsed()
}

pub fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}

pub fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// A repository with a home whose only endpoint is the mock.
pub struct Folder {
    pub path: PathBuf,
}

impl Folder {
    pub fn new(url: &str) -> Folder {
        let path = env::temp_dir().join(format!(
            "nub-bench-{}-{}",
            std::process::id(),
            url.rsplit(':').next().unwrap().replace('/', "")
        ));
        fs::create_dir_all(path.join("config/nub")).unwrap();
        fs::create_dir_all(path.join(".git")).unwrap();
        let text = format!(
            "version = 1\n[model]\ndefault = \"m\"\nendpoint = \"mock\"\n[[endpoint]]\nname = \"mock\"\nbase_url = \"{url}\"\napi_key = \"none\"\n"
        );
        fs::write(path.join("config/nub/config.toml"), text).unwrap();
        Folder { path }
    }

    fn surround(&self, command: &mut Command) {
        command
            .current_dir(&self.path)
            .env("HOME", &self.path)
            .env("XDG_CONFIG_HOME", self.path.join("config"));
        command.env("XDG_STATE_HOME", self.path.join("state"));
    }

    pub fn nub(&self, name: &str) -> Command {
        let mut command = program(name);
        self.surround(&mut command);
        command
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.path));
    }
}

/// User and system time of a shell line's children, as `times` tells.
pub fn cpu(folder: &Folder, line: &str) -> Duration {
    let mut shell = Command::new("bash");
    folder.surround(&mut shell);
    let path = format!("{}:{}", bin_folder().display(), env::var("PATH").unwrap());
    let output = shell.env("PATH", path).args(["-c", &format!("{line}; times")]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let children = text.lines().nth(1).unwrap();
    let seconds = children.split_whitespace().map(|word| {
        let (minutes, rest) = word.trim_end_matches('s').split_once('m').unwrap();
        minutes.parse::<f64>().unwrap() * 60.0 + rest.parse::<f64>().unwrap()
    });
    Duration::from_secs_f64(seconds.sum())
}

/// The largest sum of resident memory that a process and its descendants had, in bytes.
pub fn peak_memory(root: u32, mut over: impl FnMut() -> bool) -> u64 {
    let mut peak = 0;
    while !over() {
        peak = peak.max(memory(root));
        std::thread::sleep(Duration::from_millis(2));
    }
    peak
}

fn memory(pid: u32) -> u64 {
    let own = fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
    let pages: u64 = own.split_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    let mut sum = pages * PAGE;
    for task in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
        let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        sum += children.split_whitespace().filter_map(|word| word.parse().ok()).map(memory).sum::<u64>();
    }
    sum
}
