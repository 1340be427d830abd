//! Ids of tool calls: the server's own where it sent a usable one, else generated.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Nine alphanumeric characters, which every server takes when the call goes back to it.
const LENGTH: usize = 9;
const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// The ids of one session.
#[derive(Debug)]
pub struct Ids {
    taken: HashSet<String>,
    next: u64,
}

impl Ids {
    /// Knows the ids that were used before. The same ids before give the same ids after.
    pub fn new(taken: HashSet<String>) -> Ids {
        let next = taken.iter().fold(0u64, |sum, id| sum.wrapping_add(hash(id)));
        Ids { taken, next }
    }

    /// The id a call gets: the wanted one if it is not empty and not in use, else a new one.
    pub fn claim(&mut self, wanted: &str) -> String {
        if !wanted.trim().is_empty() && self.taken.insert(wanted.to_owned()) {
            return wanted.to_owned();
        }
        loop {
            self.next = self.next.wrapping_add(1);
            let id = spell(hash(&self.next));
            if self.taken.insert(id.clone()) {
                return id;
            }
        }
    }
}

fn hash(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn spell(mut number: u64) -> String {
    (0..LENGTH)
        .map(|_| {
            let digit = DIGITS[(number % 36) as usize];
            number /= 36;
            char::from(digit)
        })
        .collect()
}
