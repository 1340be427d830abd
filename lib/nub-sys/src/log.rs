//! The log: JSON lines in a file of the state folder, never on stdout. One `write` a line with
//! O_APPEND, so programs that run at once do not mix. Callers never hand it a key.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde::Serialize;

/// A log file larger than this, in bytes, is set aside as `nub.log.1` before the next start writes.
const ROTATE: u64 = 8 << 20;

/// How much is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing.
    Off,
    /// What ended work.
    Error,
    /// What the user should know.
    Warn,
    /// What happened.
    Info,
    /// What helps to find a fault.
    Debug,
}

impl Level {
    /// Reads `off`, `error`, `warn`, `info` or `debug`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Level> {
        Some(match word {
            "off" => Level::Off,
            "error" => Level::Error,
            "warn" => Level::Warn,
            "info" => Level::Info,
            "debug" => Level::Debug,
            _ => return None,
        })
    }

    fn word(self) -> &'static str {
        match self {
            Level::Off => "off",
            Level::Error => "error",
            Level::Warn => "warn",
            Level::Info => "info",
            Level::Debug => "debug",
        }
    }
}

struct Log {
    program: &'static str,
    level: Level,
    folder: PathBuf,
    file: OnceLock<Option<File>>,
}

static LOG: OnceLock<Log> = OnceLock::new();

/// Says where to log and how much. The file is made by the first line that is logged.
pub fn start(program: &'static str, folder: PathBuf, level: Level) {
    // a second start in one process changes nothing
    drop(LOG.set(Log { program, level, folder, file: OnceLock::new() }));
}

/// The same, as much as `$NUB_LOG` says: warnings where it says nothing.
pub fn start_as_told(program: &'static str, folder: PathBuf) {
    let level = std::env::var("NUB_LOG").ok().and_then(|word| Level::parse(&word));
    start(program, folder, level.unwrap_or(Level::Warn));
}

/// Whether a line of this level would be written.
#[must_use]
pub fn enabled(level: Level) -> bool {
    LOG.get().is_some_and(|log| level <= log.level)
}

#[derive(Serialize)]
struct Entry<'a> {
    time: String,
    level: &'static str,
    program: &'static str,
    pid: u32,
    message: &'a str,
}

/// Logs one line. A log that cannot be written is no reason to fail.
pub fn write(level: Level, message: &str) {
    let Some(log) = LOG.get().filter(|log| level <= log.level) else { return };
    let Some(mut file) = log.file.get_or_init(|| open(&log.folder).ok()).as_ref() else { return };
    let entry = Entry {
        time: crate::clock::now(),
        level: level.word(),
        program: log.program,
        pid: std::process::id(),
        message,
    };
    if let Ok(mut line) = serde_json::to_vec(&entry) {
        line.push(b'\n');
        drop(file.write_all(&line));
    }
}

fn open(folder: &Path) -> std::io::Result<File> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let path = folder.join("nub.log");
    if path.metadata().is_ok_and(|meta| meta.len() > ROTATE) {
        fs::rename(&path, folder.join("nub.log.1"))?;
    }
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}
