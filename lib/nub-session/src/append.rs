//! append: stores messages, summaries, contexts, heads and labels, and answers each message and summary
//! with its node once that is on the disk. Everything else passes in order.

use std::io::{Read, Write};
use std::mem;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use nub_conf::Paths;
use nub_proto::{
    Context, ErrorClass, ErrorRecord, Head, Json, Label, Line, MAX_LINE, Message, MessageRecord, Meta, Node,
    NodeKind, Reader, Record, Summary, Warning, encode, lossless,
};
use nub_sys::{Exit, Fail, clock};
use serde::de::DeserializeOwned;

use crate::NAME;
use crate::journal::{Journal, cannot_write};
use crate::place;
use crate::rescue::Broken;

/// When this much waits, in bytes, it is stored without waiting for more.
const BATCH: usize = 1 << 20;

/// What a summary's message begins with, for the model.
const SUMMARY_INTRO: &str = "Summary of the conversation so far:\n\n";

/// Runs the filter to the end of its input. After a signal a line that the end of input tears is no
/// error.
///
/// # Errors
/// The input is no stream of records, or something could not be stored.
pub fn run(
    target: Target,
    input: impl Read,
    output: impl Write,
    signalled: &AtomicBool,
) -> Result<Exit, Fail> {
    let mut filter = match Filter::new(target, output) {
        Ok(filter) => filter,
        Err((fail, output)) => return Err(told(fail, output)),
    };
    let ran = filter.run(Reader::new(input), signalled);
    match (filter.broken, ran) {
        // its records stand where the nodes are missing
        (Some(broken), _) => Err(broken.fail()),
        (None, Err(fail)) => Err(told(fail, filter.output)),
        (None, ran) => ran,
    }
}

/// Says a failure in a record too.
fn told(fail: Fail, mut output: impl Write) -> Fail {
    let mut line = Vec::new();
    if fail.exit() == Exit::Failure && put(&error(&fail), &mut line).is_ok() {
        // who cannot read it finds the same on stderr
        drop(output.write_all(&line));
    }
    fail
}

/// The failure for those who read records: it stands in the place of the node that is missing.
fn error(fail: &Fail) -> ErrorRecord {
    ErrorRecord {
        source: NAME.into(),
        class: ErrorClass::Internal,
        message: fail.message().into(),
        status: None,
        retryable: false,
        hint: fail.hint().map(Into::into),
        retry_after_ms: None,
        partial: String::new(),
    }
}

/// Where to append.
#[derive(Debug)]
pub struct Target {
    /// A session file; without one the first message makes one.
    pub path: Option<PathBuf>,
    /// Say first, in a `session` record, which session it is.
    pub announce: bool,
    /// Warn in records instead of on stderr.
    pub coprocess: bool,
    /// Where new sessions and rescued messages go.
    pub paths: Paths,
}

struct Filter<W> {
    paths: Paths,
    coprocess: bool,
    /// The session file, perhaps yet to be made.
    path: PathBuf,
    /// Its first line.
    session: Vec<u8>,
    journal: Option<Journal>,
    /// The context in force before there is a session.
    context: Option<(String, Vec<u8>)>,
    /// Lines for the file.
    batch: Vec<u8>,
    /// Whether they are to be stored now: a session record alone waits.
    due: bool,
    /// Lines for the output, held back until the batch is stored.
    held: Vec<u8>,
    /// Where in `held` the answers stand that say something is stored.
    promised: Vec<Range<usize>>,
    /// Something could not be stored, so nothing is any more.
    broken: Option<Broken>,
    output: W,
}

impl<W: Write> Filter<W> {
    fn new(target: Target, output: W) -> Result<Filter<W>, (Fail, W)> {
        let is_new = |path: &PathBuf| !path.exists() && !path.is_symlink();
        let journal = target.path.as_ref().filter(|path| !is_new(path)).map(|path| Journal::open(path));
        let mut filter = Filter {
            path: target.path.unwrap_or_else(|| place::plan(&target.paths)),
            paths: target.paths,
            coprocess: target.coprocess,
            session: Vec::new(),
            journal: None,
            context: None,
            batch: Vec::new(),
            due: false,
            held: Vec::new(),
            promised: Vec::new(),
            broken: None,
            output,
        };
        match journal.transpose().and_then(|journal| filter.open(journal, target.announce)) {
            Ok(()) => Ok(filter),
            Err(fail) => Err((fail, filter.output)),
        }
    }

    fn open(&mut self, journal: Option<Journal>, announce: bool) -> Result<(), Fail> {
        self.session = match journal.as_ref().map(Journal::session).transpose()?.flatten() {
            Some(line) => line,
            None => {
                let mut line = Vec::new();
                put(&place::session(&self.path, &self.paths), &mut line)?;
                line.pop();
                line
            }
        };
        if announce {
            add_line(&mut self.held, &self.session);
        }
        journal.map_or(Ok(()), |journal| self.begin(journal))?;
        self.release()
    }

    fn run(&mut self, mut reader: Reader<impl Read>, signalled: &AtomicBool) -> Result<Exit, Fail> {
        loop {
            match reader.next_line() {
                Ok(Some(line)) => self.take(&line)?,
                Ok(None) => break,
                Err(_) if signalled.load(Ordering::Relaxed) => break,
                Err(e) => {
                    self.commit()?;
                    return Err(Fail::usage(e.to_string()));
                }
            }
            if !reader.has_line() || self.waiting() >= BATCH {
                self.commit()?;
            }
        }
        self.commit()?;
        Ok(if signalled.load(Ordering::Relaxed) { Exit::Cancelled } else { Exit::Success })
    }

    fn waiting(&self) -> usize {
        self.batch.len() + self.held.len()
    }

    fn take(&mut self, line: &Line) -> Result<(), Fail> {
        match line.kind() {
            MessageRecord::<Json>::TYPE => {
                if self.has_session()? {
                    self.message(line)
                } else {
                    self.lose(line)
                }
            }
            Summary::TYPE => {
                if self.has_session()? {
                    self.summary(read(line)?)
                } else {
                    self.lose(line)
                }
            }
            Context::TYPE => self.use_context(line),
            Head::TYPE => self.head(&read(line)?),
            Label::TYPE => self.label(&read(line)?),
            _ => {
                add_line(&mut self.held, line.raw());
                Ok(())
            }
        }
    }

    fn message(&mut self, line: &Line) -> Result<(), Fail> {
        let record: MessageRecord<Json> = read(line)?;
        let message = valid(record.message, line)?;
        self.node(NodeKind::Message, message, Vec::new(), record.meta.unwrap_or_default())
    }

    fn summary(&mut self, summary: Summary) -> Result<(), Fail> {
        let message = Message::user(format!("{SUMMARY_INTRO}{}", summary.text));
        let message = Json::of(&message).map_err(|e| Fail::failure(e.to_string()))?;
        self.node(NodeKind::Summary, message, summary.replaces, summary.meta)
    }

    fn node(
        &mut self,
        kind: NodeKind,
        message: Json,
        replaces: Vec<String>,
        mut meta: Meta,
    ) -> Result<(), Fail> {
        let journal = self.journal()?;
        let id = journal.next_id().to_string();
        let parent = journal.head.clone();
        meta.created_at.get_or_insert_with(clock::now);
        meta.context = meta.context.or_else(|| journal.context.clone());
        let mut line = Vec::new();
        put(&Node { id: id.clone(), parent, kind, message, replaces, meta }, &mut line)?;
        if line.len() > MAX_LINE {
            self.commit()?;
            return Err(Fail::usage(format!("a message is longer than {} MiB", MAX_LINE >> 20)));
        }
        self.journal()?.head = id;
        self.answer(&line);
        Ok(())
    }

    /// A line for the file, which is passed on once it is there.
    fn answer(&mut self, line: &[u8]) {
        self.promised.push(self.held.len()..self.held.len() + line.len());
        self.batch.extend_from_slice(line);
        self.held.extend_from_slice(line);
        self.due = true;
    }

    /// What is said where no session can be made is rescued as it is.
    fn lose(&mut self, line: &Line) -> Result<(), Fail> {
        self.answer(&line.whole());
        Ok(())
    }

    /// A context is stored once; one that no message follows is not worth a session.
    fn use_context(&mut self, line: &Line) -> Result<(), Fail> {
        let id = read::<Context>(line)?.id;
        match &mut self.journal {
            None => self.context = Some((id, line.raw().to_vec())),
            Some(journal) => {
                if journal.use_context(id) {
                    add_line(&mut self.batch, line.raw());
                    self.due = true;
                }
            }
        }
        Ok(())
    }

    fn head(&mut self, head: &Head) -> Result<(), Fail> {
        if !head.head.is_empty() && !self.holds(&head.head)? {
            return self.warn("unknown_node", format!("the head stays: there is no node '{}'", head.head));
        }
        let Some(journal) = &mut self.journal else { return Ok(()) };
        journal.head.clone_from(&head.head);
        self.due = true;
        put(head, &mut self.batch)
    }

    fn label(&mut self, label: &Label) -> Result<(), Fail> {
        if !self.holds(&label.node)? {
            return self.warn("unknown_node", format!("no label: there is no node '{}'", label.node));
        }
        self.due = true;
        put(label, &mut self.batch)
    }

    /// Whether the file has a node. Heads and labels are rare, so they pay for it, not the start.
    fn holds(&mut self, id: &str) -> Result<bool, Fail> {
        self.commit()?;
        self.journal.as_ref().map_or(Ok(false), |journal| journal.holds(id))
    }

    fn warn(&mut self, code: &str, message: String) -> Result<(), Fail> {
        put(&Warning { source: NAME.into(), code: code.into(), message }, &mut self.held)
    }

    /// The first message makes a session, if one can be made.
    fn has_session(&mut self) -> Result<bool, Fail> {
        if self.journal.is_none() && self.broken.is_none() {
            let planned = self.path.parent() == Some(&*self.paths.sessions());
            let made =
                if planned { place::create(&self.paths, &self.path) } else { Journal::open(&self.path) };
            match made {
                Ok(journal) => self.begin(journal)?,
                Err(fail) => self.broken = Some(Broken::new(fail)),
            }
        }
        Ok(self.journal.is_some())
    }

    fn journal(&mut self) -> Result<&mut Journal, Fail> {
        self.journal.as_mut().ok_or_else(|| Fail::failure("no session is open"))
    }

    /// Takes a session into use: an empty file gets its first line before anything else.
    fn begin(&mut self, mut journal: Journal) -> Result<(), Fail> {
        for note in mem::take(&mut journal.notes) {
            if self.coprocess {
                self.warn("damaged_session", note)?;
            } else {
                nub_sys::warn(NAME, &note);
            }
        }
        if journal.is_fresh() {
            add_line(&mut self.batch, &self.session);
        }
        if let Some((id, line)) = self.context.take()
            && journal.use_context(id)
        {
            add_line(&mut self.batch, &line);
        }
        self.journal = Some(journal);
        Ok(())
    }

    /// Stores what waits, then lets the answers go.
    fn commit(&mut self) -> Result<(), Fail> {
        if mem::take(&mut self.due) {
            self.store()?;
            self.batch.clear();
        }
        self.promised.clear();
        self.release()
    }

    /// After the first failure everything goes into the rescue file, and errors take the place of answers.
    fn store(&mut self) -> Result<(), Fail> {
        if let (Some(journal), None) = (&mut self.journal, &self.broken) {
            let Err(e) = journal.store(&self.batch) else { return Ok(()) };
            self.broken = Some(Broken::new(cannot_write(&self.path, &e)));
        }
        let Some(broken) = &mut self.broken else { return Ok(()) };
        broken.keep(&self.batch, &self.path, &self.paths);
        let mut line = Vec::new();
        put(&error(&broken.fail()), &mut line)?;
        if self.promised.is_empty() {
            self.held.extend_from_slice(&line);
        }
        for answer in self.promised.drain(..).rev() {
            self.held.splice(answer, line.iter().copied());
        }
        Ok(())
    }

    fn release(&mut self) -> Result<(), Fail> {
        let written = self.output.write_all(&self.held).and_then(|()| self.output.flush());
        self.held.clear();
        written.map_err(|e| Fail::output(&e))
    }
}

fn add_line(into: &mut Vec<u8>, line: &[u8]) {
    into.extend_from_slice(line);
    into.push(b'\n');
}

fn put<T: Record>(record: &T, into: &mut Vec<u8>) -> Result<(), Fail> {
    encode(record, into).map_err(|e| Fail::failure(format!("cannot encode a record: {e}")))
}

fn read<T: DeserializeOwned>(line: &Line) -> Result<T, Fail> {
    line.read().map_err(|e| Fail::usage(e.to_string()))
}

/// A message that every reader of the session can read: checked, and free of lone surrogates.
fn valid(message: Json, line: &Line) -> Result<Json, Fail> {
    let Err(e) = message.read::<Message>() else { return Ok(message) };
    let mended =
        Json::parse(&lossless(message.text().as_bytes())).ok().filter(|m| m.read::<Message>().is_ok());
    mended.ok_or_else(|| {
        Fail::usage(format!("input line {}: a message that cannot be read: {e}", line.number()))
    })
}
