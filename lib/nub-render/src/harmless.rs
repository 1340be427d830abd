//! Foreign text on its way to a terminal: what would steer the terminal is shown instead of sent, the
//! way `less` shows it.

use std::borrow::Cow;
use std::fmt::Write;

/// Text without control characters but line end and tab, and without what reorders or hides text.
/// `ESC` becomes `^[`, others `<U+009B>`. Emoji with joiners, flags, and right-to-left text stay.
#[must_use]
pub fn harmless(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\0'..='\x1f' if is_harmful(c) => {
                out.push('^');
                out.push(char::from(c as u8 ^ 0x40));
            }
            '\x7f' => out.push_str("^?"),
            // writing into a string cannot fail
            _ if is_harmful(c) => drop(write!(out, "<U+{:04X}>", u32::from(c))),
            _ => out.push(c),
        }
    }
    Cow::Owned(out)
}

fn is_harmful(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fff9}'..='\u{fffb}' => true,
        _ => c.is_control(),
    }
}
