//! What comes on stdin: the records of a conversation, or text that is attached to the prompt.

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read, Write};
use std::path::Path;

use nub_proto::{FrameError, Line, MAX_LINE, Message, MessageRecord, Node, Reader, Role, Tool, Writer};
use nub_sys::Fail;

use crate::args::{Form, Job, Stdin};
use crate::attach::Content;

/// What was taken.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    /// The conversation, the user's new message included.
    pub messages: Vec<Message>,
    /// The tools that were announced.
    pub tools: Vec<Tool>,
}

/// Reads stdin and the files that were named, and puts the user's message behind the conversation.
///
/// # Errors
/// Input that is no record, something that cannot be attached, nothing to ask.
pub(crate) fn take(
    job: &Job,
    cwd: &Path,
    input: impl Read,
    writer: &mut Writer<impl Write>,
) -> Result<Taken, Fail> {
    let mut taken = Taken::default();
    let mut content = Content::new(&job.prompt);
    let mut input = BufReader::with_capacity(64 << 10, input);
    let head = if job.stdin == Stdin::Auto { first_line(&mut input)? } else { Vec::new() };
    let is_record = !matches!(Line::check(head.clone(), 1), Err(FrameError::NotRecord { .. }));
    let mut input = Cursor::new(head).chain(input);
    let has_records = job.stdin == Stdin::Records || (job.stdin == Stdin::Auto && is_record);
    if has_records {
        records(&mut taken, &mut input, job.form, writer)?;
    } else if job.stdin != Stdin::None {
        content.attach_piped(&mut input)?;
    }
    for file in &job.files {
        if file.as_os_str() == "-" {
            content.attach_piped(&mut input)?;
        } else {
            let refuse = |e| Fail::usage(format!("cannot read '{}': {e}", file.display()));
            content.attach(&file.to_string_lossy(), &mut File::open(cwd.join(file)).map_err(refuse)?)?;
        }
    }
    let blocks = content.blocks();
    if !blocks.is_empty() {
        taken.messages.push(Message { role: Role::User, content: blocks });
    }
    if taken.messages.is_empty() && !has_records && !job.explain {
        return Err(Fail::usage("nothing to ask: no prompt, no file and nothing on stdin")
            .advice("try nub-ctx \"explain this repository\", or pipe text or records into it"));
    }
    Ok(taken)
}

/// Everything up to the end of the first line that is not blank.
fn first_line(input: &mut impl BufRead) -> Result<Vec<u8>, Fail> {
    let mut head = Vec::new();
    let mut left = input.take(MAX_LINE as u64);
    loop {
        let from = head.len();
        let count = left
            .read_until(b'\n', &mut head)
            .map_err(|e| Fail::failure(format!("cannot read stdin: {e}")))?;
        if count == 0 || !head[from..].iter().all(u8::is_ascii_whitespace) {
            return Ok(head);
        }
    }
}

/// Takes nodes, messages and tools; everything else passes, in order and as it came.
fn records(
    taken: &mut Taken,
    input: impl Read,
    form: Form,
    writer: &mut Writer<impl Write>,
) -> Result<(), Fail> {
    let mut reader = Reader::new(input);
    let wrong = |e: FrameError| Fail::usage(e.to_string());
    while let Some(line) = reader.next_line().map_err(wrong)? {
        if line.is::<Node>() {
            taken.messages.push(line.read::<Node>().map_err(wrong)?.message);
        } else if line.is::<MessageRecord>() {
            taken.messages.push(line.read::<MessageRecord>().map_err(wrong)?.message);
        } else if line.is::<Tool>() {
            taken.tools.push(line.read().map_err(wrong)?);
        } else if form == Form::Records {
            writer.pass(&line).map_err(|e| Fail::output(&e))?;
        }
        if !reader.has_line() {
            writer.flush().map_err(|e| Fail::output(&e))?;
        }
    }
    Ok(())
}
