//! Tests of the pure parts.

use crate::{attach, files, hidden};

#[test]
fn hidden_characters_are_left_out_and_told() {
    let tags: String = "ignore".chars().map(|c| char::from_u32(c as u32 + 0xE0000).unwrap()).collect();
    for (text, kept, class) in [
        (format!("a{tags}b"), "ab", "6 of class tag, the first at byte 1"),
        ("pass\u{200B}word".into(), "password", "1 of class zero-width"),
        ("a\u{200D}b".into(), "ab", "zero-width"),
        ("x\u{202E}y\u{2066}z".into(), "xyz", "2 of class bidirectional control"),
        ("so\u{AD}ft".into(), "soft", "soft hyphen"),
        ("a\u{FE0F}".into(), "a", "variation selector"),
        ("\u{1F600}\u{E0110}\u{E0111}".into(), "\u{1F600}", "2 of class variation selector"),
    ] {
        let (clean, notes) = hidden::clean(&text);
        assert_eq!(clean, kept);
        assert!(notes.len() == 1 && notes[0].contains(class), "{notes:?}");
    }
}

#[test]
fn honest_text_stays() {
    for text in [
        "plain",
        "caf\u{e9} \u{2014} \u{4F8B}\u{E0100}",
        "\u{1F3F4}\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F} flag",
        "\u{1F469}\u{200D}\u{1F4BB} \u{2764}\u{FE0F} 1\u{FE0F}\u{20E3}",
        "\u{0645}\u{0631}\u{062D}\u{0628}\u{0627} \u{05E9}\u{05DC}\u{05D5}\u{05DD}\u{200F}",
        "\u{0645}\u{06CC}\u{200C}\u{062E}\u{0648}\u{0627}\u{0647}\u{0645}",
        "\u{0915}\u{094D}\u{200D}\u{0937}",
    ] {
        assert_eq!(hidden::clean(text), (text.to_owned(), Vec::new()));
    }
}

#[test]
fn a_prefix_ends_at_a_line_and_costs_no_more_than_it_may() {
    let text = "one line\n".repeat(100);
    for room in [3, 10, 99, 1000] {
        let kept = files::prefix(&text, room);
        assert!(nub_tokens::text(kept) <= room && (kept.ends_with('\n')));
    }
    for text in ["x".repeat(10_000), "\u{e9}".repeat(10_000), "\u{6F22}".repeat(10_000)] {
        let kept = files::prefix(&text, 100);
        assert!(!kept.is_empty() && nub_tokens::text(kept) <= 100);
    }
}

#[test]
fn json_loses_blanks_between_tokens_only() {
    let text = "{ \"a b\" :\r\n [ 1 , \"\\\" }\\\\\" ] }\t";
    assert_eq!(attach::minified(text), "{\"a b\":[1,\"\\\" }\\\\\"]}");
}
