//! Errors as servers word them.

use nub_proto::ErrorClass::{self, Auth, BadRequest, ContextLength, Protocol, RateLimit, Server, Timeout};
use serde_json::value::RawValue;

use super::{http, in_stream};

fn head(headers: &[(&str, &str)]) -> Vec<(String, String)> {
    headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn waits_in_every_form() {
    let date = ("date", "Tue, 01 Jul 2025 10:00:00 GMT");
    for (headers, body, wait) in [
        (vec![("retry-after", "7")], "", Some(7000)),
        (vec![date, ("retry-after", "Tue, 01 Jul 2025 10:00:09 GMT")], "", Some(9000)),
        (vec![date, ("retry-after", "Tue, 01 Jul 2025 09:00:00 GMT")], "", Some(0)),
        (vec![("retry-after-ms", "350"), ("retry-after", "1")], "", Some(350)),
        (vec![("retry-after", "0.5")], "", Some(500)),
        (
            vec![
                ("x-ratelimit-reset-requests", "6m0s"),
                ("x-ratelimit-remaining-requests", "12"),
                ("x-ratelimit-reset-tokens", "1.57s"),
                ("x-ratelimit-remaining-tokens", "0"),
            ],
            "",
            Some(1570),
        ),
        (vec![date, ("x-ratelimit-reset", "1751364012000")], "", Some(12_000)),
        (vec![date, ("x-ratelimit-reset", "1751364012")], "", Some(12_000)),
        (
            vec![
                date,
                ("anthropic-ratelimit-tokens-reset", "2025-07-01T10:00:05Z"),
                ("anthropic-ratelimit-tokens-remaining", "0"),
            ],
            "",
            Some(5000),
        ),
        (vec![], r#"{"error":{"message":"Please try again in 20ms."}}"#, Some(20)),
        (vec![], r#"{"error":{"message":"Please retry in 1m2.5s."}}"#, Some(62_500)),
        (
            vec![],
            r#"{"error":{"code":429,"message":"You exceeded your current quota","details":[{"@type":"x","retryDelay":"27s"}]}}"#,
            Some(27_000),
        ),
        (
            vec![date],
            r#"{"error":{"message":"x","code":429,"metadata":{"headers":{"X-RateLimit-Reset":"1751364003000"}}}}"#,
            Some(3000),
        ),
        (vec![("retry-after", "soon")], "", None),
    ] {
        let failure = http(429, &head(&headers), body.as_bytes());
        assert_eq!((failure.class, failure.retryable), (ErrorClass::RateLimit, true), "{headers:?} {body}");
        assert_eq!(failure.retry_after_ms, wait, "{headers:?} {body}");
    }
}

/// Status, body, class, and whether asking again may help.
type Row = (u16, &'static str, ErrorClass, bool);

fn check(rows: &[Row]) {
    for (status, body, class, retryable) in rows {
        let failure = http(*status, &[], body.as_bytes());
        assert_eq!((failure.class, failure.retryable), (*class, *retryable), "{status} {body}");
        assert!(!failure.message.is_empty());
    }
}

#[test]
fn a_status_has_its_class() {
    check(&[
        (400, "{}", BadRequest, false),
        (401, "", Auth, false),
        (402, "", Auth, false),
        (403, "", Auth, false),
        (404, "", BadRequest, false),
        (408, "", Timeout, true),
        (413, "", ContextLength, false),
        (413, "Request Entity Too Large", BadRequest, false),
    ]);
}

#[test]
fn words_say_more_than_a_status() {
    check(&[
        (
            413,
            r#"{"error":{"message":"Request too large for model on tokens per minute (TPM): Limit 6000, Requested 7000","type":"tokens","code":"rate_limit_exceeded"}}"#,
            RateLimit,
            false,
        ),
        (
            400,
            r#"[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]"#,
            Auth,
            false,
        ),
        (400, r#"{"error":{"message":"Your credit balance is too low"}}"#, Auth, false),
        (400, "ThrottlingException: Too many tokens, please wait before trying again.", RateLimit, true),
        (429, "Too many tokens, please wait before trying again.", RateLimit, true),
        (429, r#"{"error":{"message":"x","type":"exceeded_current_quota_error"}}"#, RateLimit, false),
        (
            400,
            "max_tokens is too large: 20000. This model supports at most 16384 completion tokens",
            BadRequest,
            false,
        ),
        (503, r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#, Server, true),
        (
            400,
            "The input token count (1200000) exceeds the maximum number of tokens allowed",
            ContextLength,
            false,
        ),
        (422, r#"{"detail":[{"msg":"extra fields not permitted"}]}"#, BadRequest, false),
        (425, "", Server, true),
        (
            429,
            r#"{"error":{"message":"Rate limit reached: Limit 30000, Used 29000, Requested 1500. Please try again in 1s."}}"#,
            RateLimit,
            true,
        ),
        (429, r#"{"error":{"message":"context length of the rate limit window"}}"#, RateLimit, true),
        (
            500,
            r#"{"error":{"message":"the request exceeds the available context size"}}"#,
            ContextLength,
            false,
        ),
        (500, "Jinja Exception: roles", BadRequest, false),
        (503, "", Server, true),
        (524, "<html><title>524: A timeout occurred</title></html>", Server, true),
        (307, "", Protocol, false),
    ]);
}

#[test]
fn the_servers_own_words_are_passed_on() {
    for (body, message) in [
        (r#"{"error":{"message":"no"}}"#, "no"),
        (r#"[{"error":{"message":"no","status":"INVALID_ARGUMENT"}}]"#, "no"),
        (r#"{"error":"no"}"#, "no"),
        (r#"{"message":"no"}"#, "no"),
        (r#"{"detail":"no"}"#, "no"),
        (r#"{"error":{"message":"{\"error\":{\"message\":\"no\"}}"}}"#, "no"),
        (r#"{"object":"error","message":{"detail":[{"msg":"no"}]}}"#, "no"),
        (
            r#"{"error":{"message":"Provider returned error","metadata":{"raw":"{\"error\":\"no\"}"}}}"#,
            "Provider returned error: no",
        ),
        ("no\nway", "no way"),
        ("<html><head><title>no</title></head>", "no"),
        (r#"{"error":{"message":"bad tool sch"#, r#"{"error":{"message":"bad tool sch"#),
        (r#"{"code":"invalid","error":"no"}"#, "no"),
    ] {
        assert_eq!(http(400, &[], body.as_bytes()).message, message, "{body}");
    }
}

#[test]
fn an_error_in_an_answer_is_classified_like_a_status() {
    for (error, class, retryable) in [
        (r#"{"code":429,"message":"slow"}"#, RateLimit, true),
        (r#"{"code":"502","message":"x"}"#, Server, true),
        (r#""engine exploded""#, Server, true),
        (r#"{"message":"backend gone"}"#, Server, true),
        (r#"{"type":"overloaded_error","message":"Overloaded"}"#, Server, true),
        (r#"{"status_code":1008,"status_msg":"insufficient balance"}"#, Auth, false),
        (r#"{"status_code":1002,"status_msg":"rate limit"}"#, RateLimit, true),
        (r#"{"message":"x","code":"content_filter"}"#, BadRequest, false),
        (r#"{"code":400,"message":"exceeds the available context size"}"#, ContextLength, false),
        (r#"{"message":"x","code":"tool_use_failed","status_code":400}"#, BadRequest, false),
        (r#"{"status":"RESOURCE_EXHAUSTED","message":"x"}"#, RateLimit, true),
        (r#"{"message":"Invalid API key"}"#, Auth, false),
        (r#"{"message":"This model's maximum context length is 8192 tokens"}"#, ContextLength, false),
    ] {
        let raw: Box<RawValue> = serde_json::from_str(error).unwrap();
        let failure = in_stream(&raw);
        assert_eq!((failure.class, failure.retryable), (class, retryable), "{error}");
    }
}
