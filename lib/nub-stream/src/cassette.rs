//! A cassette: requests and their answers in a file, to be played back without a server. The file is one
//! `cassette` record and an `exchange` record for each request; keys and other headers of requests are
//! never written.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nub_proto::{ErrorClass, Json, Reader, Record, encode};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::failure::Failure;
use crate::http::Call;

/// How many characters of each side a miss shows.
const SHOWN: usize = 60;

/// First record of the file.
#[derive(Debug, Serialize, Deserialize)]
struct Cassette {
    #[serde(rename = "match")]
    order: Match,
}

/// How answers are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Match {
    /// The request must be the recorded one.
    Exact,
    /// In their order, whatever is asked.
    Order,
}

/// A request and its answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Exchange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request: Option<Asked>,
    response: Answered,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Asked {
    method: String,
    path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<Json>,
}

/// An answer as it came.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Answered {
    /// HTTP status.
    pub status: u16,
    /// Names in lower case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// The body, in pieces of any length.
    pub body: Vec<String>,
    /// Why the body did not come to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<String>,
}

impl Record for Cassette {
    const TYPE: &'static str = "cassette";
}

impl Record for Exchange {
    const TYPE: &'static str = "exchange";
}

/// Writes a cassette.
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    file: File,
}

impl Recorder {
    /// Makes a new file, for the user alone: it holds what was said.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn create(path: &Path) -> io::Result<Recorder> {
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        let mut recorder = Recorder { path: path.to_owned(), file };
        recorder.add(&Cassette { order: Match::Exact })?;
        Ok(recorder)
    }

    /// Adds a request with its answer.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn exchange(&mut self, request: Request, response: Answered) -> Result<(), Failure> {
        self.add(&Exchange { request: Some(request.0), response }).map_err(|e| {
            let path = self.path.display();
            Failure::new(ErrorClass::Config, format!("cannot write the cassette '{path}': {e}"))
        })
    }

    fn add<T: Record>(&mut self, record: &T) -> io::Result<()> {
        let mut line = Vec::new();
        encode(record, &mut line)?;
        self.file.write_all(&line)
    }
}

/// What is recorded of a request.
#[derive(Debug)]
pub struct Request(Asked);

impl Request {
    /// Method, path and body.
    #[must_use]
    pub fn of(call: &Call) -> Request {
        let rest = call.url.split_once("://").map_or(call.url.as_str(), |(_, rest)| rest);
        let path = rest.find('/').map_or("/", |at| &rest[at..]);
        let path = path.split('?').next().unwrap_or(path).to_owned();
        let body = std::str::from_utf8(&call.body).ok().and_then(|text| Json::parse(text).ok());
        Request(Asked { method: call.method.to_string(), path, body })
    }
}

/// Plays a cassette.
#[derive(Debug)]
pub struct Player {
    path: PathBuf,
    order: Match,
    exchanges: Vec<Exchange>,
    played: Vec<bool>,
}

impl Player {
    /// Reads a file.
    ///
    /// # Errors
    /// As text: it cannot be read, or is no cassette.
    pub fn open(path: &Path) -> Result<Player, String> {
        let fault = |what: &dyn std::fmt::Display| format!("cannot play '{}': {what}", path.display());
        let mut reader = Reader::new(File::open(path).map_err(|e| fault(&e))?);
        let (mut order, mut exchanges) = (None, Vec::new());
        while let Some(line) = reader.next_line().map_err(|e| fault(&e))? {
            if line.is::<Cassette>() {
                order = Some(line.read::<Cassette>().map_err(|e| fault(&e))?.order);
            } else if line.is::<Exchange>() {
                exchanges.push(line.read::<Exchange>().map_err(|e| fault(&e))?);
            }
        }
        let order = order.ok_or_else(|| fault(&"it does not begin with a cassette record"))?;
        let played = vec![false; exchanges.len()];
        Ok(Player { path: path.to_owned(), order, exchanges, played })
    }

    /// The recorded answer to a request.
    ///
    /// # Errors
    /// There is none: says where the request first differs from the nearest recorded one.
    pub fn play(&mut self, call: &Call) -> Result<Answered, Failure> {
        let Request(asked) = Request::of(call);
        let fits = |exchange: &Exchange| match self.order {
            Match::Order => true,
            Match::Exact => exchange.request.as_ref() == Some(&asked),
        };
        let fresh = (0..self.exchanges.len()).find(|at| !self.played[*at] && fits(&self.exchanges[*at]));
        let again = || match self.order {
            Match::Order => None,
            Match::Exact => self.exchanges.iter().rposition(fits),
        };
        let Some(at) = fresh.or_else(again) else { return Err(self.miss(&asked)) };
        self.played[at] = true;
        Ok(self.exchanges[at].response.clone())
    }

    fn miss(&self, asked: &Asked) -> Failure {
        let path = self.path.display();
        let count = self.exchanges.len();
        let failure = |what: String| {
            Failure::new(ErrorClass::Config, format!("the cassette '{path}' has no answer: {what}"))
                .hint("record it again with --record")
        };
        if self.order == Match::Order {
            return failure(format!("all {count} of its answers were played"));
        }
        let text = |asked: &Asked| asked.body.as_ref().map(|body| body.text().to_owned()).unwrap_or_default();
        let own = text(asked);
        let recorded = self.exchanges.iter().enumerate().filter_map(|(at, exchange)| {
            let request = exchange.request.as_ref().filter(|known| known.path == asked.path)?;
            let body = text(request);
            Some((common(&own, &body), at + 1, body))
        });
        match recorded.max_by_key(|(same, at, _)| (*same, usize::MAX - at)) {
            None => failure(format!("nothing like {} {} was recorded", asked.method, asked.path)),
            Some((same, number, body)) => failure(format!(
                "the request first differs from recorded request {number} at byte {same}{}: recorded {}, asked {}",
                place(&body, &own),
                excerpt(&body, same),
                excerpt(&own, same),
            )),
        }
    }
}

/// How many bytes two texts have in common, cut at a character.
fn common(a: &str, b: &str) -> usize {
    let mut same = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    while !a.is_char_boundary(same) || !b.is_char_boundary(same) {
        same -= 1;
    }
    same
}

fn excerpt(text: &str, from: usize) -> String {
    let rest = &text[from..];
    if rest.is_empty() {
        return "nothing".into();
    }
    let shown: String = rest.chars().take(SHOWN).collect();
    format!("`{shown}{}`", if shown.len() < rest.len() { "..." } else { "" })
}

/// Where in the document that is, such as ` (messages[2].content)`.
fn place(recorded: &str, asked: &str) -> String {
    let read = |text| serde_json::from_str::<Value>(text).unwrap_or(Value::Null);
    let mut path = String::new();
    differ(&read(recorded), &read(asked), &mut path);
    if path.is_empty() { path } else { format!(" ({})", path.trim_start_matches('.')) }
}

fn differ(a: &Value, b: &Value, path: &mut String) -> bool {
    let length = path.len();
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
            for key in keys {
                path.push('.');
                path.push_str(key);
                if differ(a.get(key).unwrap_or(&Value::Null), b.get(key).unwrap_or(&Value::Null), path) {
                    return true;
                }
                path.truncate(length);
            }
            false
        }
        (Value::Array(a), Value::Array(b)) => {
            for at in 0..a.len().max(b.len()) {
                path.push_str(&format!("[{at}]"));
                if differ(a.get(at).unwrap_or(&Value::Null), b.get(at).unwrap_or(&Value::Null), path) {
                    return true;
                }
                path.truncate(length);
            }
            false
        }
        _ => a != b,
    }
}
