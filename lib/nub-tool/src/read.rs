//! The tool `read`: numbered lines of a file, an image, or the entries of a folder.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek};
use std::path::Path;

use nub_proto::{Block, Kind as BlockKind, Ui};
use rustix::fs::{OFlags, Stat};
use serde::Deserialize;

use crate::cancel::Cancel;
use crate::definition::Definition;
use crate::jail::{Found, Spot, reason};
use crate::magic::{self, Kind};
use crate::names::shown;
use crate::nearest::alike_names;
use crate::outcome::Outcome;
use crate::place::{Place, cannot};
use crate::stamps::Stamp;
use crate::text::{self, Decoded, Order};

/// Lines that are shown when the model does not say.
const DEFAULT_LINES: u64 = 2000;

/// Characters of a line that are shown.
const LINE_CHARS: usize = 2000;

/// Bytes of text one call shows.
const SHOWN_BYTES: usize = 256 * 1024;

/// Files up to this size are read whole: their lines are counted and their bytes remembered.
const WHOLE_BYTES: u64 = 8 * 1024 * 1024;

/// Bytes that are read from a larger file at once.
const BUFFER: usize = 64 * 1024;

/// Providers take images up to 5 MB of base64.
const IMAGE_BYTES: u64 = 3_750_000;

/// A name is like another from this share of common pairs of characters on, in percent.
const NEAR: usize = 60;

/// Entries of a folder that are looked at.
const MAX_ENTRIES: usize = 100_000;

/// Entries of a folder that are shown.
const ENTRIES: usize = 1000;

pub(crate) const DEF: Definition = Definition {
    name: "read",
    description: "Read a file (numbered lines), image or folder.",
    schema: r#"{"type":"object","properties":{"path":{"type":"string"},"offset":{"type":"integer","minimum":0,"description":"first line"},"limit":{"type":"integer","minimum":1,"description":"lines, default 2000"}},"required":["path"]}"#,
};

/// The arguments.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct ReadArgs {
    pub path: String,
    pub offset: Option<u64>,
    pub limit: Option<u64>,
}

/// The lines that are wanted.
struct Window {
    first: u64,
    limit: u64,
}

/// Runs the tool.
pub(crate) fn run(place: &Place, args: ReadArgs, cancel: &Cancel) -> Outcome {
    read(place, &args, cancel).map_err(|why| cannot("read", &args.path, why)).into()
}

fn read(place: &Place, args: &ReadArgs, cancel: &Cancel) -> Result<Outcome, String> {
    let window =
        Window { first: args.offset.unwrap_or(1).max(1), limit: args.limit.unwrap_or(DEFAULT_LINES) };
    if window.limit == 0 {
        return Err("'limit' is 0; ask for at least one line".into());
    }
    let spot = place.find(&args.path)?;
    if matches!(spot.found, Found::Folder) {
        return folder(place, &spot, &window, cancel);
    }
    let (mut file, stat) = place.open_file(&spot).map_err(|why| why + &near(place, &spot, cancel))?;
    let size = stat.st_size as u64;
    let mut head = Vec::new();
    file.by_ref().take(magic::HEAD as u64).read_to_end(&mut head).map_err(|e| system(&e))?;
    file.rewind().map_err(|e| system(&e))?;
    match magic::kind(&head) {
        Kind::Image(media) => image(&mut file, media, size),
        Kind::Binary(name) => {
            Err(format!("it is binary: {name}, {}; look at it with bash if you must", magic::size(size)))
        }
        Kind::Utf16Le => utf16(place, &spot, file, &stat, &window, Order::Little, cancel),
        Kind::Utf16Be => utf16(place, &spot, file, &stat, &window, Order::Big, cancel),
        Kind::Text => plain(place, &spot, file, &stat, &window, cancel),
    }
}

fn image(file: &mut File, media: &str, size: u64) -> Result<Outcome, String> {
    if size > IMAGE_BYTES {
        return Err(format!(
            "the image has {}, more than the {} that models take; make it smaller with bash",
            magic::size(size),
            magic::size(IMAGE_BYTES)
        ));
    }
    let mut bytes = Vec::new();
    file.take(IMAGE_BYTES).read_to_end(&mut bytes).map_err(|e| system(&e))?;
    let mut outcome = Outcome::text(format!("{media}, {}", magic::size(size)));
    let data = magic::base64(&bytes);
    outcome.content.push(Block::new(BlockKind::Image { media_type: media.into(), data }));
    Ok(outcome)
}

fn plain(
    place: &Place,
    spot: &Spot,
    file: File,
    stat: &Stat,
    window: &Window,
    cancel: &Cancel,
) -> Result<Outcome, String> {
    let size = stat.st_size as u64;
    // a file that grows while it is read ends where it ended when it was opened
    let mut bounded = file.take(size);
    if size > WHOLE_BYTES {
        place.stamps.put(&spot.rel, Stamp::of(stat, None));
        return lines(BufReader::with_capacity(BUFFER, bounded), spot, window, Rest::Unknown, cancel);
    }
    let mut bytes = Vec::with_capacity(size as usize);
    bounded.read_to_end(&mut bytes).map_err(|e| system(&e))?;
    place.stamps.put(&spot.rel, Stamp::of(stat, Some(&bytes)));
    lines(Cursor::new(bytes), spot, window, Rest::Counted, cancel)
}

fn utf16(
    place: &Place,
    spot: &Spot,
    file: File,
    stat: &Stat,
    window: &Window,
    order: Order,
    cancel: &Cancel,
) -> Result<Outcome, String> {
    let size = stat.st_size as u64;
    if size > WHOLE_BYTES {
        return Err(format!("it is UTF-16 text of {}; convert it with iconv first", magic::size(size)));
    }
    let mut bytes = Vec::new();
    file.take(size).read_to_end(&mut bytes).map_err(|e| system(&e))?;
    place.stamps.put(&spot.rel, Stamp::of(stat, Some(&bytes)));
    let text = text::from_utf16(&bytes, order);
    let mut outcome = lines(Cursor::new(text.into_bytes()), spot, window, Rest::Counted, cancel)?;
    if let Some(BlockKind::Text { text }) = outcome.content.first_mut().map(|block| &mut block.kind) {
        text.push_str("\n[the file is UTF-16]");
    }
    Ok(outcome)
}

/// Whether the lines after the shown ones are counted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    Counted,
    Unknown,
}

/// What is shown, as it grows.
#[derive(Default)]
struct Page {
    text: String,
    lines: u64,
    latin1: u64,
    full: bool,
}

impl Page {
    fn add(&mut self, number: u64, line: &text::Line) {
        let (decoded, how) = text::decode_line(line);
        let (kept, _) = text::cut(&decoded, LINE_CHARS);
        let bytes = match how {
            Decoded::Utf8 => kept.len(),
            Decoded::Latin1 => kept.chars().count(),
        };
        let left = line.bytes.len() as u64 + line.more - bytes as u64;
        let kept = if number == 1 { kept.strip_prefix('\u{feff}').unwrap_or(kept) } else { kept };
        if self.lines > 0 {
            self.text.push('\n');
        }
        self.text.push_str(&format!("{number}\t{kept}"));
        if left > 0 {
            self.text.push_str(&format!(" [line cut: {left} more bytes]"));
        }
        self.lines += 1;
        self.latin1 += u64::from(how == Decoded::Latin1);
        self.full = self.text.len() >= SHOWN_BYTES;
    }
}

fn lines(
    mut reader: impl BufRead,
    spot: &Spot,
    window: &Window,
    rest: Rest,
    cancel: &Cancel,
) -> Result<Outcome, String> {
    let skipped = text::skip_lines(&mut reader, window.first - 1, cancel).map_err(|e| system(&e))?;
    if skipped < window.first - 1 {
        return past_end(spot, skipped);
    }
    let mut next = |keep| text::next_line(&mut reader, keep, cancel).map_err(|e| system(&e));
    let mut page = Page::default();
    let mut ended = false;
    while page.lines < window.limit && !page.full && !ended {
        // four bytes a character, and one to see that there is more
        match next(LINE_CHARS * 4 + 1)? {
            Some(line) => page.add(window.first + page.lines, &line),
            None => ended = true,
        }
    }
    if page.lines == 0 {
        return past_end(spot, window.first - 1);
    }
    let last = window.first + page.lines - 1;
    let more = match rest {
        _ if ended => Some(0),
        Rest::Counted => Some(text::skip_lines(&mut reader, u64::MAX, cancel).map_err(|e| system(&e))?),
        Rest::Unknown if next(0)?.is_none() => Some(0),
        Rest::Unknown => None,
    };
    Ok(finish(page, spot, window.first, last, more))
}

/// Adds what the model must know of what it does not see.
fn finish(mut page: Page, spot: &Spot, first: u64, last: u64, more: Option<u64>) -> Outcome {
    if page.latin1 > 0 {
        page.text.push_str(&format!("\n[not UTF-8: {} lines shown as Latin-1]", page.latin1));
    }
    match more {
        Some(0) => {}
        Some(more) => {
            let total = last + more;
            page.text
                .push_str(&format!("\n[lines {first}-{last} of {total}; go on with offset={}]", last + 1));
        }
        None => page.text.push_str(&format!("\n[more lines follow; go on with offset={}]", last + 1)),
    }
    Outcome::text(page.text).with_ui(Ui::File {
        path: shown(&spot.rel),
        first_line: first,
        lines: page.lines,
        total_lines: more.map(|more| last + more),
        truncated: more != Some(0),
    })
}

fn past_end(spot: &Spot, lines: u64) -> Result<Outcome, String> {
    match lines {
        0 => Ok(Outcome::text("[the file is empty]").with_ui(Ui::File {
            path: shown(&spot.rel),
            first_line: 1,
            lines: 0,
            total_lines: Some(0),
            truncated: false,
        })),
        lines => Err(format!("it has only {lines} lines; 'offset' is too large")),
    }
}

fn folder(place: &Place, spot: &Spot, window: &Window, cancel: &Cancel) -> Result<Outcome, String> {
    let mut names = entries(place, spot, cancel)?;
    if names.is_empty() {
        return Ok(Outcome::text("[the folder is empty]"));
    }
    names.sort();
    let total = names.len();
    let skip = usize::try_from(window.first - 1).unwrap_or(usize::MAX);
    let limit = usize::try_from(window.limit).unwrap_or(usize::MAX).min(ENTRIES);
    let shown: Vec<String> = names.into_iter().skip(skip).take(limit).collect();
    let last = skip.saturating_add(shown.len());
    let mut text = shown.join("\n");
    if last < total {
        text.push_str(&format!("\n[{} of {total} entries; go on with offset={}]", shown.len(), last + 1));
    }
    Ok(Outcome::text(text).with_ui(Ui::Paths { count: total, truncated: last < total }))
}

fn entries(place: &Place, spot: &Spot, cancel: &Cancel) -> Result<Vec<String>, String> {
    let fd = place.jail.beneath(&spot.rel, OFlags::RDONLY | OFlags::DIRECTORY).map_err(reason)?;
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::new(fd).map_err(reason)?.take(MAX_ENTRIES) {
        if cancel.is_set() {
            return Err("cancelled".into());
        }
        let entry = entry.map_err(reason)?;
        let name = String::from_utf8_lossy(entry.file_name().to_bytes()).into_owned();
        if name == "." || name == ".." || place.rules.denied(&spot.rel.join(&name)) {
            continue;
        }
        let mark = match entry.file_type() {
            rustix::fs::FileType::Directory => "/",
            rustix::fs::FileType::Symlink => "@",
            _ => "",
        };
        names.push(shown(Path::new(&name)) + mark);
    }
    Ok(names)
}

/// Where a name is missing: the names there that are most like it.
fn near(place: &Place, spot: &Spot, cancel: &Cancel) -> String {
    let Found::Missing(_, names) = &spot.found else { return String::new() };
    let rel = spot.rel.ancestors().nth(names.len()).unwrap_or(Path::new("")).to_path_buf();
    let folder = Spot { rel, found: Found::Folder };
    let wanted = names[0].to_string_lossy();
    let entries = entries(place, &folder, cancel).unwrap_or_default();
    let scored = entries.iter().map(|name| (alike_names(&wanted, name.trim_end_matches(['/', '@'])), name));
    let mut near: Vec<_> = scored.filter(|(score, _)| *score >= NEAR).collect();
    near.sort_by(|one, two| two.cmp(one));
    let near: Vec<String> = near
        .iter()
        .take(3)
        .map(|(_, name)| place.show(&folder.rel.join(name.trim_end_matches(['/', '@']))))
        .collect();
    if near.is_empty() { String::new() } else { format!("; there is {}", near.join(", ")) }
}

/// An I/O error in the house's form.
pub(crate) fn system(e: &io::Error) -> String {
    match e.raw_os_error() {
        Some(code) => reason(rustix::io::Errno::from_raw_os_error(code)),
        None => e.to_string(),
    }
}
