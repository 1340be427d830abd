//! The prompt: what was typed, what was piped, what was attached.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use nub_proto::{Block, InputOp, InputRecord, fenced, image};
use nub_sys::{Fail, tty};

use crate::args::Ask;

/// The most that is attached from one source, in bytes: far above any window, far below any memory.
const MOST: u64 = 8 << 20;

/// How long print mode waits for the first byte of a pipe when it has a prompt already.
const GRACE: Duration = Duration::from_secs(2);

/// Stands for stdin: wait for it however long it takes.
const STDIN: &str = "-";

/// stdin, when it is no terminal.
pub(crate) struct Piped<R> {
    pub input: R,
}

/// Builds the input record of print mode.
///
/// # Errors
/// There is no prompt, or a source cannot be read, is too large, or is neither text nor a picture.
pub(crate) fn assemble<R: Read>(ask: &Ask, piped: Option<Piped<R>>) -> Result<InputRecord, Fail> {
    let waits = ask.words.iter().any(|word| word == STDIN);
    let words: Vec<&str> = ask.words.iter().map(String::as_str).filter(|word| *word != STDIN).collect();
    let typed = words.join(" ");
    let mut parts = Parts::default();
    for file in &ask.files {
        parts.add(&file.display().to_string(), &read_file(file)?)?;
    }
    if let Some(piped) = piped.filter(|_| waits || typed.is_empty() || something_comes()) {
        let bytes = read(piped.input, "stdin")?;
        if typed.trim().is_empty() && image(&bytes).is_none() {
            parts.text.insert(0, text("stdin", &bytes)?.trim().to_owned());
        } else if !bytes.is_empty() {
            parts.add("", &bytes)?;
        }
    }
    parts.text.insert(0, typed);
    parts.record().ok_or_else(|| {
        Fail::usage("there is no prompt").advice("nub -p PROMPT, or pipe it: echo PROMPT | nub -p")
    })
}

/// Whether a pipe has something to say. An open one that stays silent (a job runner's) must not hang us.
fn something_comes() -> bool {
    tty::stdin_ready(GRACE)
        || {
            let text = "nub: warning: stdin is open but silent, going on without it\n  to wait for it: nub -p PROMPT -\n";
            drop(std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes()));
            false
        }
}

#[derive(Default)]
struct Parts {
    text: Vec<String>,
    images: Vec<Block>,
}

impl Parts {
    fn add(&mut self, name: &str, bytes: &[u8]) -> Result<(), Fail> {
        match image(bytes) {
            Some(block) => self.images.push(block),
            None => self.text.push(fenced(name, &text(name, bytes)?)),
        }
        Ok(())
    }

    fn record(self) -> Option<InputRecord> {
        let text: Vec<String> = self.text.into_iter().filter(|part| !part.trim().is_empty()).collect();
        let text = text.join("\n\n");
        if self.images.is_empty() {
            return (!text.is_empty()).then(|| prompt(InputOp::Prompt, text));
        }
        let mut content = Vec::new();
        if !text.is_empty() {
            content.push(Block::text(text));
        }
        content.extend(self.images);
        Some(InputRecord { op: InputOp::Prompt, text: None, content: Some(content) })
    }
}

/// An input of one text.
pub(crate) fn prompt(op: InputOp, text: impl Into<String>) -> InputRecord {
    InputRecord { op, text: Some(text.into()), content: None }
}

fn read_file(path: &Path) -> Result<Vec<u8>, Fail> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|e| Fail::usage(format!("cannot read '{name}': {e}")))?;
    read(file, &name)
}

fn read(input: impl Read, name: &str) -> Result<Vec<u8>, Fail> {
    let mut bytes = Vec::new();
    input
        .take(MOST + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| Fail::usage(format!("cannot read '{name}': {e}")))?;
    if bytes.len() as u64 > MOST {
        return Err(Fail::usage(format!("'{name}' is larger than {} MiB", MOST >> 20))
            .advice("name the file in the prompt: the agent reads the parts it needs"));
    }
    Ok(bytes)
}

fn text(name: &str, bytes: &[u8]) -> Result<String, Fail> {
    if bytes.contains(&0) {
        let name = if name.is_empty() { "stdin" } else { name };
        return Err(Fail::usage(format!("'{name}' is neither text nor a picture")));
    }
    Ok(String::from_utf8_lossy(bytes).into_owned())
}
