//! What a person attaches to a prompt: text in a fence that its content cannot close, pictures as blocks.

use crate::{Block, Kind};

/// Text as a fenced block under a line that names it. The fence is longer than any inside.
#[must_use]
pub fn fenced(name: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let head = if name.is_empty() { String::new() } else { format!("{name}:\n") };
    format!("{head}{fence}\n{text}{end}{fence}")
}

/// The media type of a picture that models take, known by its first bytes.
#[must_use]
pub fn picture(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// A picture as a block, or `None` when the bytes are none.
#[must_use]
pub fn image(bytes: &[u8]) -> Option<Block> {
    let media_type = picture(bytes)?.to_owned();
    Some(Block::new(Kind::Image { media_type, data: base64(bytes) }))
}

/// Base64 with padding.
#[must_use]
pub fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = DIGITS[(word >> (18 - 6 * place) & 63) as usize];
            out.push(if place <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    out
}
