//! The tool `write`: all of a file, in one step that others see whole or not at all.

use std::fs::File;
use std::io::Read;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, Stat};
use rustix::io::Errno;
use serde::Deserialize;

use crate::cancel::Cancel;
use crate::definition::Definition;
use crate::diff::Change;
use crate::fit::fit;
use crate::jail::{Found, Spot, look, reason};
use crate::outcome::Outcome;
use crate::place::{Place, cannot};
use crate::read::{self, ReadArgs, system};
use crate::replace::{Old, replace};
use crate::stamps::Stamp;

/// Files up to this size are read before they are replaced, in bytes.
pub(crate) const MAX_OLD: u64 = 64 * 1024 * 1024;

/// Files up to this size are shown when they changed behind the model's back, in bytes.
const MAX_FRESH: u64 = 16 * 1024;

/// How long a lock of another process is respected, and how often it is tried.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(2);

pub(crate) const DEF: Definition = Definition {
    name: "write",
    description: "Create a file or replace all of it. Parent folders are made.",
    schema: r#"{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}"#,
};

/// The arguments.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct WriteArgs {
    pub path: String,
    pub content: String,
}

/// Runs the tool.
pub(crate) fn run(place: &Place, args: WriteArgs, cancel: &Cancel) -> Outcome {
    write(place, &args, cancel).map_err(|why| cannot("write", &args.path, why)).into()
}

fn write(place: &Place, args: &WriteArgs, cancel: &Cancel) -> Result<Outcome, String> {
    let lock = place.lock(&place.find_to_write(&args.path)?.rel);
    let _held = lock.lock().unwrap_or_else(PoisonError::into_inner);
    // another call may have made or changed the file while this one waited
    let spot = place.find_to_write(&args.path)?;
    if matches!(spot.found, Found::Missing(..)) {
        return save(place, &spot, None, args.content.as_bytes(), cancel);
    }
    let before = Before::open(place, &spot, cancel)?;
    before.check(place, &spot, &args.path, cancel)?;
    let new = before.bytes.as_ref().map(|old| fit(old, &args.content));
    let new = new.as_deref().unwrap_or(args.content.as_bytes());
    save(place, &spot, Some(&before), new, cancel)
}

/// A file before it is changed.
pub(crate) struct Before {
    file: File,
    stat: Stat,
    /// None when it is larger than [`MAX_OLD`].
    pub bytes: Option<Vec<u8>>,
}

impl Before {
    /// Opens and reads it, and keeps other nubs from changing it until this is dropped.
    pub(crate) fn open(place: &Place, spot: &Spot, cancel: &Cancel) -> Result<Before, String> {
        let (file, stat) = Before::hold(place, spot, cancel)?;
        let size = stat.st_size as u64;
        if size > MAX_OLD {
            return Ok(Before { file, stat, bytes: None });
        }
        let mut bytes = Vec::with_capacity(size as usize);
        (&file).take(MAX_OLD).read_to_end(&mut bytes).map_err(|e| system(&e))?;
        Ok(Before { file, stat, bytes: Some(bytes) })
    }

    /// The file of another process that holds it may be replaced meanwhile: then the new one is opened.
    fn hold(place: &Place, spot: &Spot, cancel: &Cancel) -> Result<(File, Stat), String> {
        let begun = Instant::now();
        loop {
            let (file, stat) = place.open_file(spot)?;
            let held = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive);
            let current = match &spot.found {
                Found::Entry(folder, name) => look(folder, name).is_ok_and(|now| now.st_ino == stat.st_ino),
                Found::Folder | Found::Missing(..) => true,
            };
            let is_busy = held == Err(Errno::WOULDBLOCK);
            // other programs hold locks for other reasons, and some file systems have none
            if (current && !is_busy) || begun.elapsed() > PATIENCE || cancel.is_set() {
                return Ok((file, stat));
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Refuses a file that is not what the model last saw; a small one is shown to it.
    pub(crate) fn check(
        &self,
        place: &Place,
        spot: &Spot,
        given: &str,
        cancel: &Cancel,
    ) -> Result<(), String> {
        if !place.stamps.stale(&spot.rel, &Stamp::of(&self.stat, self.bytes.as_deref())) {
            return Ok(());
        }
        let why = "it changed on disk since you last read it; nothing was written";
        if self.stat.st_size as u64 > MAX_FRESH {
            return Err(format!("{why}; read it again"));
        }
        let fresh = read::run(place, ReadArgs { path: given.into(), ..ReadArgs::default() }, cancel);
        Err(format!("{why}. It is now:\n{}", fresh.for_model()))
    }
}

/// Writes, remembers and reports.
pub(crate) fn save(
    place: &Place,
    spot: &Spot,
    before: Option<&Before>,
    new: &[u8],
    cancel: &Cancel,
) -> Result<Outcome, String> {
    let name = place.show(&spot.rel);
    let old = before.map(|before| before.bytes.as_deref().unwrap_or_default());
    if before.is_some_and(|before| before.bytes.as_deref() == Some(new)) {
        return Ok(Outcome::text(format!("'{name}' has this content already; nothing was written")));
    }
    place.sweep_once(spot);
    let notes = replace(spot, new, before.map(|b| Old { file: &b.file, stat: &b.stat }).as_ref(), cancel)?;
    if let Ok(Found::Entry(folder, entry)) = place.jail.follow(&spot.rel).map(|spot| spot.found) {
        place.stamps.put(&spot.rel, Stamp::of(&look(&folder, &entry).map_err(reason)?, Some(new)));
    }
    let diff = Change { rel: &spot.rel, old, new }.diff();
    let done = match before {
        Some(_) => format!("wrote '{name}' (+{} -{} lines)", diff.added, diff.removed),
        None if diff.added == 1 => format!("created '{name}' (1 line)"),
        None => format!("created '{name}' ({} lines)", diff.added),
    };
    let text = notes.iter().fold(done, |text, note| text + "; " + note);
    Ok(Outcome::text(text).with_ui(diff.ui))
}
