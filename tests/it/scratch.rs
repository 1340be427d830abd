//! A fresh folder with a home of its own, and how the programs are run in it.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, thread};

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A folder that is removed when the test is over: `work` to work in, `home` as the user's home.
pub struct Scratch {
    base: PathBuf,
}

impl Scratch {
    pub fn new() -> Scratch {
        let name = format!("nub-it-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let base = env::temp_dir().canonicalize().unwrap().join(name);
        // an earlier process with this id may have been killed
        drop(fs::remove_dir_all(&base));
        fs::create_dir_all(base.join("work")).unwrap();
        fs::create_dir_all(base.join("home/config/nub")).unwrap();
        Scratch { base }
    }

    /// With a git repository in `work`.
    pub fn repo() -> Scratch {
        let scratch = Scratch::new();
        assert!(scratch.command("git").args(["init", "-q", "-b", "main"]).status().unwrap().success());
        scratch
    }

    pub fn work(&self) -> PathBuf {
        self.base.join("work")
    }

    pub fn home(&self) -> PathBuf {
        self.base.join("home")
    }

    /// Writes a file below `work`, parents included.
    pub fn file(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.work().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.work().join(name)).unwrap()
    }

    /// Writes the user's config.toml.
    pub fn config(&self, text: &str) {
        fs::write(self.home().join("config/nub/config.toml"), text).unwrap();
    }

    /// A configuration with one endpoint, `mock`, at this address.
    pub fn endpoint(&self, base_url: &str, more: &str) {
        self.config(&format!(
            "version = 1\n[model]\ndefault = \"m-1\"\nendpoint = \"mock\"\n[[endpoint]]\nname = \"mock\"\nbase_url = \"{base_url}\"\napi_key = \"none\"\n{more}\n"
        ));
    }

    /// A program in `work` with a clean environment.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        let home = self.home();
        command.current_dir(self.work()).env_clear().stdin(Stdio::null());
        command.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", bin_folder().display()));
        command.env("HOME", &home).env("TERM", "dumb").env("LANG", "C.UTF-8");
        command.env("XDG_CONFIG_HOME", home.join("config"));
        command.env("XDG_STATE_HOME", home.join("state"));
        command.env("XDG_CACHE_HOME", home.join("cache"));
        command.env("GIT_CONFIG_NOSYSTEM", "1");
        command
    }

    /// One of the house's programs, such as `nub-tool`.
    pub fn nub(&self, program: &str) -> Command {
        self.command(bin_folder().join(program))
    }

    /// Runs a program of the house to its end.
    pub fn run<I: AsRef<OsStr>>(&self, program: &str, args: &[I], input: impl AsRef<[u8]>) -> Ran {
        let mut command = self.nub(program);
        command.args(args);
        finish(command, input)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !thread::panicking() {
            drop(fs::remove_dir_all(&self.base));
        }
    }
}

/// How a program ended and what it said.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    /// The records on stdout.
    pub fn records(&self) -> Vec<serde_json::Value> {
        self.out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
            .collect()
    }

    /// The records of one type.
    pub fn of(&self, kind: &str) -> Vec<serde_json::Value> {
        self.records().into_iter().filter(|record| record["type"] == kind).collect()
    }
}

/// Feeds a command its input from a thread of its own and collects what it says.
pub fn finish(mut command: Command, input: impl AsRef<[u8]>) -> Ran {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.as_ref().to_vec();
    let feeder = thread::spawn(move || drop(stdin.write_all(&input)));
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    Ran {
        code: std::os::unix::process::ExitStatusExt::signal(&status)
            .map_or_else(|| status.code().unwrap(), |s| 128 + s),
        out: String::from_utf8(stdout).unwrap(),
        err: String::from_utf8_lossy(&stderr).into_owned(),
    }
}

/// Where the built programs are.
pub fn bin_folder() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_nub")).parent().unwrap()
}

/// The root of the source tree.
pub fn source() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
