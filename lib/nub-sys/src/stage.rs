//! Stages: programs that are started from a command line, fed lines, and ended for certain.

use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};
use std::{env, io::Write};

use crate::{Fail, sibling, signal};

/// A running stage, in a process group of its own.
#[derive(Debug)]
pub struct Stage {
    child: Child,
    input: Option<Sender<Vec<u8>>>,
}

/// The command of a stage. A plain command line names a sibling or a path; anything else (a pipeline,
/// quotes, variables) is for the shell, with our own folders in front of PATH and the arguments given to
/// its last command.
///
/// # Errors
/// The program is nowhere.
pub fn command(line: &str, args: &[&str]) -> Result<Command, Fail> {
    let is_plain = |c: char| c.is_alphanumeric() || " -_./:,+@".contains(c);
    if !line.chars().all(is_plain) {
        let mut command = Command::new("/bin/sh");
        // without arguments the line may end in anything, such as a brace
        let line = if args.is_empty() { line.to_owned() } else { format!("{line} \"$@\"") };
        command.args(["-c", &line, "sh"]).args(args);
        command.env("PATH", env::join_paths(sibling::folders()).unwrap_or_default());
        return Ok(command);
    }
    let mut words = line.split_whitespace();
    let name = words.next().unwrap_or_default();
    let path = if name.contains('/') { Some(name.into()) } else { sibling::find(name) };
    let path = path.ok_or_else(|| {
        Fail::usage(format!("cannot find the program '{name}'"))
            .advice("[stages] in the configuration and --stage name the programs of the stages")
    })?;
    let mut command = Command::new(path);
    command.args(words).args(args);
    Ok(command)
}

impl Stage {
    /// Starts a stage and gives its output. A thread writes its input, so that a stage that does not read
    /// holds up nobody.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(mut command: Command) -> Result<(Stage, ChildStdout), Fail> {
        let cannot = |command: &Command, e: &dyn std::fmt::Display| {
            Fail::failure(format!("cannot start '{}': {e}", command.get_program().display()))
        };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut child = command.spawn().map_err(|e| cannot(&command, &e))?;
        let (Some(mut pipe), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(cannot(&command, &"no pipes"));
        };
        let (input, lines) = channel::<Vec<u8>>();
        // a stage that is gone is noticed at its output
        thread::spawn(move || lines.iter().try_for_each(|line| pipe.write_all(&line)));
        Ok((Stage { child, input: Some(input) }, output))
    }

    /// The process, which leads its group.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Gives it whole lines.
    pub fn send(&self, lines: Vec<u8>) {
        if let Some(input) = &self.input {
            // a stage that is gone is noticed at its output
            drop(input.send(lines));
        }
    }

    /// Ends its input, after what was sent.
    pub fn close(&mut self) {
        self.input = None;
    }

    /// Ends its input, waits for its end and kills its group at the deadline. `None`: the system does not
    /// say how it ended.
    pub fn end(&mut self, deadline: Instant) -> Option<ExitStatus> {
        self.close();
        // most are gone at once; those that linger are not asked more often than needed
        let mut nap = Duration::from_micros(50);
        while Instant::now() < deadline {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            thread::sleep(nap);
            nap = (nap * 2).min(Duration::from_millis(5));
        }
        signal::kill_group(self.child.id());
        self.child.wait().ok()
    }
}
