//! What is there before the first prompt: the stages, one head for the whole session, and the path.

use std::io::{self, Write};

use nub_proto::{Head, Line, Node, Ready, Session, Talk, Writer, read_lines, repair};
use nub_sys::Fail;
use nub_sys::crew::Crew;

use crate::{Job, Loop, Part, State};

/// Lines of one event at most.
const BATCH: usize = 256;
/// Comes back from a filter after everything that came before it.
const SYNC: &[u8] = b"{\"v\":1,\"type\":\"sync\"}\n";

impl<W: Write> Loop<W> {
    /// Starts every stage at once.
    pub(crate) fn start(job: Job, output: W) -> Result<Loop<W>, Fail> {
        let mut parts = vec![Part::Tool, Part::Session, Part::Ctx, Part::Path, Part::Stream];
        parts.retain(|part| !(job.fresh && *part == Part::Path || job.head.no_tools && *part == Part::Tool));
        let now = State { path: (!job.fresh).then(Vec::new), ..State::default() };
        let mut all = Loop { job, out: Writer::new(output), crew: Crew::new()?, now };
        parts.into_iter().try_for_each(|part| all.play(part))?;
        all.crew.send(Part::Tool, SYNC.to_vec());
        if all.job.head.no_tools {
            all.crew.close(Part::Ctx);
        }
        Ok(all)
    }

    fn play(&mut self, part: Part) -> Result<(), Fail> {
        self.crew.start(part, self.job.command(part)?, |output, tell| read_lines(output, BATCH, tell))
    }

    /// Whether somebody plays a part. A stage that ended between two turns is started again.
    pub(crate) fn have(&mut self, part: Part) -> io::Result<bool> {
        if !self.crew.has(part)
            && let Err(fail) = self.play(part)
        {
            return self.fault(part, fail.message()).map(|()| false);
        }
        Ok(true)
    }

    /// A tool that is offered: nub-ctx is to know. When that is all, it can work.
    pub(crate) fn offered(&mut self, line: &Line) -> io::Result<()> {
        if line.kind() == "sync" {
            self.crew.close(Part::Ctx);
            return Ok(());
        }
        self.crew.send(Part::Ctx, [line.raw(), b"\n"].concat());
        self.out.pass(line)
    }

    /// A line of nub-ctx.
    pub(crate) fn head(&mut self, line: &Line) -> io::Result<()> {
        match line.kind() {
            "request" => return Talk::new(line.read()?).map(|talk| self.now.talk = talk),
            "context" => self.now.context = [line.raw(), b"\n"].concat(),
            _ => {}
        }
        self.out.pass(line)
    }

    /// A line of the path.
    pub(crate) fn node(&mut self, line: &Line) -> io::Result<()> {
        if line.is::<Node>() {
            self.now.path.get_or_insert_default().push(line.read::<Node>()?.message);
        }
        Ok(())
    }

    /// A line of nub-session.
    pub(crate) fn stored(&mut self, line: &Line) -> io::Result<()> {
        match line.kind() {
            "session" => {
                self.now.session = line.read::<Session>()?.id;
                self.job.session = Some(self.now.session.clone().into());
            }
            "node" => self.now.unstored = self.now.unstored.saturating_sub(1),
            "sync" => return self.have(Part::Path).map(drop),
            _ => {}
        }
        self.out.pass(line)
    }

    /// Goes on from another node: its path is read once the session knows.
    pub(crate) fn branch(&mut self, node: String) -> io::Result<()> {
        let head = Head { head: node };
        self.now.path = Some(Vec::new());
        self.order(Part::Session, &head)?;
        self.crew.send(Part::Session, SYNC.to_vec());
        self.out.write(&head)
    }

    /// Nub-ctx or the path came to its end.
    pub(crate) fn gathered(&mut self) -> io::Result<()> {
        if self.crew.has(Part::Ctx) || self.crew.has(Part::Path) {
            return Ok(());
        }
        if self.now.talk.request().is_empty() {
            return self.fault(Part::Ctx, "gave no request");
        }
        let mut path = self.now.path.take().unwrap_or_default();
        repair(&mut path);
        self.now.talk.replace(&path)
    }

    /// Whether a prompt can be asked. Says so once, and listens from then on.
    pub(crate) fn get_ready(&mut self) -> io::Result<bool> {
        let now = &mut self.now;
        if self.crew.has(Part::Ctx) || now.path.is_some() || now.session.is_empty() || now.ready {
            return Ok(now.ready && now.path.is_none());
        }
        now.ready = true;
        self.crew.hear(Part::Input, |tell| read_lines(io::stdin(), BATCH, tell));
        let head = now.talk.head();
        let endpoint = self.job.config.endpoints.iter().find(|endpoint| endpoint.name == head.endpoint);
        self.out.write(&Ready {
            session: now.session.clone(),
            model: head.model.clone(),
            context_tokens: nub_tokens::head(head),
            max_context: endpoint.and_then(|endpoint| endpoint.caps.max_context).unwrap_or(0),
            tools: head.tools.iter().map(|tool| tool.name.clone()).collect(),
        })?;
        Ok(true)
    }
}
