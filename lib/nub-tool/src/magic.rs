//! What a file is, by its first bytes.

/// How much of a file decides what it is, in bytes.
pub(crate) const HEAD: usize = 8192;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Text that is UTF-8, or some other extension of ASCII.
    Text,
    /// Text in UTF-16, little end first, with a mark.
    Utf16Le,
    /// Text in UTF-16, big end first, with a mark.
    Utf16Be,
    /// An image that models take, and its media type.
    Image(&'static str),
    /// Anything else, and what it is called.
    Binary(&'static str),
}

const IMAGES: &[(&[u8], &str)] = &[
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
];

const BINARIES: &[(&[u8], &str)] = &[
    (b"%PDF-", "PDF document"),
    (b"\x7fELF", "ELF program"),
    (b"\xcf\xfa\xed\xfe", "Mach-O program"),
    (b"MZ", "Windows program"),
    (b"\0asm", "WebAssembly module"),
    (b"PK\x03\x04", "zip archive (or a format built on it)"),
    (b"\x1f\x8b", "gzip archive"),
    (b"\xfd7zXZ\0", "xz archive"),
    (b"\x28\xb5\x2f\xfd", "zstd archive"),
    (b"BZh", "bzip2 archive"),
    (b"7z\xbc\xaf\x27\x1c", "7z archive"),
    (b"!<arch>\n", "ar archive"),
    (b"SQLite format 3\0", "SQLite database"),
    (b"\xca\xfe\xba\xbe", "Java class or Mach-O program"),
    (b"OggS", "Ogg media"),
    (b"ID3", "MP3 audio"),
    (b"fLaC", "FLAC audio"),
    (b"wOFF", "font"),
    (b"wOF2", "font"),
    (b"II*\0", "TIFF image"),
    (b"MM\0*", "TIFF image"),
    (b"BM", "BMP image"),
];

/// Signatures that a text may start with as well count only when the rest is no text.
const LIKE_TEXT: &[&[u8]] = &[b"MZ", b"BZh", b"OggS", b"ID3", b"fLaC", b"wOFF", b"wOF2", b"BM", b"GIF8"];

/// Tells from the first bytes of a file, at most [`HEAD`] of them.
pub(crate) fn kind(head: &[u8]) -> Kind {
    let starts = |magic: &[u8]| head.starts_with(magic);
    let textual = !head.contains(&0);
    let counts = |magic: &[u8]| starts(magic) && !(textual && LIKE_TEXT.iter().any(|m| magic.starts_with(m)));
    if let Some((_, media)) = IMAGES.iter().find(|(magic, _)| counts(magic)) {
        return Kind::Image(media);
    }
    if starts(b"RIFF") && head.get(8..12) == Some(b"WEBP") {
        return Kind::Image("image/webp");
    }
    if let Some((_, name)) = BINARIES.iter().find(|(magic, _)| counts(magic)) {
        return Kind::Binary(name);
    }
    match head {
        [0xff, 0xfe, 0, 0, ..] => Kind::Binary("UTF-32 text"),
        [0xff, 0xfe, ..] => Kind::Utf16Le,
        [0xfe, 0xff, ..] => Kind::Utf16Be,
        _ if textual => Kind::Text,
        _ => Kind::Binary("binary file"),
    }
}

/// A size for people: `512 bytes`, `1.5 MiB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// Bytes as base64, as image blocks carry them.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group =
            chunk.iter().fold(0u32, |all, byte| all << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = DIGITS[(group >> (18 - 6 * place) & 63) as usize];
            out.push(if place <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    out
}
