//! What a server's error means: class, retry and the wait it asks for.

mod body;
#[cfg(test)]
mod tests;
mod wait;
mod words;

use nub_proto::ErrorClass;
use serde_json::value::RawValue;

use crate::failure::Failure;
use body::Told;

/// Status of an error that says no more than that it is one.
const UNKNOWN: u16 = 500;

/// An HTTP error. Header names are in lower case.
#[must_use]
pub fn http(status: u16, headers: &[(String, String)], body: &[u8]) -> Failure {
    let told = Told::read(body);
    if (300..400).contains(&status) {
        return redirect(status, headers);
    }
    let mut failure = judge(status, &told);
    failure.status = Some(status);
    if failure.message.is_empty() {
        failure.message = format!("the server answered with HTTP {status}{}", reason(status));
    }
    if failure.retryable {
        failure.retry_after_ms = wait::of(headers, &told);
    }
    failure
}

/// An error object (or string) inside an answer of status 200: classified as the same code would be as
/// HTTP status.
#[must_use]
pub fn in_stream(error: &RawValue) -> Failure {
    let told = Told::read(error.get().as_bytes());
    let mut failure = judge(told.status().unwrap_or_else(|| words::status(&told).unwrap_or(UNKNOWN)), &told);
    if failure.message.is_empty() {
        failure.message = "the server reported an error without words".into();
    }
    if failure.retryable {
        failure.retry_after_ms = wait::of(&[], &told);
    }
    failure
}

fn judge(status: u16, told: &Told) -> Failure {
    let failure = |class| Failure::new(class, told.message.clone());
    if words::is_context_length(status, told) {
        return failure(ErrorClass::ContextLength).hint("compact the conversation or start a new one");
    }
    if words::is_policy(told) {
        return failure(ErrorClass::BadRequest);
    }
    match words::mended(status, told) {
        401 | 403 => failure(ErrorClass::Auth),
        402 => failure(ErrorClass::Auth).hint("check credit and billing of the account"),
        429 if words::is_quota(told) => {
            failure(ErrorClass::RateLimit).hint("the quota is used up: check plan and billing of the account")
        }
        413 if words::is_rate(told) => failure(ErrorClass::RateLimit)
            .hint("this one request is larger than the limit per minute: compact the conversation"),
        429 if words::is_too_large(told) => failure(ErrorClass::RateLimit)
            .hint("this one request is larger than the limit per minute: compact the conversation"),
        429 => failure(ErrorClass::RateLimit).retryable(),
        408 => failure(ErrorClass::Timeout).retryable(),
        425 | 498 => failure(ErrorClass::Server).retryable(),
        500.. if words::is_template(told) => failure(ErrorClass::BadRequest).hint(
            "the model's chat template refuses this conversation; see the endpoint's caps in nub-config(5)",
        ),
        501 | 505 => failure(ErrorClass::Server),
        500.. => failure(ErrorClass::Server).retryable(),
        _ => failure(ErrorClass::BadRequest),
    }
}

/// The key and the prompt go only where the user sent them.
fn redirect(status: u16, headers: &[(String, String)]) -> Failure {
    let place = headers.iter().find(|(name, _)| name == "location").map_or("elsewhere", |(_, value)| value);
    let message = format!("the server redirects to {place}; nub does not follow (HTTP {status})");
    let failure = Failure::new(ErrorClass::Protocol, message).hint("correct base_url of the endpoint");
    Failure { status: Some(status), ..failure }
}

fn reason(status: u16) -> &'static str {
    match status {
        400 => " (bad request)",
        401 => " (unauthorized)",
        403 => " (forbidden)",
        404 => " (not found)",
        408 | 504 | 522 | 524 => " (timeout)",
        413 => " (too large)",
        429 => " (too many requests)",
        500 => " (internal error)",
        502 => " (bad gateway)",
        503 => " (unavailable)",
        529 => " (overloaded)",
        _ => "",
    }
}
