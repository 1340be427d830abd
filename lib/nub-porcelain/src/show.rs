//! Records as a person sees them: the answer as it streams, a line for each call, and what went wrong.

use std::collections::BTreeMap;
use std::io::Write;

use nub_proto::{
    BlockDelta, BlockStart, BlockStop, Compaction, ErrorClass, ErrorRecord, Kind, Line as Raw, MessageRecord,
    PermissionRequest, Queue, Ready, Record, Retry, Role, RunResult, Stop, ToolEnd, ToolOutput, ToolStart,
    TurnStart, Warning,
};
use nub_render::{Line, Style};
use nub_sys::{Exit, Fail};
use serde::de::DeserializeOwned;

use crate::engine::LOOP;
use crate::view::{Noise, View};

/// What a record asks of the one who shows it.
#[derive(Debug)]
pub(crate) enum Seen {
    /// Nothing.
    Nothing,
    /// The loop is ready.
    Ready(Ready),
    /// A call needs the user's word.
    Ask(PermissionRequest),
    /// A prompt is done.
    Result(RunResult),
}

/// What is known of the answer in hand.
#[derive(Default)]
pub(crate) struct Show {
    blocks: BTreeMap<usize, Block>,
    titles: BTreeMap<String, Line>,
    thought: String,
    streamed: bool,
    failed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    Text,
    Thinking,
    Call,
}

impl Show {
    /// Shows one record.
    ///
    /// # Errors
    /// stdout is gone, or the record has another shape.
    pub(crate) fn record<O: Write, E: Write>(
        &mut self,
        raw: &Raw,
        view: &mut View<O, E>,
    ) -> Result<Seen, Fail> {
        let noise = view.screen.noise;
        match raw.kind() {
            BlockDelta::TYPE => self.delta(&read(raw)?, view)?,
            BlockStart::TYPE => self.block(&read(raw)?, view)?,
            BlockStop::TYPE => {
                all(thought(&std::mem::take(&mut self.thought)), view)?;
                view.end_text()?;
            }
            TurnStart::TYPE => self.streamed = false,
            // not the node: it comes when the disk is done, perhaps in the next turn
            MessageRecord::<nub_proto::Message>::TYPE if !self.streamed => {
                self.unstreamed(&read(raw)?, view)?;
            }
            ToolStart::TYPE if noise >= Noise::Normal => self.call(&read(raw)?, view)?,
            ToolOutput::TYPE if noise >= Noise::Verbose => output(&read(raw)?, view)?,
            ToolEnd::TYPE if noise >= Noise::Normal => self.returned(&read(raw)?, view)?,
            Retry::TYPE if noise >= Noise::Normal => view.line(&nub_render::retry(&read(raw)?))?,
            Warning::TYPE if noise >= Noise::Normal => view.line(&nub_render::warning(&read(raw)?))?,
            Compaction::TYPE if noise >= Noise::Normal => view.line(&nub_render::compaction(&read(raw)?))?,
            Queue::TYPE if noise >= Noise::Normal => all(nub_render::queue(&read(raw)?), view)?,
            ErrorRecord::TYPE => self.failure(&read(raw)?, view)?,
            PermissionRequest::TYPE => {
                let request: PermissionRequest = read(raw)?;
                self.titles.insert(request.id.clone(), nub_render::call(&request.title));
                return Ok(Seen::Ask(request));
            }
            Ready::TYPE => return Ok(Seen::Ready(read(raw)?)),
            RunResult::TYPE => return self.result(read(raw)?, view),
            _ => {}
        }
        Ok(Seen::Nothing)
    }

    fn block<O: Write, E: Write>(&mut self, start: &BlockStart, view: &mut View<O, E>) -> Result<(), Fail> {
        let kind = match start.block.kind {
            Kind::Text { .. } => Block::Text,
            Kind::Thinking { .. } => Block::Thinking,
            Kind::ToolUse { .. } | Kind::ToolResult { .. } | Kind::Image { .. } => Block::Call,
        };
        self.streamed = true;
        self.blocks.insert(start.index, kind);
        if kind == Block::Text { view.end_text() } else { Ok(()) }
    }

    fn delta<O: Write, E: Write>(&mut self, delta: &BlockDelta, view: &mut View<O, E>) -> Result<(), Fail> {
        let (Some(block), Some(text)) = (self.blocks.get(&delta.index), &delta.text) else { return Ok(()) };
        match block {
            Block::Text => view.text(text),
            Block::Thinking if view.screen.noise >= Noise::Verbose => {
                self.thought.push_str(text);
                Ok(())
            }
            Block::Thinking | Block::Call => Ok(()),
        }
    }

    /// A stage that does not stream.
    fn unstreamed<O: Write, E: Write>(
        &mut self,
        record: &MessageRecord,
        view: &mut View<O, E>,
    ) -> Result<(), Fail> {
        if record.message.role != Role::Assistant {
            return Ok(());
        }
        self.streamed = true;
        for block in &record.message.content {
            if let Kind::Text { text } = &block.kind {
                view.end_text()?;
                view.text(text)?;
            }
        }
        Ok(())
    }

    fn call<O: Write, E: Write>(&mut self, call: &ToolStart, view: &mut View<O, E>) -> Result<(), Fail> {
        let line = nub_render::call(&call.title);
        view.open(&call.id, &line)?;
        self.titles.insert(call.id.clone(), line);
        Ok(())
    }

    fn returned<O: Write, E: Write>(&mut self, end: &ToolEnd, view: &mut View<O, E>) -> Result<(), Fail> {
        let whole = self.titles.remove(&end.id).unwrap_or_else(|| nub_render::call(&end.name));
        view.close(&end.id, whole, nub_render::end(end))?;
        match &end.ui {
            Some(ui) if view.screen.noise >= Noise::Verbose => all(nub_render::body(ui), view),
            Some(_) | None => Ok(()),
        }
    }

    /// A cancel is no failure: the result says it. When a stage cannot begin as it is configured, it says
    /// why itself.
    fn failure<O: Write, E: Write>(
        &mut self,
        error: &ErrorRecord,
        view: &mut View<O, E>,
    ) -> Result<(), Fail> {
        if error.class == ErrorClass::Cancelled {
            return Ok(());
        }
        self.failed = true;
        if error.class == ErrorClass::Config && error.source == LOOP {
            return Ok(());
        }
        all(nub_render::error(error), view)
    }

    fn result<O: Write, E: Write>(&mut self, result: RunResult, view: &mut View<O, E>) -> Result<Seen, Fail> {
        view.end_text()?;
        let well = result.stop == Stop::EndTurn || self.failed;
        if view.screen.noise >= Noise::Verbose || (view.screen.noise >= Noise::Normal && !well) {
            view.line(&nub_render::result(&result))?;
        }
        *self = Show::default();
        Ok(Seen::Result(result))
    }
}

/// Lines beside the answer.
pub(crate) fn all<O: Write, E: Write>(lines: Vec<Line>, view: &mut View<O, E>) -> Result<(), Fail> {
    lines.iter().try_for_each(|line| view.line(line))
}

fn thought(text: &str) -> Vec<Line> {
    text.trim().lines().map(|line| Line::of(Style::Dim, format!("~ {line}"))).collect()
}

fn output<O: Write, E: Write>(output: &ToolOutput, view: &mut View<O, E>) -> Result<(), Fail> {
    output.text.lines().try_for_each(|line| view.line(&Line::of(Style::Dim, format!("  {line}"))))
}

fn read<T: DeserializeOwned>(raw: &Raw) -> Result<T, Fail> {
    raw.read().map_err(|e| Fail::usage(format!("nub-loop: {e}")))
}

/// The exit code a result stands for.
pub(crate) fn exit(code: u8) -> Exit {
    match code {
        0 => Exit::Success,
        2 => Exit::Usage,
        3 => Exit::Cancelled,
        4 => Exit::Limit,
        _ => Exit::Failure,
    }
}
