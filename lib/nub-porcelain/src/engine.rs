//! nub-loop as a child: how it is started, spoken to and ended.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command as Process, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nub_proto::{Control, Record, Writer};
use nub_sys::{Fail, sibling, signal};

use crate::args::Command;

/// The program.
pub(crate) const LOOP: &str = "nub-loop";

/// Changes to its environment: values, and names to take away.
pub(crate) type Changes = [(OsString, Option<OsString>)];

/// What every holder may do with a running nub-loop.
#[derive(Clone)]
pub(crate) struct Engine {
    input: Arc<Mutex<Option<Writer<ChildStdin>>>>,
    pid: u32,
}

/// What its one owner has of it.
pub(crate) struct Running {
    pub engine: Engine,
    child: Child,
}

impl Engine {
    /// Starts nub-loop in a process group of its own: the terminal's signals come to nub alone, and
    /// nub tells it.
    ///
    /// # Errors
    /// It is nowhere, or cannot be started.
    pub(crate) fn start(command: &Command, changes: &Changes) -> Result<(Running, ChildStdout), Fail> {
        let path = sibling::find(LOOP).ok_or_else(|| {
            Fail::failure(format!("cannot find '{LOOP}'"))
                .advice("it belongs beside nub; NUB_EXEC_PATH names another folder")
        })?;
        let mut process = Process::new(&path);
        process.args(&command.args).process_group(0).env("NUB_COPROCESS", "1");
        if let Some(session) = &command.session {
            process.arg("--session").arg(session);
        }
        for (name, value) in changes {
            match value {
                Some(value) => process.env(name, value),
                None => process.env_remove(name),
            };
        }
        let cannot = |e: &io::Error| Fail::failure(format!("cannot start '{}': {e}", path.display()));
        let mut child =
            process.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(|e| cannot(&e))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(cannot(&io::Error::other("no pipes")));
        };
        let engine = Engine { input: Arc::new(Mutex::new(Some(Writer::new(input)))), pid: child.id() };
        Ok((Running { engine, child }, output))
    }

    /// Gives it a record. One that is gone says so on its stdout, so failures are dropped here.
    pub(crate) fn say<T: Record>(&self, record: &T) {
        if let Some(writer) = self.input().as_mut() {
            drop(writer.write(record).and_then(|()| writer.flush()));
        }
    }

    /// Ends the work in hand.
    pub(crate) fn cancel(&self) {
        self.say(&Control::Cancel);
    }

    /// Ends it: with its input closed it stops what it does and ends.
    pub(crate) fn close(&self) {
        *self.input() = None;
    }

    /// Ends it the hard way. Its stages see their input end and follow.
    pub(crate) fn kill(&self) {
        signal::kill_group(self.pid);
    }

    fn input(&self) -> MutexGuard<'_, Option<Writer<ChildStdin>>> {
        self.input.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Running {
    /// Closes its input and waits for its end.
    ///
    /// # Errors
    /// The system does not say how it ended.
    pub(crate) fn finish(mut self) -> Result<ExitStatus, Fail> {
        self.engine.close();
        self.child.wait().map_err(|e| Fail::failure(format!("cannot wait for {LOOP}: {e}")))
    }
}
