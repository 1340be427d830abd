//! What the words mean with which servers say why an answer ended.

/// Everything that was said about the end.
#[derive(Debug, Default)]
pub struct Finish {
    /// Some reason came.
    pub any: bool,
    /// The answer reached a limit.
    pub length: bool,
    /// The limit is the context window.
    pub window: bool,
    /// A filter, or the model itself, refused.
    pub refusal: bool,
    /// The server failed: its word.
    pub error: Option<String>,
}

const LENGTH: &[&str] =
    &["length", "max_tokens", "maxtokens", "max_output", "token_limit", "window_exceeded"];
const WINDOW: &[&str] = &["context_window", "context_length"];
const REFUSAL: &[&str] = &[
    "filter",
    "safety",
    "sensitive",
    "refus",
    "blocked",
    "blocklist",
    "prohibited",
    "recitation",
    "spii",
    "guardrail",
    "moderation",
    "policy",
];
const ERROR: &[&str] = &[
    "error",
    "abort",
    "cancel",
    "fail",
    "insufficient",
    "malformed",
    "timeout",
    "overload",
    "interrupt",
    "unavailable",
];

impl Finish {
    /// Takes a finish reason; none and empty ones say nothing.
    pub fn add(&mut self, word: &str) {
        let word = word.trim().to_ascii_lowercase();
        if word.is_empty() || word == "null" || word == "none" {
            return;
        }
        let any_of = |words: &[&str]| words.iter().any(|w| word.contains(w));
        self.any = true;
        if any_of(WINDOW) {
            self.window = true;
            self.length = true;
        } else if any_of(LENGTH) {
            self.length = true;
        } else if any_of(REFUSAL) {
            self.refusal = true;
        } else if any_of(ERROR) && self.error.is_none() {
            self.error = Some(word);
        }
    }
}
