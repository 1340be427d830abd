//! What the user attaches to a prompt, and other files that were named on the command line.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use nub_proto::{Block, Format, Json, fenced, image};
use nub_sys::Fail;

/// The largest file or piped text that is attached, in bytes.
const LARGEST: u64 = 16 << 20;

/// The user's message while it is put together: one text, then the pictures.
#[derive(Debug)]
pub(crate) struct Content {
    text: String,
    pictures: Vec<Block>,
}

impl Content {
    pub(crate) fn new(prompt: &str) -> Content {
        Content { text: prompt.to_owned(), pictures: Vec::new() }
    }

    /// Attaches what a file holds: a picture as a block, text in a fence.
    ///
    /// # Errors
    /// It cannot be read, is too large, or is neither.
    pub(crate) fn attach(&mut self, name: &str, input: &mut impl Read) -> Result<(), Fail> {
        let bytes = bytes_of(name, input)?;
        self.add(name, name, &bytes)
    }

    /// Attaches what is piped in; an empty pipe adds nothing.
    ///
    /// # Errors
    /// As [`Content::attach`].
    pub(crate) fn attach_piped(&mut self, input: &mut impl Read) -> Result<(), Fail> {
        let bytes = bytes_of("stdin", input)?;
        if bytes.iter().all(u8::is_ascii_whitespace) { Ok(()) } else { self.add("stdin", "", &bytes) }
    }

    fn add(&mut self, name: &str, shown: &str, bytes: &[u8]) -> Result<(), Fail> {
        if let Some(picture) = image(bytes) {
            self.pictures.push(picture);
            return Ok(());
        }
        let text = text_of(name, bytes)?;
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        self.text.push_str(&fenced(&one_line(shown), &text));
        Ok(())
    }

    pub(crate) fn blocks(self) -> Vec<Block> {
        let text = (!self.text.trim().is_empty()).then(|| Block::text(self.text));
        text.into_iter().chain(self.pictures).collect()
    }
}

/// A name on one line, whatever characters it has.
pub(crate) fn one_line(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { '\u{FFFD}' } else { c }).collect()
}

fn bytes_of(name: &str, input: &mut impl Read) -> Result<Vec<u8>, Fail> {
    let refuse = |reason: String| Fail::usage(format!("cannot read '{}': {reason}", one_line(name)));
    let mut bytes = Vec::new();
    input.take(LARGEST + 1).read_to_end(&mut bytes).map_err(|e| refuse(e.to_string()))?;
    if bytes.len() as u64 > LARGEST {
        return Err(refuse(format!("it is larger than {} MiB", LARGEST >> 20)));
    }
    Ok(bytes)
}

fn text_of(name: &str, bytes: &[u8]) -> Result<String, Fail> {
    let utf16 = bytes.starts_with(b"\xFF\xFE") || bytes.starts_with(b"\xFE\xFF");
    if bytes.contains(&0) || utf16 {
        return Err(Fail::usage(format!("cannot attach '{}': it is binary", one_line(name)))
            .advice("text in UTF-8 and png, jpeg, gif and webp pictures can be attached"));
    }
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

/// The text of a file that was named.
///
/// # Errors
/// It cannot be read, is too large or binary.
pub(crate) fn read_text(path: &Path) -> Result<String, Fail> {
    let name = path.to_string_lossy();
    let mut file =
        File::open(path).map_err(|e| Fail::usage(format!("cannot read '{}': {e}", one_line(&name))))?;
    text_of(&name, &bytes_of(&name, &mut file)?)
}

/// The text of an option that takes a file or the text itself. A lone word that can only be meant as
/// a path is never taken for a text.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn file_or_text(cwd: &Path, value: &str) -> Result<String, Fail> {
    let path = cwd.join(value);
    let is_word = !value.is_empty() && !value.contains(char::is_whitespace);
    let has_ending = Path::new(value).extension().is_some_and(|ending| !ending.is_empty());
    let is_path = is_word && (value.contains('/') || has_ending);
    if is_path || (value.len() < 256 && !value.is_empty() && path.is_file()) {
        return read_text(&path);
    }
    Ok(value.to_owned())
}

/// The form of an answer, from a file that holds a JSON schema; it is named after the file.
///
/// # Errors
/// The file cannot be read or holds no JSON object.
pub(crate) fn schema(path: &Path) -> Result<Format, Fail> {
    /// The longest name that servers take, in characters.
    const LONGEST: usize = 64;
    let refuse = |reason: &str| Fail::usage(format!("'{}' is no JSON schema: {reason}", path.display()));
    let text = read_text(path)?;
    let schema = Json::parse(&minified(text.trim())).map_err(|e| refuse(&e.to_string()))?;
    if !schema.text().starts_with('{') {
        return Err(refuse("it is no object"));
    }
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let name =
        stem.chars().take(LONGEST).map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' });
    Ok(Format { name: name.collect(), schema })
}

/// JSON without the blanks between its tokens, keys in their order: a record is one line, and the
/// order of properties is the order in which a model fills them.
pub(crate) fn minified(json: &str) -> String {
    let (mut in_string, mut escaped) = (false, false);
    json.chars()
        .filter(|c| {
            let keep = in_string || !c.is_ascii_whitespace();
            if escaped {
                escaped = false;
            } else if in_string && *c == '\\' {
                escaped = true;
            } else if *c == '"' {
                in_string = !in_string;
            }
            keep
        })
        .collect()
}
