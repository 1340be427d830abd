//! The command line, and what it asks for.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use nub_sys::{Common, Fail, Format};

/// Build a request for a model: context and request records from a prompt, files, stdin and the repo
#[derive(Debug, Parser)]
#[command(name = "nub-ctx", version, max_term_width = 100)]
pub(crate) struct Args {
    /// What to ask; several words make one prompt
    #[arg(value_name = "PROMPT")]
    prompt: Vec<String>,
    /// Attach FILE: text in a fence, a picture as an image; - is stdin
    #[arg(short, long = "file", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// How to read stdin
    #[arg(long, value_name = "FORM", default_value = "auto")]
    stdin: Stdin,
    /// Model to ask
    #[arg(short, long, value_name = "NAME")]
    model: Option<String>,
    /// Endpoint to ask
    #[arg(long, value_name = "NAME")]
    endpoint: Option<String>,
    /// Use this instead of the base prompt
    #[arg(long, value_name = "FILE|TEXT")]
    system: Option<String>,
    /// Add this behind the context files
    #[arg(long, value_name = "FILE|TEXT")]
    append_system: Vec<String>,
    /// Leave out the context files
    #[arg(long)]
    no_context: bool,
    /// Offer no tools
    #[arg(long, conflicts_with = "tools")]
    no_tools: bool,
    /// Offer only these tools (names with commas), or those of a FILE of tool records
    #[arg(long, value_name = "NAMES|FILE")]
    tools: Option<String>,
    /// Ask for JSON of the schema in FILE
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
    /// Longest answer, in tokens
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_tokens: Option<u64>,
    /// Sampling temperature
    #[arg(long, value_name = "X", value_parser = temperature)]
    temperature: Option<f64>,
    /// Show every source and its cost in tokens instead of the request
    #[arg(long)]
    explain: bool,
    /// Form of the output; auto is text on a terminal and records into a pipe
    #[arg(long, value_name = "FORM", default_value = "auto")]
    format: Format,
    #[command(flatten)]
    pub(crate) common: Common,
}

fn temperature(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "it is no number".to_owned())?;
    if value.is_finite() && value >= 0.0 { Ok(value) } else { Err("it must be 0 or more".into()) }
}

/// How stdin is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Stdin {
    /// Records when the first line is one, else text
    Auto,
    /// Records
    Records,
    /// Text, attached to the prompt
    Text,
    /// Not at all
    None,
}

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Records.
    Records,
    /// Text for people.
    Text,
}

/// Which tools are offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Offer {
    /// All there are.
    All,
    /// None.
    Nothing,
    /// Those of a list of names or a file.
    Listed(String),
}

/// What is needed.
#[derive(Debug)]
pub(crate) struct Job {
    pub prompt: String,
    pub files: Vec<PathBuf>,
    pub stdin: Stdin,
    pub model: Option<String>,
    pub endpoint: Option<String>,
    pub system: Option<String>,
    pub append_system: Vec<String>,
    pub with_files: WithFiles,
    pub offer: Offer,
    pub schema: Option<PathBuf>,
    pub max_tokens: Option<u64>,
    pub temperature: Option<f64>,
    pub explain: bool,
    pub form: Form,
    pub quiet: bool,
    /// Options that nub-tool is started with.
    pub common: Vec<std::ffi::OsString>,
}

/// Whether context files are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WithFiles {
    Yes,
    No,
}

impl Args {
    /// What was typed, as what is to be done.
    ///
    /// # Errors
    /// Stdin is asked for twice, or is a terminal.
    pub(crate) fn job(self, stdin_is_terminal: bool, stdout_is_terminal: bool) -> Result<Job, Fail> {
        let dashes = self.files.iter().filter(|file| file.as_os_str() == "-").count();
        let stdin = match (dashes, self.stdin) {
            (0, _) if stdin_is_terminal => Stdin::None,
            (0, stdin) => stdin,
            (1, Stdin::Auto | Stdin::None) if stdin_is_terminal => {
                return Err(
                    Fail::usage("-f - reads stdin, which is a terminal").advice("pipe something into it")
                );
            }
            (1, Stdin::Auto | Stdin::None) => Stdin::None,
            _ => {
                return Err(Fail::usage("stdin cannot be read twice").advice("use one -f -, without --stdin"));
            }
        };
        let form = match (self.format, self.explain, stdout_is_terminal) {
            (Format::Ndjson, ..) | (Format::Auto, false, false) => Form::Records,
            (Format::Text, ..) | (Format::Auto, true, _) | (Format::Auto, _, true) => Form::Text,
        };
        let offer = match (self.no_tools, self.tools) {
            (true, _) => Offer::Nothing,
            (false, Some(list)) => Offer::Listed(list),
            (false, None) => Offer::All,
        };
        Ok(Job {
            prompt: self.prompt.join(" "),
            files: self.files,
            stdin,
            model: self.model,
            endpoint: self.endpoint,
            system: self.system,
            append_system: self.append_system,
            with_files: if self.no_context { WithFiles::No } else { WithFiles::Yes },
            offer,
            schema: self.schema,
            max_tokens: self.max_tokens,
            temperature: self.temperature,
            explain: self.explain,
            form,
            quiet: self.common.quiet,
            common: options(&self.common),
        })
    }
}

/// The options that a sibling must be given too.
fn options(common: &Common) -> Vec<std::ffi::OsString> {
    let cwd = common.cwd.iter().flat_map(|value| ["--cwd".into(), value.into()]);
    let config = common.config.iter().flat_map(|value| ["--config".into(), value.into()]);
    let profile = common.profile.iter().flat_map(|value| ["--profile".into(), value.into()]);
    cwd.chain(config).chain(profile).collect()
}
