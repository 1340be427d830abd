//! The exit codes, the same for every program.

/// How a program ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// It did what it was asked.
    #[default]
    Success = 0,
    /// A provider, the tools' infrastructure or the agent failed.
    Failure = 1,
    /// Usage, configuration or protocol error.
    Usage = 2,
    /// The user cancelled (SIGINT, SIGTERM, SIGHUP, `cancel`).
    Cancelled = 3,
    /// A limit was reached (turns, budget, repeated call).
    Limit = 4,
}

impl Exit {
    /// How a program ended that gave this code; a code that is none of ours is a failure.
    #[must_use]
    pub fn of_code(code: Option<i32>) -> Exit {
        match code {
            Some(0) => Exit::Success,
            Some(2) => Exit::Usage,
            Some(3) => Exit::Cancelled,
            Some(4) => Exit::Limit,
            Some(_) | None => Exit::Failure,
        }
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> std::process::ExitCode {
        std::process::ExitCode::from(exit as u8)
    }
}
