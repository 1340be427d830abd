//! What can be typed.

use clap::{Parser, Subcommand, ValueEnum};
use nub_sys::Common;

/// Keep conversations as trees in session files.
#[derive(Debug, Parser)]
#[command(name = "nub-session", version, about, disable_help_subcommand = true)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Options of every subcommand.
    #[command(flatten)]
    pub shared: Shared,
}

/// The options of every subcommand.
#[derive(Debug, Clone, clap::Args)]
pub struct Shared {
    /// Use this session: an id, the beginning of one, a path, or `latest`
    #[arg(short, long, value_name = "ID|PATH", global = true)]
    pub session: Option<String>,
    /// Print for people (text), a record a line (ndjson) or an array of them (json)
    #[arg(long, value_enum, default_value_t = Format::Auto, global = true)]
    pub format: Format,
    /// The options of every program.
    #[command(flatten)]
    pub common: Common,
}

/// How to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Text on a terminal, records into a pipe
    Auto,
    /// One record a line
    Ndjson,
    /// Text for people
    Text,
    /// One JSON array
    Json,
    /// Markdown (export only)
    Md,
    /// A page (export only)
    Html,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a session
    New {
        /// Its name; without one the first prompt is its name
        #[arg(long, value_name = "TEXT")]
        title: Option<String>,
    },
    /// List sessions, the one written last first
    List {
        /// Those of every folder, not only of this one
        #[arg(long)]
        all: bool,
    },
    /// Print the nodes from the root to the head
    Path {
        /// End at this node instead of the head
        node: Option<String>,
    },
    /// Store the messages that come on stdin
    Append {
        /// Store this user message instead of reading stdin
        #[arg(long, value_name = "TEXT")]
        user: Option<String>,
        /// Make a session instead of going on with the latest
        #[arg(long, conflicts_with = "session")]
        new: bool,
        /// First print a `session` record that says which session it is
        #[arg(long)]
        announce: bool,
    },
    /// Draw the tree
    Tree,
    /// Go on from another node
    Branch {
        /// The node; `root` is the state before the first message
        node: String,
    },
    /// Give a node a name
    Label {
        /// The node
        node: String,
        /// The name; an empty one takes the name away
        text: String,
    },
    /// Mark a node
    Bookmark {
        /// The node
        node: String,
        /// Take the mark away
        #[arg(long)]
        remove: bool,
    },
    /// Print one node
    Show {
        /// The node
        node: String,
    },
    /// Print the request that an answer of the model answers
    Request {
        /// An assistant node
        node: String,
    },
    /// Show where the ways to two nodes part
    Diff {
        /// A node
        first: String,
        /// Another node
        second: String,
    },
    /// Begin a session as this one did, up to a node
    Fork {
        /// The node
        node: String,
    },
    /// Print the conversation as Markdown (md), a page (html), or the whole tree as JSON (json)
    Export {
        /// Mask what looks like a key
        #[arg(long)]
        redact: bool,
    },
    /// Print the lines that a regular expression fits, over all sessions of this folder
    Search {
        /// The regular expression; without a capital letter case does not count
        regex: String,
        /// Search the sessions of every folder
        #[arg(long)]
        all: bool,
    },
    /// Look for damage
    Check {
        /// Write a mended copy as a new session
        #[arg(long)]
        repair: bool,
    },
    /// Remove sessions
    Rm {
        /// Ids, beginnings of ids, or paths
        #[arg(required = true)]
        sessions: Vec<String>,
    },
    /// Remove sessions of this folder in which nothing was said
    Prune {
        /// And those that were not written to for so many days
        #[arg(long, value_name = "DAYS")]
        older_than: Option<u32>,
        /// Only say which
        #[arg(short = 'n', long)]
        dry_run: bool,
    },
}

impl Command {
    /// Whether it prints any number of records, so that `--format json` is an array.
    pub fn is_many(&self) -> bool {
        match self {
            Command::List { .. }
            | Command::Path { .. }
            | Command::Tree
            | Command::Diff { .. }
            | Command::Search { .. }
            | Command::Check { repair: false } => true,
            Command::New { .. }
            | Command::Append { .. }
            | Command::Branch { .. }
            | Command::Label { .. }
            | Command::Bookmark { .. }
            | Command::Show { .. }
            | Command::Request { .. }
            | Command::Fork { .. }
            | Command::Export { .. }
            | Command::Check { repair: true }
            | Command::Rm { .. }
            | Command::Prune { .. } => false,
        }
    }
}
