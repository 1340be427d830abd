//! How much text must be held back because it may be the beginning of a marker.

/// The length of the longest end of `text` that is a beginning of `marker`, but not all of it.
pub fn overlap(text: &str, marker: &str) -> usize {
    let most = text.len().min(marker.len().saturating_sub(1));
    (1..=most).rev().find(|n| text.as_bytes().ends_with(&marker.as_bytes()[..*n])).unwrap_or(0)
}

/// The same for the marker that holds back most.
pub fn longest<'a>(text: &str, markers: impl IntoIterator<Item = &'a str>) -> usize {
    markers.into_iter().map(|marker| overlap(text, marker)).max().unwrap_or(0)
}

/// What stands at the beginning of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Head {
    /// The marker.
    Found,
    /// Nothing, or the beginning of the marker: more text tells.
    Maybe,
    /// Something else.
    Other,
}

/// Whether a text begins with a marker.
pub fn head(text: &str, marker: &str) -> Head {
    if text.starts_with(marker) {
        Head::Found
    } else if marker.starts_with(text) {
        Head::Maybe
    } else {
        Head::Other
    }
}
