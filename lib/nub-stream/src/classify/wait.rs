//! How long a server asks to wait: in headers of several forms, or in its words.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::body::Told;

/// Numbers from here on are seconds since 1970, and from there on milliseconds.
const EPOCH_SECONDS: f64 = 1e9;
const EPOCH_MILLIS: f64 = 1e12;

/// The wait in milliseconds, when there is one.
#[must_use]
pub fn of(headers: &[(String, String)], told: &Told) -> Option<u64> {
    let all: Vec<(&str, &str)> =
        headers.iter().chain(&told.headers).map(|(name, value)| (name.as_str(), value.trim())).collect();
    let get = |wanted: &str| all.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value);
    // the server's own clock, since ours may differ
    let now = get("date").and_then(http_date).unwrap_or_else(since_epoch);
    get("retry-after-ms")
        .and_then(|value| value.parse::<f64>().ok())
        .map(|millis| millis / 1000.0)
        .or_else(|| get("retry-after").and_then(|value| point(value, now)))
        .or_else(|| reset(&all, now))
        .or_else(|| told.delay.as_deref().and_then(duration))
        .or_else(|| spoken(&told.message))
        .and_then(millis)
}

fn millis(seconds: f64) -> Option<u64> {
    let time = Duration::try_from_secs_f64(seconds.max(0.0)).ok()?;
    u64::try_from(time.as_micros().div_ceil(1000)).ok()
}

fn since_epoch() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// `x-ratelimit-reset-requests`, `anthropic-ratelimit-tokens-reset`, `ratelimit-reset` ...: only buckets
/// that are used up count, where the server says what remains.
fn reset(headers: &[(&str, &str)], now: f64) -> Option<f64> {
    let mut longest: Option<f64> = None;
    for (name, value) in
        headers.iter().filter(|(name, _)| name.contains("ratelimit") && name.contains("reset"))
    {
        let partner = name.replace("reset", "remaining");
        let remaining =
            headers.iter().find(|(name, _)| *name == partner).map(|(_, value)| value.parse::<f64>());
        if matches!(remaining, Some(Ok(left)) if left > 0.0) {
            continue;
        }
        if let Some(wait) = point(value, now) {
            longest = Some(longest.map_or(wait, |known| known.max(wait)));
        }
    }
    longest
}

/// Seconds from now: a number of them, a duration, or a point in time.
fn point(value: &str, now: f64) -> Option<f64> {
    if let Ok(number) = value.parse::<f64>() {
        return number.is_finite().then_some(match number {
            n if n >= EPOCH_MILLIS => n / 1000.0 - now,
            n if n >= EPOCH_SECONDS => n - now,
            n => n,
        });
    }
    let time = http_date(value).or_else(|| {
        let time = nub_sys::clock::parse(value)?;
        Some(time.duration_since(UNIX_EPOCH).ok()?.as_secs_f64())
    });
    time.map(|time| (time - now).ceil()).or_else(|| duration(value))
}

/// `6m0s`, `1.57s`, `20ms`, `1h2m`: in seconds.
fn duration(text: &str) -> Option<f64> {
    let (mut total, mut rest, mut any) = (0.0, text.trim(), false);
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let number: f64 = rest[..end].parse().ok()?;
        rest = &rest[end..];
        let unit = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let scale = match rest[..unit].trim() {
            "ms" => 0.001,
            "" | "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
            "m" | "min" | "minute" | "minutes" => 60.0,
            "h" | "hour" | "hours" => 3600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        total += number * scale;
        rest = &rest[unit..];
        any = true;
    }
    any.then_some(total)
}

/// `Please try again in 7.66s`, `retry after 20 seconds`.
fn spoken(message: &str) -> Option<f64> {
    let text = message.to_lowercase();
    let after = ["try again in ", "retry in ", "retry after "]
        .iter()
        .find_map(|word| text.find(word).map(|at| &text[at + word.len()..]))?;
    let number = after.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(after.len());
    let unit: String =
        after[number..].trim_start().chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '.').collect();
    let number = after[..number].trim_end_matches('.');
    duration(&format!("{number}{}", unit.trim_end_matches('.')))
}

/// An HTTP date such as `Tue, 01 Jul 2025 10:00:09 GMT`, in seconds since 1970.
fn http_date(text: &str) -> Option<f64> {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let mut words = text.split([' ', '-', ',']).filter(|word| !word.is_empty()).skip(1);
    let day: i64 = words.next()?.parse().ok()?;
    let month = words.next().filter(|word| word.len() == 3)?;
    let month = i64::try_from(MONTHS.find(month)? / 3 + 1).ok()?;
    let year: i64 = words.next()?.parse().ok()?;
    let mut clock = words.next()?.split(':').map(|part| part.parse::<i64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    let year = if year < 100 { year + 2000 } else { year };
    // days from civil, Howard Hinnant
    let (y, m) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    let era = y.div_euclid(400);
    let year_of_era = y - era * 400;
    let day_of_year = (153 * m + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = era * 146_097 + day_of_era - 719_468;
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second;
    i32::try_from(days).ok().map(|_| seconds as f64)
}
