//! Command lines: clap's answers in the house's form.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;

use crate::{Exit, Fail};

/// A program: its command line, then its work.
pub fn program<A: clap::Parser>(name: &str, work: impl FnOnce(A) -> Result<Exit, Fail>) -> ExitCode {
    match parse(name) {
        Ok(args) => crate::run(name, || work(args)),
        Err(code) => code,
    }
}

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
    crate::run(name, || {
        if matches!(e.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
            return e.print().map(|()| Exit::Success).map_err(|e| Fail::output(&e));
        }
        if e.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            return Err(fault(name, "no command was given"));
        }
        Err(fault(name, &e.render().to_string()))
    })
}

/// clap's words in one line, with its tip, if it has one, as the advice.
fn fault(name: &str, text: &str) -> Fail {
    let text = text.strip_prefix("error: ").unwrap_or(text);
    let said = text.split("\nUsage:").next().unwrap_or(text);
    let (message, tips) = said.split_once("\n\n").unwrap_or((said, ""));
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let tip = words(tips.trim().trim_start_matches("tip: "));
    let help = format!("'{name} --help' lists what can be said");
    Fail::usage(words(message)).advice(if tip.is_empty() || tip.contains("try '--help'") {
        help
    } else {
        tip
    })
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

impl Common {
    /// What carries these options to a stage, which need not know them: variables of its environment.
    #[must_use]
    pub fn env(&self) -> Vec<(&'static str, OsString)> {
        let config = self.config.clone().map(|file| ("NUB_CONFIG", file.into()));
        let profile = self.profile.clone().map(|name| ("NUB_PROFILE", name.into()));
        config.into_iter().chain(profile).collect()
    }
}

/// The options of nub-ctx that say what a model is asked with; nub-loop takes them and passes them on.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Head {
    /// Ask this model
    #[arg(short, long, value_name = "MODEL")]
    pub model: Option<OsString>,
    /// Ask at this endpoint of the configuration
    #[arg(long, value_name = "NAME")]
    pub endpoint: Option<OsString>,
    /// Use this text, or the text of this file, as the base prompt
    #[arg(long, value_name = "FILE|TEXT")]
    pub system: Option<OsString>,
    /// Add this text, or the text of this file, to the system prompt
    #[arg(long, value_name = "FILE|TEXT")]
    pub append_system: Vec<OsString>,
    /// Offer the model no tools
    #[arg(long)]
    pub no_tools: bool,
}

impl Head {
    /// The options as they are typed.
    #[must_use]
    pub fn typed(&self) -> Vec<OsString> {
        let one = |flag: &'static str, value: &Option<OsString>| value.clone().map(|value| (flag, value));
        let first =
            [one("--model", &self.model), one("--endpoint", &self.endpoint), one("--system", &self.system)];
        let more = self.append_system.iter().map(|text| ("--append-system", text.clone()));
        let given = first.into_iter().flatten().chain(more).map(|(flag, value)| [flag.into(), value]);
        given.flatten().chain(self.no_tools.then(|| "--no-tools".into())).collect()
    }
}

/// The form of what is printed, as `--format` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Text on a terminal, records into a pipe
    Auto,
    /// Records
    Ndjson,
    /// Text for people
    Text,
}

impl Format {
    /// Whether people read what goes to stdout.
    #[must_use]
    pub fn is_text(self) -> bool {
        match self {
            Format::Auto => crate::tty::stdout(),
            Format::Ndjson => false,
            Format::Text => true,
        }
    }
}
