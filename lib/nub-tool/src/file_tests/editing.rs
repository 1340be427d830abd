//! The tool `edit`.

use super::*;
use crate::edit::{Change, Times};

fn once(file: &[u8], old: &str, new: &str) -> Result<Vec<u8>, String> {
    Change { old, new, times: Times::Once }.file(file)
}

fn all(file: &[u8], old: &str, new: &str) -> Result<Vec<u8>, String> {
    Change { old, new, times: Times::All }.file(file)
}

#[test]
fn only_the_place_changes() {
    let cases: &[(&[u8], &str, &str, &[u8])] = &[
        (b"a\nb\nc\n", "b", "B", b"a\nB\nc\n"),
        (b"a\nb\nc", "c", "", b"a\nb\n"),
        // CRLF: `old` with LF matches, new lines get what stands there
        (b"a\r\nb\r\nc\r\n", "a\nb", "a\nx\nb", b"a\r\nx\r\nb\r\nc\r\n"),
        (b"a\r\nb\r\n", "b", "b\nc", b"a\r\nb\r\nc\r\n"),
        (b"a\r\nb\r\n", "a\nb\n", "a\n", b"a\r\n"),
        (b"a\r\nb\r\n", "\nb", "", b"a\r\n"),
        (b"a\r\nb\r\n", "a\r\n", "x\r\n", b"x\r\nb\r\n"),
        (b"a\nb\r\nc\n", "a\nb\nc", "a\nB\nc", b"a\nB\r\nc\n"),
        (b"one\r\ntwo\nthree\n", "two", "2\n2", b"one\r\n2\n2\nthree\n"),
        (b"x\r\n", "x", "y\r\nz", b"y\r\nz\r\n"),
        // a mark, other bytes
        (b"\xef\xbb\xbfa\nb\n", "a\n", "c\n", b"\xef\xbb\xbfc\nb\n"),
        (b"const x = 1;\n// caf\xe9\n", "x = 1", "x = 2", b"const x = 2;\n// caf\xe9\n"),
        (b"// caf\xe9\n", "café", "tée", b"// t\xe9e\n"),
        (b"\x83\\ = 1\n", "= 1", "= 2", b"\x83\\ = 2\n"),
        (b"\xff\xfea\0\r\0\n\0b\0\r\0\n\0", "a\nb", "a\nc", b"\xff\xfea\0\r\0\n\0c\0\r\0\n\0"),
        (b"\xfe\xff\0a\0\n", "a", "\u{1f600}", b"\xfe\xff\xd8\x3d\xde\x00\0\n"),
    ];
    for (file, old, new, expected) in cases {
        assert_eq!(once(file, old, new).as_deref(), Ok(*expected), "{old:?} -> {new:?} in {file:?}");
    }
}

#[test]
fn all_places_are_counted_from_the_left() {
    assert_eq!(all(b"aaa", "aa", "b").as_deref(), Ok(&b"ba"[..]));
    assert_eq!(all(b"a\r\na\r\n", "a\n", "b\n").as_deref(), Ok(&b"b\r\nb\r\n"[..]));
    assert_eq!(all(b"x x x", "x", "xx").as_deref(), Ok(&b"xx xx xx"[..]));
    assert!(once(b"aaa", "aa", "b").unwrap_err().contains("occurs 2 times, in lines 1, 1"));
    assert!(once(b"x\ny\nx\n", "x", "z").unwrap_err().contains("occurs 2 times, in lines 1, 3;"));
    let many = "x\n".repeat(30);
    let error = once(many.as_bytes(), "x", "z").unwrap_err();
    assert!(error.contains("occurs 30 times, in lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ...;"), "{error}");
    let bomb = "a".repeat(1 << 20);
    assert!(all(bomb.as_bytes(), "a", &bomb).unwrap_err().contains("larger than"));
}

#[test]
fn what_is_not_there_is_explained() {
    let file = b"fn main() {\n\tlet x = 1;\n    let y = 2;\n}\n";
    let error = once(file, "    let x = 1;\n", "").unwrap_err();
    assert!(
        error.contains("line 2") && error.contains("- ····let·x·=·1;") && error.contains("+ →let·x·=·1;"),
        "{error}"
    );
    let error = once(file, "let y = 3;", "").unwrap_err();
    assert!(
        error.contains("line 3") && error.contains("- let y = 3;") && error.contains("+     let y = 2;"),
        "{error}"
    );
    let error = once(file, "1\tfn main() {\n2\t\tlet x = 1;", "").unwrap_err();
    assert!(error.contains("line numbers"), "{error}");
    let error = once(file, "quite different text", "").unwrap_err();
    assert!(error.contains("nor anything like it"), "{error}");
    let error = once(b"a\nb\nc", "b\nc\n", "").unwrap_err();
    assert!(error.contains("line end"), "{error}");
    let error = once(b"a\nb", "a\r\nb", "").unwrap_err();
    assert!(error.contains('\u{240d}'), "{error}");
    assert!(once(b"", "x", "y").unwrap_err().contains("does not occur"));
    let error = once(b"caf\xe9", "日本", "x").unwrap_err();
    assert!(error.contains("not UTF-8"), "{error}");
}

#[test]
fn degenerate_calls_are_refused() {
    let scratch = Scratch::new();
    scratch.file("f", "text");
    assert!(scratch.edit("f", "", "x").unwrap_err().contains("'old' is empty"));
    assert!(scratch.edit("f", "t", "t").unwrap_err().contains("the same"));
    assert!(scratch.edit("none", "a", "b").unwrap_err().contains("no such file"));
    scratch.file("bin", b"a\0b");
    assert!(scratch.edit("bin", "a", "b").unwrap_err().contains("binary"));
    let file = fs::File::create(scratch.root().join("huge")).unwrap();
    file.set_len(1 << 30).unwrap();
    assert!(scratch.edit("huge", "a", "b").unwrap_err().contains("larger than"));
    assert_eq!(scratch.edit("f", "tex", "TEX").unwrap(), "wrote 'f' (+1 -1 lines)");
}

/// Random small files over a nasty alphabet, against an independent count and replacement.
#[test]
fn edits_agree_with_a_plain_replacement() {
    let alphabet = ["a", "b", "\n", "\r\n", "é", "\u{feff}"];
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % below as u64) as usize
    };
    for _ in 0..20_000 {
        let mut text = |most: usize| -> String {
            let length = random(most);
            (0..length).map(|_| alphabet[random(alphabet.len())]).collect()
        };
        let (file, old, new) = (text(12), text(3), text(3));
        if old.is_empty() || old == new {
            continue;
        }
        let result = all(file.as_bytes(), &old, &new);
        if old.contains('\r') {
            let expected = file.matches(&old).next().map(|_| file.replace(&old, &new).into_bytes());
            assert_eq!(result.ok(), expected, "{file:?} {old:?} {new:?}");
        } else {
            // as the model sees it: no carriage returns before line feeds
            let seen = file.replace("\r\n", "\n");
            let after = result.ok().map(|bytes| String::from_utf8(bytes).unwrap().replace("\r\n", "\n"));
            let expected = seen.contains(&old).then(|| seen.replace(&old, &new).replace("\r\n", "\n"));
            assert_eq!(after, expected, "{file:?} {old:?} {new:?}");
        }
    }
}
