//! The words by which servers tell what is wrong, where the status does not.

use super::body::Told;

/// A window that is full, whatever else is said.
const CONTEXT_SURE: &[&str] = &["context_length_exceeded", "maximum context length", "exceed_context_size"];
/// A window that is full, unless the text is about a rate.
const CONTEXT: &[&str] = &[
    "context length",
    "context window",
    "context size",
    "context limit",
    "context_window",
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "maximum prompt length",
    "reduce the length of the messages",
    "exceeded model token limit",
    "tokens_limit_reached",
    "maximum allowed input length",
    "maximum input length",
    "too many tokens",
    "model_max_prompt_tokens_exceeded",
];
/// Pairs of words of which the second comes somewhere after the first.
const CONTEXT_PAIRS: &[(&str, &str)] = &[
    ("input token count", "exceeds"),
    ("prompt token count", "exceeds the limit"),
    ("request body too large", "tokens"),
    ("prompt contains", "tokens"),
    ("input length", "exceed"),
];
/// Text about a rate.
const THROTTLE: &[&str] = &["throttl", "rate limit", "please wait", "tokens per min", "quota"];
/// Looks alike, but the answer's limit is meant.
const NOT_CONTEXT: &[&str] = &["max_tokens is too large", "completion tokens"];

/// Whether the prompt is longer than the window.
#[must_use]
pub fn is_context_length(status: u16, told: &Told) -> bool {
    if status == 413 && told.empty {
        return true;
    }
    if !matches!(status, 400 | 413 | 422 | 500 | 503) {
        return false;
    }
    let text = told.all();
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if has(CONTEXT_SURE) {
        return true;
    }
    let pair = CONTEXT_PAIRS
        .iter()
        .any(|(first, then)| text.find(first).is_some_and(|at| text[at..].contains(then)));
    (has(CONTEXT) || pair) && !has(THROTTLE) && !has(NOT_CONTEXT)
}

/// Whether the provider refuses what the prompt says: asking again changes nothing.
#[must_use]
pub fn is_policy(told: &Told) -> bool {
    const KINDS: &[&str] = &[
        "content_filter",
        "responsibleaipolicyviolation",
        "content_policy_violation",
        "data_inspection_failed",
    ];
    const TEXT: &[&str] = &["content management policy", "content policy", "flagged", "moderation"];
    let text = told.message.to_lowercase();
    KINDS.iter().any(|kind| told.is(kind)) || TEXT.iter().any(|word| text.contains(word))
}

/// The status that the words mean, where a server uses 400 or 403 for everything.
#[must_use]
pub fn mended(status: u16, told: &Told) -> u16 {
    const KEY: &[&str] =
        &["api_key_invalid", "invalid_api_key", "api key not valid", "incorrect api key", "invalid api key"];
    const CREDIT: &[&str] =
        &["credit balance is too low", "insufficient balance", "insufficient credit", "insufficient_balance"];
    if !matches!(status, 400 | 403) {
        return status;
    }
    let text = told.all();
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    match () {
        () if has(KEY) => 401,
        () if has(CREDIT) => 402,
        () if has(&["throttl"]) => 429,
        () => status,
    }
}

/// Whether the text is about a rate.
#[must_use]
pub fn is_rate(told: &Told) -> bool {
    told.is("rate_limit_exceeded") || told.all().contains("tokens per min")
}

/// Whether a 429 is about money: waiting changes nothing.
#[must_use]
pub fn is_quota(told: &Told) -> bool {
    const KINDS: &[&str] = &[
        "insufficient_quota",
        "billing_not_active",
        "billing_hard_limit_reached",
        "exceeded_current_quota_error",
    ];
    if KINDS.iter().any(|kind| told.is(kind)) {
        return true;
    }
    if told.delay.is_some() {
        return false;
    }
    let text = told.all();
    const TEXT: &[&str] =
        &["exceeded your current quota", "insufficient balance", "insufficient credit", "out of credit"];
    TEXT.iter().any(|word| text.contains(word))
}

/// Whether a 429 is about one request that is larger than the whole budget.
#[must_use]
pub fn is_too_large(told: &Told) -> bool {
    let text = told.all();
    if text.contains("request too large") || text.contains("must be reduced") {
        return true;
    }
    match (number_after(&text, "limit "), number_after(&text, "requested ")) {
        (Some(limit), Some(requested)) => requested > limit && limit > 0 && !text.contains("used "),
        _ => false,
    }
}

fn number_after(text: &str, word: &str) -> Option<u64> {
    let rest = text[text.find(word)? + word.len()..].trim_start_matches([':', ' ']);
    let digits: String =
        rest.chars().take_while(|c| c.is_ascii_digit() || *c == ',').filter(|c| *c != ',').collect();
    digits.parse().ok()
}

/// Whether a chat template refused the conversation: deterministic, although the status is 500.
#[must_use]
pub fn is_template(told: &Told) -> bool {
    const TEXT: &[&str] = &[
        "jinja",
        "raise_exception",
        "chat template",
        "chat_template",
        "templateerror",
        "roles must alternate",
    ];
    let text = told.all();
    TEXT.iter().any(|word| text.contains(word))
}

/// The HTTP status that an error without one would have.
#[must_use]
pub fn status(told: &Told) -> Option<u16> {
    if let Some(status) = told.codes.iter().find_map(|code| vendor(*code)) {
        return Some(status);
    }
    let kinds = told.kinds.iter().find_map(|kind| kind_status(kind));
    kinds.or_else(|| text_status(&told.all()))
}

/// Codes of MiniMax (`base_resp`) and z.ai that are no HTTP status.
fn vendor(code: i64) -> Option<u16> {
    Some(match code {
        1000 | 1013 | 1024 | 1033 => 500,
        1001 => 504,
        1002 | 1039 | 1041 | 1302 | 1303 | 1305 | 2056 => 429,
        1004 | 2049 => 401,
        1008 | 1113 => 402,
        1026 | 1027 | 1042 | 1210 | 1211 | 1214 | 1261 | 1301 | 2013 => 400,
        _ => return None,
    })
}

fn kind_status(kind: &str) -> Option<u16> {
    Some(match kind {
        "overloaded_error" | "overloaded" | "engine_overloaded" => 529,
        "rate_limit_error"
        | "rate_limit_exceeded"
        | "resource_exhausted"
        | "too_many_requests"
        | "insufficient_quota"
        | "rate_limited" => 429,
        "authentication_error" | "invalid_api_key" | "unauthenticated" | "unauthorized" => 401,
        "permission_error" | "permission_denied" | "forbidden" => 403,
        "billing_error" | "insufficient_balance" | "payment_required" => 402,
        "not_found_error" | "not_found" | "model_not_found" => 404,
        "request_too_large" => 413,
        "timeout_error" | "deadline_exceeded" => 504,
        "unavailable" | "service_unavailable" | "provider_unavailable" => 503,
        "invalid_request_error"
        | "bad_request_error"
        | "invalid_argument"
        | "failed_precondition"
        | "tool_use_failed"
        | "badrequesterror"
        | "bad_request" => 400,
        "api_error" | "server_error" | "internal" | "internal_server_error" | "internal_error" => 500,
        _ => return None,
    })
}

fn text_status(text: &str) -> Option<u16> {
    const WORDS: &[(&str, u16)] = &[
        ("rate limit", 429),
        ("too many requests", 429),
        ("insufficient balance", 402),
        ("insufficient credit", 402),
        ("invalid api key", 401),
        ("incorrect api key", 401),
        ("unauthorized", 401),
        ("context length", 400),
        ("context size", 400),
        ("context window", 400),
    ];
    WORDS.iter().find(|(word, _)| text.contains(word)).map(|(_, status)| *status)
}
