//! When a request is tried again, and after how long: the one place in nub that retries.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{Duration, Instant};

use crate::failure::Failure;

/// The first wait without the server's word; each further one is twice as long.
const FIRST: Duration = Duration::from_secs(1);
/// The longest wait without the server's word.
const LONGEST: Duration = Duration::from_secs(30);
/// A server that asks for a longer wait than this is not waited for.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// After this long no new attempt begins, counted from the first.
const TOTAL: Duration = Duration::from_secs(300);

/// The attempts of one request.
#[derive(Debug)]
pub struct Attempts {
    began: Instant,
    /// Attempts after the first, so far and at most.
    made: u32,
    max: u32,
}

/// The next attempt.
#[derive(Debug, PartialEq, Eq)]
pub struct Again {
    /// Its number, from 1.
    pub attempt: u32,
    /// How many there are at most.
    pub max: u32,
    /// The wait before it.
    pub delay: Duration,
}

impl Attempts {
    /// The first attempt begins now; at most `max` follow.
    #[must_use]
    pub fn new(max: u32) -> Attempts {
        Attempts { began: Instant::now(), made: 0, max }
    }

    /// Whether and when to try again. A failure for good says why it is one.
    ///
    /// # Errors
    /// It is not tried again.
    pub fn next(&mut self, mut failure: Failure) -> Result<(Again, Failure), Failure> {
        let asked = failure.retry_after_ms.map(Duration::from_millis);
        if let Some(wait) = asked.filter(|wait| failure.retryable && *wait > PATIENCE) {
            failure.message = format!("{} (the server asks to wait {})", failure.message, spoken(wait));
            failure.hint.get_or_insert(format!("nub waits at most {}: try again later", spoken(PATIENCE)));
            return Err(failure);
        }
        if !failure.retryable || self.made >= self.max {
            return Err(failure);
        }
        let delay = match asked {
            Some(wait) => wait + jitter(Duration::from_millis(100).min(wait)),
            None => {
                let wait = FIRST.saturating_mul(1 << self.made.min(10)).min(LONGEST);
                wait + jitter(wait / 4)
            }
        };
        if self.began.elapsed() + delay > TOTAL {
            return Err(failure);
        }
        self.made += 1;
        Ok((Again { attempt: self.made, max: self.max, delay }, failure))
    }
}

/// A time for people: seconds, minutes or hours.
fn spoken(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7199 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h", seconds.div_ceil(3600)),
    }
}

/// A random time up to this one, so that many clients do not come back at once.
fn jitter(most: Duration) -> Duration {
    let random = RandomState::new().build_hasher().finish();
    let millis = u64::try_from(most.as_millis()).unwrap_or(u64::MAX);
    Duration::from_millis(random % (millis + 1))
}

#[cfg(test)]
mod tests {
    use nub_proto::ErrorClass;

    use super::*;

    fn failure(retry_after_ms: Option<u64>) -> Failure {
        Failure { retry_after_ms, ..Failure::new(ErrorClass::RateLimit, "slow down").retryable() }
    }

    #[test]
    fn waits_double_with_jitter_and_end() {
        let mut attempts = Attempts::new(3);
        for (attempt, least) in [(1, 1), (2, 2), (3, 4)] {
            let (again, _) = attempts.next(failure(None)).unwrap();
            assert_eq!((again.attempt, again.max), (attempt, 3));
            let least = Duration::from_secs(least);
            assert!(again.delay >= least && again.delay <= least + least / 4, "{:?}", again.delay);
        }
        assert!(attempts.next(failure(None)).is_err());
    }

    #[test]
    fn the_server_is_obeyed_up_to_a_minute() {
        let (again, _) = Attempts::new(1).next(failure(Some(60_000))).unwrap();
        assert!(again.delay >= Duration::from_secs(60) && again.delay <= Duration::from_millis(60_100));
        let late = Attempts::new(1).next(failure(Some(61_000))).unwrap_err();
        assert!(late.message.contains("61 s"));
    }

    #[test]
    fn what_asking_again_does_not_mend_is_not_asked_again() {
        assert!(Attempts::new(3).next(Failure::new(ErrorClass::Auth, "no")).is_err());
        assert!(Attempts::new(0).next(failure(None)).is_err());
    }
}
