//! Raw JSON values that are forwarded unread, and the mending of foreign JSON text.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A JSON value kept as the text it came in. Equal when the text is equal.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Json(Box<RawValue>);

impl Json {
    /// Takes text that must be one JSON value. Line breaks between its parts are left out: a record is one line.
    ///
    /// # Errors
    /// The text is no JSON.
    pub fn parse(text: &str) -> Result<Json, serde_json::Error> {
        let json = RawValue::from_string(text.to_owned())?;
        if !text.contains(['\n', '\r']) {
            return Ok(Json(json));
        }
        // valid JSON has none inside of strings
        RawValue::from_string(text.replace(['\n', '\r'], "")).map(Json)
    }

    /// Serialises any value.
    ///
    /// # Errors
    /// As `serde_json::to_string`: a map with keys that are no strings.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Json, serde_json::Error> {
        serde_json::value::to_raw_value(value).map(Json)
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        self.0.get()
    }

    /// Reads the value as a type.
    ///
    /// # Errors
    /// The value has another shape.
    pub fn read<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.0.get())
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Json) -> bool {
        self.text() == other.text()
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// JSON text that a strict parser takes: invalid UTF-8 becomes U+FFFD, and so does the escape of a
/// lone surrogate (servers that cut UTF-16 in the middle send them). Everything else stays as it is.
#[must_use]
pub fn lossless(bytes: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(bytes);
    if !has_surrogate_escape(text.as_bytes()) {
        return text;
    }
    Cow::Owned(mend_surrogates(&text))
}

fn has_surrogate_escape(bytes: &[u8]) -> bool {
    bytes.windows(4).any(|w| w[0] == b'\\' && w[1] == b'u' && (w[2] | 0x20) == b'd' && is_89abcdef(w[3]))
}

fn is_89abcdef(digit: u8) -> bool {
    matches!(digit, b'8' | b'9' | b'a'..=b'f' | b'A'..=b'F')
}

fn unit(bytes: &[u8], at: usize) -> Option<u32> {
    let escape = bytes.get(at..at + 6)?;
    if &escape[..2] != b"\\u" {
        return None;
    }
    u32::from_str_radix(std::str::from_utf8(&escape[2..]).ok()?, 16).ok()
}

fn mend_surrogates(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            continue;
        }
        let step = match unit(bytes, at) {
            Some(0xD800..=0xDBFF) if matches!(unit(bytes, at + 6), Some(0xDC00..=0xDFFF)) => 12,
            Some(0xD800..=0xDFFF) => {
                out.push_str(&text[from..at]);
                out.push_str("\\ufffd");
                from = at + 6;
                6
            }
            _ => 2,
        };
        at += step;
    }
    out.push_str(text.get(from..).unwrap_or_default());
    out
}
