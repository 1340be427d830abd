//! What the body of an error says, in whatever form.

use serde_json::Value;

/// The longest message that is passed on, in characters.
const LONGEST: usize = 1000;
/// How deep the words may lie, documents within documents included.
const DEEPEST: usize = 8;
/// Where servers put the error inside their answer.
const WRAPS: &[&str] = &["error", "errors", "base_resp", "detail"];
/// Where they put its words.
const MESSAGES: &[&str] =
    &["message", "msg", "status_msg", "error_message", "detail", "details", "error", "reason"];

/// What an error says.
#[derive(Debug, Default)]
pub struct Told {
    /// Its words, on one line.
    pub message: String,
    /// Everything that names its kind (`code`, `type`, `status` ...), in lower case.
    pub kinds: Vec<String>,
    /// Numbers under the names of codes.
    pub codes: Vec<i64>,
    /// Headers that a gateway repeats in the body, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The wait that the body names, such as `27s`.
    pub delay: Option<String>,
    /// There was no body.
    pub empty: bool,
}

impl Told {
    /// Reads a body.
    #[must_use]
    pub fn read(body: &[u8]) -> Told {
        let text = String::from_utf8_lossy(body);
        let text = text.trim();
        let mut told = Told { empty: text.is_empty(), ..Told::default() };
        match serde_json::from_str::<Value>(&nub_proto::lossless(text.as_bytes())) {
            Ok(value) => told.message = told.value(&value, 0),
            Err(_) if text.starts_with('<') => told.message = title(text),
            Err(_) => text.clone_into(&mut told.message),
        }
        told.message = one_line(&told.message);
        told
    }

    /// The HTTP status that the body itself names.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        let status = |code: &i64| u16::try_from(*code).ok().filter(|status| (400..600).contains(status));
        self.codes.iter().find_map(status)
    }

    /// Whether one of its kinds is this word.
    #[must_use]
    pub fn is(&self, word: &str) -> bool {
        self.kinds.iter().any(|kind| kind == word)
    }

    /// Message and kinds, in lower case.
    #[must_use]
    pub fn all(&self) -> String {
        format!("{} {}", self.message, self.kinds.join(" ")).to_lowercase()
    }

    fn value(&mut self, value: &Value, depth: usize) -> String {
        match value {
            _ if depth > DEEPEST => String::new(),
            Value::String(text) => self.text(text, depth),
            Value::Array(items) => {
                let texts: Vec<String> =
                    items.iter().take(3).map(|item| self.value(item, depth + 1)).collect();
                texts.iter().filter(|text| !text.is_empty()).cloned().collect::<Vec<_>>().join("; ")
            }
            Value::Object(fields) => {
                self.note(fields);
                let wrapped = WRAPS.iter().filter_map(|key| fields.get(*key)).find(|inner| !inner.is_null());
                let inner = wrapped.map(|inner| self.value(inner, depth + 1)).unwrap_or_default();
                let words = if inner.is_empty() { self.words(fields, depth) } else { inner };
                self.more(words, fields, depth)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
        }
    }

    /// A message that is itself a document is opened.
    fn text(&mut self, text: &str, depth: usize) -> String {
        if text.trim_start().starts_with(['{', '['])
            && let Ok(value) = serde_json::from_str::<Value>(text)
        {
            let inner = self.value(&value, depth + 1);
            if !inner.is_empty() {
                return inner;
            }
        }
        text.to_owned()
    }

    fn words(&mut self, fields: &serde_json::Map<String, Value>, depth: usize) -> String {
        let found = MESSAGES.iter().filter_map(|key| fields.get(*key));
        found.map(|value| self.value(value, depth + 1)).find(|text| !text.is_empty()).unwrap_or_default()
    }

    /// What stands beside the message: the provider's own words, what the model wrote.
    fn more(&mut self, mut words: String, fields: &serde_json::Map<String, Value>, depth: usize) -> String {
        if let Some(raw) = fields.get("metadata").and_then(|metadata| metadata.get("raw")) {
            let raw = self.value(raw, depth + 1);
            if !raw.is_empty() && !words.contains(&raw) {
                words = if words.is_empty() { raw } else { format!("{words}: {raw}") };
            }
        }
        if let Some(Value::String(failed)) = fields.get("failed_generation") {
            words = format!("{words} (the model wrote: {failed})");
        }
        words
    }

    fn note(&mut self, fields: &serde_json::Map<String, Value>) {
        for key in
            ["code", "status", "status_code", "statusCode", "http_status", "type", "error_type", "reason"]
        {
            match fields.get(key) {
                Some(Value::Number(number)) => self.codes.extend(number.as_i64()),
                Some(Value::String(word)) => {
                    self.codes.extend(word.parse::<i64>().ok());
                    self.kinds.push(word.to_lowercase());
                }
                _ => {}
            }
        }
        for inner in ["innererror", "metadata"] {
            if let Some(Value::Object(inner)) = fields.get(inner) {
                self.note(inner);
            }
        }
        if let Some(Value::Object(headers)) = fields.get("headers") {
            let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            self.headers.extend(headers.iter().map(|(name, value)| (name.to_lowercase(), text(value))));
        }
        if let Some(Value::Array(details)) = fields.get("details") {
            let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str());
            self.delay = delay.map(str::to_owned).or_else(|| self.delay.take());
        }
    }
}

/// The title of a page, never the page.
fn title(page: &str) -> String {
    let lower = page.to_ascii_lowercase();
    let inside = |tag: &str| {
        let start = lower.find(&format!("<{tag}"))?;
        let from = start + lower[start..].find('>')? + 1;
        let to = from + lower[from..].find("</")?;
        page.get(from..to).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    inside("title").or_else(|| inside("h1")).unwrap_or_default()
}

/// One line of bounded length, without what a terminal would obey.
pub fn one_line(text: &str) -> String {
    let mut line = String::new();
    for (count, word) in text.split_whitespace().enumerate() {
        if count > 0 {
            line.push(' ');
        }
        line.extend(word.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }));
        if line.len() > 4 * LONGEST {
            break;
        }
    }
    match line.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}...", &line[..at]),
        None => line,
    }
}
