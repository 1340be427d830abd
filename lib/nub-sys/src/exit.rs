//! The exit codes, the same for every program.

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// It did what it was asked.
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

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> std::process::ExitCode {
        std::process::ExitCode::from(exit as u8)
    }
}
