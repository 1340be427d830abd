//! From payloads to chunks: what is an answer, what is an error in its place, and what is noise.

use nub_proto::{ErrorClass, lossless};
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::answer::Progress;
use crate::assemble::{Assembler, Sink};
use crate::chunk::Chunk;
use crate::classify;
use crate::failure::Failure;
use crate::lenient::{Count, Many, Raw, lenient};
use crate::sse::Sse;

/// How much of a strange payload a message shows, in characters.
const SHOWN: usize = 120;
/// Payloads that only keep the connection alive.
const NOISE: &[&str] = &["ping", "pong", "keepalive", "keep-alive", "heartbeat", "undefined", "none"];

lenient! {
    /// MiniMax's verdict on a request.
    struct BaseResp<'a> {
        "status_code" => status_code: Count,
    }
}

/// Reads payloads into an assembler.
pub struct Reader {
    /// The answer so far.
    pub assembler: Assembler,
    /// The sentinel came.
    pub done: bool,
    /// Something with choices came.
    pub answered: bool,
    /// Something else than that came.
    pub other: bool,
    /// The body is over: a payload without its end is torn, not wrong.
    pub ending: bool,
}

impl Reader {
    /// Reads into this assembler.
    pub fn new(assembler: Assembler) -> Reader {
        Reader { assembler, done: false, answered: false, other: false, ending: false }
    }

    /// Takes what the stream says.
    pub fn sse(&mut self, sse: Sse<'_>, sink: &mut Sink<'_>) -> Result<Progress, Failure> {
        match sse {
            Sse::Done => {
                self.done = true;
                Ok(Progress::Finished)
            }
            Sse::Error(value) => Err(refusal(value)),
            Sse::Event(name, data) => self.payload(name, data, sink).map(|()| Progress::More),
        }
    }

    /// Takes the data of one event, or one document.
    pub fn payload(&mut self, name: &str, data: &[u8], sink: &mut Sink<'_>) -> Result<(), Failure> {
        let data = data.trim_ascii();
        if !matches!(data.first(), Some(b'{' | b'[')) {
            return self.word(name, data);
        }
        match parse(data, |chunk| self.chunks(name, data, chunk, sink)) {
            Ok(result) => result,
            Err(_) if self.ending => Ok(()),
            Err(_) if name.contains("error") => Err(refusal(data)),
            Err(reason) => Err(Failure::new(
                ErrorClass::Protocol,
                format!("the server sent an event that is no JSON ({reason}): {}", shown(data)),
            )),
        }
    }

    fn chunks(
        &mut self,
        name: &str,
        data: &[u8],
        chunks: &[Chunk<'_>],
        sink: &mut Sink<'_>,
    ) -> Result<(), Failure> {
        for chunk in chunks {
            let failure = failure(name, data, chunk);
            self.answered |= chunk.choices.is_some();
            self.other |= chunk.choices.is_none();
            self.assembler.chunk(chunk, sink)?;
            if let Some(failure) = failure {
                return Err(failure);
            }
        }
        Ok(())
    }

    /// A payload that is neither object nor list.
    fn word(&self, name: &str, data: &[u8]) -> Result<(), Failure> {
        if name.contains("error") || data.to_ascii_lowercase().starts_with(b"error") {
            return Err(refusal(data));
        }
        let noise = data.first().is_none_or(|byte| *byte == b':')
            || NOISE.iter().any(|word| data.eq_ignore_ascii_case(word.as_bytes()))
            || serde_json::from_slice::<IgnoredAny>(data).is_ok();
        if noise || self.ending {
            return Ok(());
        }
        Err(Failure::new(
            ErrorClass::Protocol,
            format!("the server sent an event that is no JSON: {}", shown(data)),
        ))
    }
}

/// Parses one chunk or a list of them; lone surrogates and broken UTF-8 are replaced when they are in the way.
fn parse<T>(data: &[u8], take: impl FnOnce(&[Chunk<'_>]) -> T) -> Result<T, serde_json::Error> {
    // text that is known to be UTF-8 is parsed faster
    let first = match std::str::from_utf8(data) {
        Ok(text) if text.starts_with('{') => match serde_json::from_str(text) {
            Ok(chunk) => return Ok(take(&[chunk])),
            Err(reason) => Some(reason),
        },
        Ok(_) | Err(_) => None,
    };
    match serde_json::from_str::<Many<Chunk>>(&lossless(data)) {
        Ok(chunks) => Ok(take(&chunks.0)),
        Err(reason) => Err(first.unwrap_or(reason)),
    }
}

/// What is wrong according to the server, if it says so.
fn failure(name: &str, data: &[u8], chunk: &Chunk<'_>) -> Option<Failure> {
    let in_choice =
        || chunk.choices.iter().flat_map(|choices| &choices.0).find_map(|choice| real(choice.error));
    if let Some(error) = real(chunk.error).or_else(in_choice) {
        return Some(if error.get().starts_with('{') { classify::in_stream(error) } else { refusal(data) });
    }
    if let Some(base) = chunk.base_resp
        && serde_json::from_str::<BaseResp>(base.get()).is_ok_and(|base| base.status_code.0.unwrap_or(0) != 0)
    {
        return Some(classify::in_stream(base));
    }
    let complaint = chunk.choices.is_none()
        && chunk.usage.is_none()
        && (real(chunk.complaint).is_some()
            || chunk.message.is_some_and(|message| message.get().starts_with('"')));
    (name.contains("error") || chunk.object.0 == "error" || complaint).then(|| refusal(data))
}

/// An error that is one: `null`, `false` and empty values are not.
fn real(error: Raw<'_>) -> Option<&RawValue> {
    error.filter(|error| !matches!(error.get(), "null" | "false" | "\"\"" | "{}" | "[]" | "0"))
}

/// The failure that a payload tells of, be it JSON or only text.
fn refusal(data: &[u8]) -> Failure {
    let text = lossless(data.trim_ascii());
    let raw = match serde_json::from_str::<&RawValue>(&text) {
        Ok(raw) => Ok(raw.to_owned()),
        Err(_) => serde_json::value::to_raw_value(&*text),
    };
    match raw {
        Ok(raw) => classify::in_stream(&raw),
        Err(_) => Failure::new(ErrorClass::Server, shown(data)).retryable(),
    }
}

/// The beginning of foreign text, made harmless for a message.
pub fn shown(data: &[u8]) -> String {
    let text = String::from_utf8_lossy(&data[..data.len().min(4 * SHOWN)]);
    let mut short: String = text.chars().take(SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if short.len() < data.len() {
        short.push_str("...");
    }
    short
}
