//! Reading, writing and editing.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use nub_proto::{Kind, Ui};

use super::*;

#[test]
fn read_shows_numbered_lines_and_says_how_to_go_on() {
    let scratch = Scratch::new();
    let text: String = (1..=5000).map(|n| format!("line {n}\n")).collect();
    scratch.file("long", text);
    let said = scratch.read("long").unwrap();
    assert!(said.starts_with("1\tline 1\n2\tline 2\n"), "{said}");
    assert!(said.ends_with("2000\tline 2000\n[lines 1-2000 of 5000; go on with offset=2001]"));
    assert_eq!(
        scratch.read_from("long", 4999, 1).unwrap(),
        "4999\tline 4999\n[lines 4999-4999 of 5000; go on with offset=5000]"
    );
    assert_eq!(scratch.read_from("long", 5000, 9).unwrap(), "5000\tline 5000");
    assert!(scratch.read_from("long", 5001, 9).unwrap_err().contains("only 5000 lines"));
    scratch.file("empty", "");
    assert_eq!(scratch.read("empty").unwrap(), "[the file is empty]");
    scratch.file("ends", "a\n\n\nb");
    assert_eq!(scratch.read("ends").unwrap(), "1\ta\n2\t\n3\t\n4\tb");
}

#[test]
fn lines_are_skipped_as_they_are_read() {
    for text in ["", "\n", "a", "a\n", "a\nb", "\n\n\nx", "a\nb\n\n"] {
        for (count, capacity) in (0..6).flat_map(|count| [(count, 1), (count, 2), (count, 100)]) {
            let mut reader = std::io::BufReader::with_capacity(capacity, text.as_bytes());
            let skipped = crate::text::skip_lines(&mut reader, count, &Cancel::default()).unwrap();
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            assert_eq!(skipped, count.min(lines.len() as u64), "{text:?} {count}");
            let rest = std::io::read_to_string(reader).unwrap();
            assert_eq!(rest, lines[skipped as usize..].concat(), "{text:?} {count}");
        }
    }
}

#[test]
fn read_cuts_long_lines_between_characters() {
    let scratch = Scratch::new();
    scratch.file("wide", format!("{}\nnext\n", "ä".repeat(100_000)));
    let said = scratch.read("wide").unwrap();
    assert!(said == format!("1\t{} [line cut: 196000 more bytes]\n2\tnext", "ä".repeat(2000)));
    scratch.file("flat", "x".repeat(20 * 1024 * 1024));
    let said = scratch.read_from("flat", 1, 5).unwrap();
    assert!(said.len() < 3000 && said.contains("more bytes]"), "{}", said.len());
}

#[test]
fn read_of_a_huge_file_is_short() {
    let scratch = Scratch::new();
    let head: String = (1..=3000).map(|n| format!("line {n}\n")).collect();
    scratch.file("huge", head);
    let file = fs::File::options().write(true).open(scratch.root().join("huge")).unwrap();
    file.set_len(30 << 30).unwrap();
    let begun = std::time::Instant::now();
    let said = scratch.read("huge").unwrap();
    assert!(said.ends_with("[more lines follow; go on with offset=2001]"), "{said}");
    assert!(begun.elapsed().as_secs() < 5);
}

#[test]
fn read_tells_encodings_and_binaries_apart() {
    let scratch = Scratch::new();
    scratch.file("latin1", b"ascii\ncaf\xe9\n");
    assert_eq!(scratch.read("latin1").unwrap(), "1\tascii\n2\tcafé\n[not UTF-8: 1 lines shown as Latin-1]");
    scratch.file("utf16", b"\xff\xfeh\0\xfc\0\n\0");
    assert_eq!(scratch.read("utf16").unwrap(), "1\thü\n[the file is UTF-16]");
    scratch.file("bom", b"\xef\xbb\xbfx\r\ny\r\n");
    assert_eq!(scratch.read("bom").unwrap(), "1\tx\n2\ty");
    scratch.file("prog", b"\x7fELF\x02\x01");
    assert!(scratch.read("prog").unwrap_err().contains("ELF program, 6 bytes"));
    scratch.file("data", b"a\0b");
    assert!(scratch.read("data").unwrap_err().contains("binary file, 3 bytes"));
    scratch.file("BMX.txt", "BM is no picture");
    assert!(scratch.read("BMX.txt").is_ok());
}

#[test]
fn read_gives_images_as_blocks_and_folders_as_lists() {
    let scratch = Scratch::new();
    scratch.file("dot.png", b"\x89PNG\r\n\x1a\nrest");
    let outcome = read::run(
        &scratch.place,
        ReadArgs { path: "dot.png".into(), ..ReadArgs::default() },
        &Cancel::default(),
    );
    let Kind::Image { media_type, data } = &outcome.content[1].kind else { panic!("{outcome:?}") };
    assert_eq!((media_type.as_str(), data.as_str()), ("image/png", "iVBORw0KGgpyZXN0"));
    scratch.file("src/a", "");
    scratch.link("link", "src");
    assert_eq!(scratch.read(".").unwrap(), "dot.png\nlink@\nsrc/");
    assert_eq!(scratch.read_from(".", 2, 1).unwrap(), "link@\n[1 of 3 entries; go on with offset=3]");
}

#[test]
fn a_missing_file_has_neighbours() {
    let scratch = Scratch::with("", &["**/.env*"]);
    for name in ["src/main.rs", "README.md", ".env.local"] {
        scratch.file(name, "");
    }
    let error = |path| scratch.read(path).unwrap_err();
    assert_eq!(error("src/man.rs"), "cannot read 'src/man.rs': no such file; there is src/main.rs");
    assert_eq!(error("Src/main.rs"), "cannot read 'Src/main.rs': no such file; there is src");
    assert_eq!(error("readme.MD"), "cannot read 'readme.MD': no such file; there is README.md");
    assert_eq!(error("nothing"), "cannot read 'nothing': no such file");
    assert!(!error("env.local").contains("there is"));
}

#[test]
fn attributes_are_kept() {
    use rustix::fs::{XattrFlags, lgetxattr, lsetxattr};
    let scratch = Scratch::new();
    scratch.file("f", "old");
    let path = scratch.root().join("f");
    if lsetxattr(&path, "user.note", b"kept", XattrFlags::empty()).is_err() {
        return; // this file system has none
    }
    assert_eq!(scratch.edit("f", "old", "new").unwrap(), "wrote 'f' (+1 -1 lines)");
    let mut value = [0; 8];
    let length = lgetxattr(&path, "user.note", &mut value[..]).unwrap();
    assert_eq!(&value[..length], b"kept");
}

#[test]
fn base64_of_every_length() {
    for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")] {
        assert_eq!(crate::magic::base64(bytes.as_bytes()), text);
    }
}

#[test]
fn write_makes_parents_keeps_modes_and_shows_a_diff() {
    let scratch = Scratch::new();
    assert_eq!(scratch.write("a/b/c.txt", "one\ntwo\n").unwrap(), "created 'a/b/c.txt' (2 lines)");
    for mode in [0o755, 0o600, 0o444, 0o664] {
        let path = scratch.root().join("a/b/c.txt");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        scratch.write("a/b/c.txt", &format!("one\n{mode}\n")).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, mode);
    }
    let args = WriteArgs { path: "a/b/c.txt".into(), content: "one\nthree\n".into() };
    let outcome = write::run(&scratch.place, args, &Cancel::default());
    assert_eq!(outcome.for_model(), "wrote 'a/b/c.txt' (+1 -1 lines)");
    let Some(Ui::Diff { path, created, added, removed, unified }) = outcome.ui else { panic!() };
    assert_eq!((path.as_str(), created, added, removed), ("a/b/c.txt", false, 1, 1));
    assert_eq!(unified, "--- a/a/b/c.txt\n+++ b/a/b/c.txt\n@@ -1,2 +1,2 @@\n one\n-436\n+three\n");
    assert!(scratch.write("a/b/c.txt", "one\nthree\n").unwrap().contains("already"));
    assert_eq!(fs::read_dir(scratch.root().join("a/b")).unwrap().count(), 1);
}

#[test]
fn write_keeps_marks_line_ends_and_encodings() {
    let scratch = Scratch::new();
    let cases: &[(&[u8], &str, &[u8])] = &[
        (b"\xef\xbb\xbfa\r\nb\r\n", "a\nb\n", b"\xef\xbb\xbfa\r\nb\r\n"),
        (b"a\r\nb\r\n", "a\nnew\nb\n", b"a\r\nnew\r\nb\r\n"),
        (b"a\r\nb\nc\r\n", "a\nb\nc\n", b"a\r\nb\nc\r\n"),
        (b"a\r\nb\nc\r\n", "a\nx\nb\ny\nc\n", b"a\r\nx\r\nb\ny\nc\r\n"),
        (b"a\r\nb\r\n", "a\r\nb\n", b"a\r\nb\n"),
        (b"a\nb\n", "a\nb\n\n", b"a\nb\n\n"),
        (b"a\r\nb", "a\nb", b"a\r\nb"),
        (b"caf\xe9\nx\n", "café\ny\nü\n", b"caf\xe9\ny\n\xfc\n"),
        (b"\xff\xfea\0\n\0", "b\n", b"\xff\xfeb\0\n\0"),
        (b"", "a\n", b"a\n"),
    ];
    for (old, content, new) in cases {
        scratch.file("f", old);
        scratch.read("f").unwrap();
        scratch.write("f", content).unwrap();
        assert_eq!(scratch.bytes("f"), *new, "{content:?} over {old:?}");
    }
}

#[test]
fn a_file_that_changed_is_not_overwritten() {
    let scratch = Scratch::new();
    scratch.file("f", "one\ntwo\n");
    scratch.read("f").unwrap();
    scratch.file("f", "one\nmine\n");
    let error = scratch.write("f", "theirs\n").unwrap_err();
    assert!(error.contains("changed on disk") && error.ends_with("1\tone\n2\tmine"), "{error}");
    assert_eq!(scratch.bytes("f"), b"one\nmine\n");
    scratch.write("f", "one\nboth\n").unwrap();
    scratch.file("f", "x\n");
    assert!(scratch.edit("f", "x", "y").unwrap_err().contains("changed on disk"));
    // a mere touch is no change
    scratch.read("f").unwrap();
    let file = fs::File::options().write(true).open(scratch.root().join("f")).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    scratch.edit("f", "x", "y").unwrap();
    // what is too long to be shown must be read
    scratch.file("big", "x\n".repeat(20_000));
    scratch.read("big").unwrap();
    scratch.file("big", "y\n".repeat(20_000));
    let error = scratch.write("big", "z").unwrap_err();
    assert!(error.ends_with("read it again"), "{error}");
    assert!(scratch.write("big", "z").is_err());
    scratch.read("big").unwrap();
    scratch.write("big", "z").unwrap();
}

#[test]
fn parallel_edits_of_one_file_all_land() {
    let scratch = Scratch::new();
    for round in 0..20 {
        scratch.file("f", (0..8).map(|n| format!("slot{n}\n")).collect::<String>());
        scratch.read("f").unwrap();
        thread::scope(|scope| {
            for n in 0..8 {
                let scratch = &scratch;
                scope.spawn(move || scratch.edit("f", &format!("slot{n}\n"), &format!("done{n}\n")).unwrap());
            }
        });
        let expected: String = (0..8).map(|n| format!("done{n}\n")).collect();
        assert_eq!(scratch.bytes("f"), expected.as_bytes(), "round {round}");
    }
}

#[test]
fn what_cannot_be_kept_is_told() {
    let scratch = Scratch::new();
    scratch.file("f", "old");
    fs::hard_link(scratch.root().join("f"), scratch.root().join("g")).unwrap();
    let said = scratch.edit("f", "old", "new").unwrap();
    assert!(said.contains("1 other hard links keep the old content"), "{said}");
    assert_eq!((scratch.bytes("f"), scratch.bytes("g")), (b"new".to_vec(), b"old".to_vec()));
}

#[test]
fn temporary_files_of_dead_writers_are_swept() {
    let scratch = Scratch::new();
    scratch.file("d/f", "old");
    scratch.file("d/.nub-write-999999999-00ff.tmp", "left over");
    scratch.file(&format!("d/.nub-write-{}-00ff.tmp", std::process::id()), "in work");
    scratch.write("d/f", "new").unwrap();
    let mut names: Vec<_> =
        fs::read_dir(scratch.root().join("d")).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names.len(), 2, "{names:?}");
}
