//! The head of a request: system blocks from stable to volatile, tools, and the id they share.

use std::path::PathBuf;

use nub_conf::{Endpoint, Loaded};
use nub_proto::{Block, Context, Json, Source, ToolDef, Warning};
use nub_sys::Fail;

use crate::args::Job;
use crate::attach;
use crate::{base, environment, warning};

/// A system block and where it comes from.
#[derive(Debug)]
pub(crate) struct Part {
    pub text: String,
    pub path: String,
    pub kind: &'static str,
    pub truncated: bool,
}

impl Part {
    fn new(kind: &'static str, path: impl Into<String>, text: String) -> Part {
        Part { text, path: path.into(), kind, truncated: false }
    }
}

/// Puts the system prompt together.
///
/// # Errors
/// A file that was named cannot be read.
pub(crate) fn context(
    job: &Job,
    loaded: &Loaded,
    tools: Vec<ToolDef>,
    files: Vec<Part>,
    window: u64,
    warnings: &mut Vec<Warning>,
) -> Result<Context, Fail> {
    let cwd = &loaded.paths.cwd;
    let mut parts = vec![base(job, loaded, &tools, window, warnings)?];
    parts.push(Part::new("environment", "environment", environment::describe(&loaded.paths, warnings)));
    parts.extend(files);
    for value in &job.append_system {
        parts.push(Part::new("option", "--append-system", attach::file_or_text(cwd, value)?));
    }
    parts.retain(|part| !part.text.trim().is_empty());
    let sources = parts.iter().map(|part| Source {
        path: part.path.clone(),
        kind: part.kind.into(),
        tokens: nub_tokens::text(&part.text),
        truncated: part.truncated,
    });
    let sources = sources.collect();
    let mut system: Vec<Block> = parts.into_iter().map(|part| Block::text(part.text)).collect();
    if let Some(last) = system.last_mut() {
        last.cache_mark = true;
    }
    Ok(Context { id: id(&system, &tools)?, system, tools, sources })
}

/// The base prompt, or what the user puts in its place. A repository cannot: it would speak with the
/// voice of the program.
fn base(
    job: &Job,
    loaded: &Loaded,
    tools: &[ToolDef],
    window: u64,
    warnings: &mut Vec<Warning>,
) -> Result<Part, Fail> {
    let theirs = loaded.paths.dot_nub().join("SYSTEM.md");
    if theirs.symlink_metadata().is_ok() {
        let message = format!("'{}' is ignored: the repository is not trusted", theirs.display());
        warnings.push(warning("untrusted_system", &message));
    }
    if let Some(value) = &job.system {
        return Ok(Part::new("base", "--system", attach::file_or_text(&loaded.paths.cwd, value)?));
    }
    let own: PathBuf = loaded.paths.config.join("SYSTEM.md");
    if own.is_file() {
        return Ok(Part::new("base", own.to_string_lossy(), attach::read_text(&own)?));
    }
    Ok(Part::new("base", "base prompt", base::prompt(tools, window)))
}

/// The window of the model as far as it is known, in tokens; 0 = unknown.
pub(crate) fn window(job: &Job, loaded: &Loaded) -> u64 {
    let model = &loaded.config.model;
    let endpoint = loaded.config.endpoint(job.endpoint.as_ref().unwrap_or(&model.endpoint));
    let name = job.model.as_ref().unwrap_or(&model.default);
    // what the user wrote is known without reading the registry
    let known = |endpoint: Endpoint| {
        endpoint.caps.max_context.unwrap_or_else(|| endpoint.resolve(name).caps.max_context)
    };
    endpoint.map_or(0, known)
}

/// A name for system and tools that depends on nothing else: FNV-1a over their JSON, 128 bits wide.
/// It tells the contexts of a user's own sessions apart; nothing is trusted because of it, so a hash
/// of ten lines that never changes is worth more here than a cryptographic crate.
fn id(system: &[Block], tools: &[ToolDef]) -> Result<String, Fail> {
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let json =
        Json::of(&(system, tools)).map_err(|e| Fail::failure(format!("cannot write a context: {e}")))?;
    let hash = json.text().bytes().fold(BASIS, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME));
    Ok(format!("{hash:032x}"))
}
