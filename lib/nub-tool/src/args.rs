//! The command line of nub-tool.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use nub_conf::Inputs;
use nub_sys::{Common, Format};

/// Runs the tools a model calls: lists them, calls one, or answers the calls in a stream of records
#[derive(Debug, Parser)]
#[command(name = "nub-tool", version, disable_help_subcommand = true)]
pub(crate) struct Args {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub verb: Verb,
}

/// What is to be done.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Print the definitions of the tools with their cost in tokens
    List {
        /// Form of the output: auto is text on a terminal and records elsewhere
        #[arg(long, value_enum, default_value_t = Format::Auto)]
        format: Format,
    },
    /// Call one tool
    #[command(after_long_help = crate::names::help())]
    Call {
        /// The tool
        name: String,
        /// Its arguments as a JSON object; - reads them from stdin
        #[arg(default_value = "{}")]
        json: String,
        /// Form of the output: auto is text on a terminal and records elsewhere
        #[arg(long, value_enum, default_value_t = Format::Auto)]
        format: Format,
    },
    /// Answer the calls in a stream of records: stdin to stdout
    Run {
        /// Begin with the definitions of the tools
        #[arg(long)]
        announce: bool,
        /// Nobody can be asked: a call that needs permission ends the program
        #[arg(long)]
        no_ask: bool,
    },
}

impl Args {
    /// What was typed about the configuration.
    pub(crate) fn inputs(&self) -> Inputs {
        let Common { cwd, config, profile, .. } = &self.common;
        let cwd: Option<PathBuf> = cwd.clone();
        Inputs { cwd, config: config.clone(), profile: profile.clone() }
    }
}
