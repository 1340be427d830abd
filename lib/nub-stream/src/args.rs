//! From what was typed to what is needed.

use std::path::PathBuf;

use clap::Parser;
use nub_sys::{Common, Format};

/// Answers request records with a model.
///
/// Reads records on standard input, answers each request with events, a message and done (or error), and
/// passes every other record on.
#[derive(Debug, Parser)]
#[command(name = "nub-stream", version)]
pub struct Args {
    /// Ask this model, whatever a request says
    #[arg(short, long, value_name = "NAME")]
    pub model: Option<String>,
    /// Ask this endpoint, whatever a request says
    #[arg(long, value_name = "NAME")]
    pub endpoint: Option<String>,
    /// Try again at most N times (0: never)
    #[arg(long, value_name = "N")]
    pub retries: Option<u32>,
    /// List the models of the endpoint and end
    #[arg(long)]
    pub list_models: bool,
    /// Print the HTTP request of each request record, with the key masked, and send nothing
    #[arg(long, conflicts_with_all = ["record", "replay", "list_models"])]
    pub dry_run: bool,
    /// Write requests and answers to FILE
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub record: Option<PathBuf>,
    /// Answer from FILE instead of a server
    #[arg(long, value_name = "FILE", conflicts_with = "list_models")]
    pub replay: Option<PathBuf>,
    /// Form of the output
    #[arg(long, value_enum, default_value_t = Format::Auto, value_name = "FORMAT")]
    pub format: Format,
    /// What every program has.
    #[command(flatten)]
    pub common: Common,
}
