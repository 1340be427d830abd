//! Command lines: clap's answers in the house's form.

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::error::ErrorKind;

use crate::Exit;

/// Parses the program's own command line.
///
/// # Errors
/// The code to end with, after help, version or a usage error was printed.
pub fn parse<A: clap::Parser>(name: &str) -> Result<A, ExitCode> {
    A::try_parse().map_err(|e| tell(name, &e))
}

/// Parses a command line that a program made up, without the program's name.
///
/// # Errors
/// As [`parse`].
pub fn parse_from<A: clap::Parser>(name: &str, words: Vec<OsString>) -> Result<A, ExitCode> {
    A::try_parse_from(std::iter::once(name.into()).chain(words)).map_err(|e| tell(name, &e))
}

fn tell(name: &str, e: &clap::Error) -> ExitCode {
    if matches!(e.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        // a reader that went away has seen enough
        drop(e.print());
        return Exit::Success.into();
    }
    let text = e.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    drop(std::io::stderr().write_all(format!("{name}: {text}").as_bytes()));
    Exit::Usage.into()
}

/// The options that every program has under the same names.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Common {
    /// Work in DIR instead of the current folder
    #[arg(short = 'C', long, global = true, value_name = "DIR")]
    pub cwd: Option<std::path::PathBuf>,
    /// Read FILE instead of the user's config.toml
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<std::path::PathBuf>,
    /// Use this profile of the configuration
    #[arg(long, global = true, value_name = "NAME")]
    pub profile: Option<String>,
    /// Say less on stderr
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Say more on stderr
    #[arg(short, long, global = true)]
    pub verbose: bool,
}
