//! What people are shown before they allow a call: the command, or the diff it would make.

use std::io::Read;

use nub_proto::{Json, Ui};
use serde::de::DeserializeOwned;

use crate::arguments;
use crate::bash::BashArgs;
use crate::diff;
use crate::edit::{self, EditArgs, Times};
use crate::fit::fit;
use crate::jail::{Found, Spot};
use crate::place::Place;
use crate::tools::{Bench, Tool};
use crate::write::WriteArgs;

/// Files up to this size are compared, in bytes.
const MAX_OLD: u64 = 4 << 20;

/// The picture of a call that has not happened. Nothing where the call would fail.
pub(crate) fn preview(bench: &Bench, tool: Tool, input: &Json) -> Option<Ui> {
    match tool {
        Tool::Bash => Some(command(args::<BashArgs>(tool, input)?.command)),
        Tool::Write => written(&bench.place, &args(tool, input)?),
        Tool::Edit => edited(&bench.place, &args(tool, input)?),
        Tool::Read | Tool::Glob | Tool::Grep | Tool::Todo => None,
    }
}

fn args<A: DeserializeOwned>(tool: Tool, input: &Json) -> Option<A> {
    arguments::read(tool.def(), input).ok()
}

fn command(command: String) -> Ui {
    Ui::Command {
        command,
        exit_code: None,
        signal: None,
        timed_out: false,
        bytes: 0,
        truncated: false,
        full_output: None,
    }
}

fn written(place: &Place, args: &WriteArgs) -> Option<Ui> {
    let spot = place.find_to_write(&args.path).ok()?;
    if matches!(spot.found, Found::Missing(..)) {
        return Some(change(&spot, None, args.content.as_bytes()));
    }
    let old = old(place, &spot)?;
    Some(change(&spot, Some(&old), &fit(&old, &args.content)))
}

fn edited(place: &Place, args: &EditArgs) -> Option<Ui> {
    let spot = place.find_to_write(&args.path).ok()?;
    let old = old(place, &spot)?;
    let change_of = edit::Change { old: &args.old, new: &args.new, times: Times::from(args.replace_all) };
    let new = change_of.file(&old).ok()?;
    Some(change(&spot, Some(&old), &new))
}

fn change(spot: &Spot, old: Option<&[u8]>, new: &[u8]) -> Ui {
    diff::Change { rel: &spot.rel, old, new }.diff().ui
}

fn old(place: &Place, spot: &Spot) -> Option<Vec<u8>> {
    let (file, _) = place.open_file(spot).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_OLD).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
