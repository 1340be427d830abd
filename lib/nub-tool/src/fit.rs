//! New text for an old file: its byte order mark, its encoding and the ends of its lines are kept.
//! `read` shows none of them, so a model that writes back what it read must not lose them.

use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

use crate::magic::{self, Kind};
use crate::text::{self, Line, Order};

/// The mark at the start of UTF-8 files of some systems.
pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";

/// After this time lines are matched less well.
const PATIENCE: Duration = Duration::from_millis(500);

/// The bytes that take the place of `old`, when `content` is what the model wants to see there.
pub(crate) fn fit(old: &[u8], content: &str) -> Vec<u8> {
    match magic::kind(&old[..old.len().min(magic::HEAD)]) {
        Kind::Utf16Le => utf16(old, content, Order::Little),
        Kind::Utf16Be => utf16(old, content, Order::Big),
        Kind::Text => plain(old, content),
        Kind::Image(_) | Kind::Binary(_) => content.as_bytes().to_vec(),
    }
}

fn utf16(old: &[u8], content: &str, order: Order) -> Vec<u8> {
    let old = text::from_utf16(old, order);
    let new = plain(old.as_bytes(), content.trim_start_matches('\u{feff}'));
    text::to_utf16(&String::from_utf8_lossy(&new), order)
}

fn plain(old: &[u8], content: &str) -> Vec<u8> {
    let mark = if old.starts_with(BOM) && !content.starts_with('\u{feff}') { BOM } else { b"" };
    let body = old.strip_prefix(BOM).unwrap_or(old);
    let odd = memchr::memchr(b'\r', body).is_some() || std::str::from_utf8(body).is_err();
    let mut new = mark.to_vec();
    if odd && !content.contains('\r') {
        line_by_line(body, content, &mut new);
    } else {
        new.extend_from_slice(content.as_bytes());
    }
    new
}

/// A line of the old file: what `read` shows of it, its bytes, its end.
struct Known<'a> {
    shown: String,
    bytes: &'a [u8],
    end: &'a [u8],
}

fn known(line: &[u8]) -> Known<'_> {
    let bytes = line.strip_suffix(b"\n").unwrap_or(line);
    let bytes = if bytes.len() < line.len() { bytes.strip_suffix(b"\r").unwrap_or(bytes) } else { bytes };
    let (shown, _) = text::decode_line(&Line { bytes: bytes.to_vec(), more: 0 });
    Known { shown, bytes, end: &line[bytes.len()..] }
}

/// Lines that stay keep their bytes; new ones end like the line before them.
fn line_by_line(old: &[u8], content: &str, out: &mut Vec<u8>) {
    let old: Vec<Known> = old.split_inclusive(|byte| *byte == b'\n').map(known).collect();
    let new: Vec<&str> = content.split_inclusive('\n').collect();
    let before: Vec<&str> = old.iter().map(|line| line.shown.as_str()).collect();
    let after: Vec<&str> = new.iter().map(|line| line.trim_end_matches('\n')).collect();
    let latin1 = old.iter().any(|line| std::str::from_utf8(line.bytes).is_err());
    let mut end = old.iter().map(|line| line.end).find(|end| !end.is_empty()).unwrap_or(b"\n");
    let mut put = |at: usize, from: Option<usize>| {
        let from = from.map(|at| &old[at]);
        match from {
            Some(line) => out.extend_from_slice(line.bytes),
            None => match text::to_latin1(after[at]).filter(|_| latin1) {
                Some(bytes) => out.extend_from_slice(&bytes),
                None => out.extend_from_slice(after[at].as_bytes()),
            },
        }
        if let Some(line) = from.filter(|line| !line.end.is_empty()) {
            end = line.end;
        }
        if new[at].ends_with('\n') {
            out.extend_from_slice(end);
        }
    };
    let deadline = Instant::now() + PATIENCE;
    for op in capture_diff_slices_deadline(Algorithm::Myers, &before, &after, Some(deadline)) {
        match op {
            DiffOp::Equal { old_index, new_index, len } => {
                (0..len).for_each(|i| put(new_index + i, Some(old_index + i)));
            }
            DiffOp::Insert { new_index, new_len, .. } | DiffOp::Replace { new_index, new_len, .. } => {
                (new_index..new_index + new_len).for_each(|at| put(at, None));
            }
            DiffOp::Delete { .. } => {}
        }
    }
}
