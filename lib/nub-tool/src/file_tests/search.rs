//! glob and grep.

use std::process::{Command, Stdio};

use super::*;

fn pattern(pattern: &str) -> GrepArgs {
    GrepArgs { pattern: pattern.into(), ..GrepArgs::default() }
}

#[test]
fn glob_finds_what_the_pattern_says_and_nothing_hidden_or_ignored() {
    let scratch = Scratch::with("", &["**/.env", "secret/**"]);
    for name in [
        "a.rs",
        "src/b.rs",
        "src/deep/c.rs",
        "target/d.rs",
        ".hidden/e.rs",
        ".github/ci.yml",
        "app/[id]/page.tsx",
        "secret/f.rs",
        "src/keep.log",
        "src/other.log",
        "node_modules/x.js",
    ] {
        scratch.file(name, name);
    }
    scratch.file(".gitignore", "/target\nnode_modules/\n*.log\n!keep.log\n");
    scratch.link("linked.rs", "a.rs");
    let sorted = |pattern: &str| {
        let mut paths = scratch.glob(pattern);
        paths.sort();
        paths
    };
    assert_eq!(sorted("**/*.rs"), ["a.rs", "src/b.rs", "src/deep/c.rs"]);
    assert_eq!(sorted("*.rs"), ["a.rs"]);
    assert_eq!(sorted("src/*.rs"), ["src/b.rs"]);
    assert_eq!(sorted("./src/**/*.rs"), ["src/b.rs", "src/deep/c.rs"]);
    assert_eq!(sorted("{a,src/b}.rs"), ["a.rs", "src/b.rs"]);
    assert_eq!(sorted(".github/*"), [".github/ci.yml"]);
    assert_eq!(sorted("**/*.log"), ["src/keep.log"]);
    assert_eq!(sorted("app/[id]/page.tsx"), ["app/[id]/page.tsx"]);
    assert_eq!(sorted(scratch.root().join("src/*.rs").to_str().unwrap()), ["src/b.rs"]);
    assert_eq!(sorted("secret/*"), ["cannot find 'secret/*': deny_paths forbids it"]);
    assert_eq!(sorted("none/**"), ["no file matches"]);
    assert!(sorted("[")[0].starts_with("cannot find"));
    assert!(sorted("../*")[0].contains("outside the repo"));
    assert!(sorted("/etc/*")[0].contains("outside the repo"));
    assert!(sorted("")[0].contains("names no file"));
}

#[test]
fn glob_gives_the_newest_first_and_counts_the_rest() {
    let scratch = Scratch::new();
    for number in 0..1010 {
        scratch.file(&format!("d/{number:04}"), "");
    }
    let file = fs::File::open(scratch.root().join("d/0500")).unwrap();
    file.set_modified(std::time::SystemTime::now() + std::time::Duration::from_secs(100)).unwrap();
    let paths = scratch.glob("**/*");
    assert_eq!(paths[0], "d/0500");
    assert_eq!(paths.len(), 1001);
    assert_eq!(paths[1000], "[1000 of 1010 files, the newest; narrow the pattern]");
}

#[test]
fn grep_shows_path_line_and_text() {
    let scratch = Scratch::new();
    scratch.file("src/a.rs", "one\nfn two() {}\nthree\nfour\nfn five() {}\r\n");
    scratch.file("b.txt", "fn six");
    scratch.file("bin", b"fn \0 seven");
    scratch.file(".hidden", "fn eight");
    assert_eq!(
        scratch.grep(pattern(r"fn \w+")).unwrap(),
        "b.txt:1:fn six\nsrc/a.rs:2:fn two() {}\nsrc/a.rs:5:fn five() {}"
    );
    let args = GrepArgs { glob: Some("*.rs".into()), context: Some(1), ..pattern("TWO") };
    assert_eq!(scratch.grep(args.clone()).unwrap(), "no matches");
    let args = GrepArgs { ignore_case: Some(true), ..args };
    assert_eq!(scratch.grep(args).unwrap(), "src/a.rs-1-one\nsrc/a.rs:2:fn two() {}\nsrc/a.rs-3-three");
    let args = GrepArgs { path: Some("src/a.rs".into()), limit: Some(1), ..pattern("fn") };
    assert_eq!(
        scratch.grep(args).unwrap(),
        "src/a.rs:2:fn two() {}\n[1 of 2 matches in 1 files; narrow the search or raise limit]"
    );
    let args = GrepArgs { path: Some(".hidden".into()), ..pattern("fn") };
    assert_eq!(scratch.grep(args).unwrap(), ".hidden:1:fn eight");
}

#[test]
fn grep_never_takes_an_argument_for_more_than_it_is() {
    let scratch = Scratch::new();
    scratch.file("x.sh", "--pre=./x.sh\n-f/etc/passwd\n-\n--\n");
    for text in ["--pre=./x.sh", "-f/etc/passwd", "--"] {
        assert!(scratch.grep(pattern(text)).unwrap().contains(text), "{text}");
    }
    for args in [
        GrepArgs { path: Some("--pre=./x.sh".into()), ..pattern("x") },
        GrepArgs { path: Some("../".into()), ..pattern("x") },
        pattern("("),
        pattern("a\nb"),
        pattern(&"(a{1000}){1000}".repeat(20)),
        GrepArgs { glob: Some("[".into()), ..pattern("x") },
    ] {
        let error = scratch.grep(args.clone()).unwrap_err();
        assert!(error.starts_with("cannot search for") && !error.contains('\n'), "{args:?}: {error}");
    }
    let args = GrepArgs { glob: Some("!*".into()), ..pattern("x") };
    assert_eq!(scratch.grep(args).unwrap(), "no matches");
}

#[test]
fn a_long_line_is_cut_around_the_match() {
    let scratch = Scratch::new();
    scratch.file("min.js", format!("{}needle{}\n", "ä".repeat(5000), "ö".repeat(5000)));
    let said = scratch.grep(pattern("needle")).unwrap();
    assert!(said.starts_with("min.js:1:…ä") && said.contains("äneedleö") && said.ends_with("ö…"), "{said}");
    assert!(said.len() < 600);
}

#[test]
fn ignore_files_that_are_no_files_are_no_trap() {
    let scratch = Scratch::new();
    scratch.file("a.txt", "needle");
    let fifo = rustix::fs::FileType::Fifo;
    let mode = rustix::fs::Mode::from_bits_truncate(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, scratch.root().join(".gitignore"), fifo, mode, 0).unwrap();
    scratch.link(".ignore", "/dev/zero");
    scratch.link("loop", ".");
    scratch.link("out", "/etc");
    rustix::fs::mknodat(rustix::fs::CWD, scratch.root().join("pipe"), fifo, mode, 0).unwrap();
    assert_eq!(scratch.grep(pattern("needle")).unwrap(), "a.txt:1:needle");
    assert_eq!(scratch.glob("**"), ["a.txt"]);
}

#[test]
fn a_cancelled_search_says_so() {
    let scratch = Scratch::new();
    scratch.file("a.txt", "needle");
    let cancel = Cancel::default();
    cancel.set();
    assert!(grep::run(&scratch.place, pattern("needle"), &cancel).is_error);
    let args = GlobArgs { pattern: "**".into(), path: None };
    assert!(glob::run(&scratch.place, args, &cancel).is_error);
}

/// The same lines as ripgrep, on this source tree and on one full of ignore files.
#[test]
fn grep_and_glob_find_what_ripgrep_finds() {
    if Command::new("rg").arg("--version").stdout(Stdio::null()).status().is_err() {
        return;
    }
    let scratch = Scratch::new();
    let tree = [
        (".gitignore", "*.o\n/build\n!important.o\nfoo/*\n!foo/keep\n"),
        (".ignore", "ignored.txt\n"),
        (".rgignore", "!rescued.o\n"),
        ("a.o", "needle"),
        ("important.o", "needle"),
        ("rescued.o", "needle"),
        ("ignored.txt", "needle"),
        ("build/x", "needle"),
        ("sub/build/x", "needle"),
        ("foo/keep", "needle"),
        ("foo/drop", "needle"),
        ("sub/.gitignore", "!*.o\nlocal\n"),
        ("sub/b.o", "needle"),
        ("sub/local/x", "needle"),
        ("nested/.git/HEAD", "ref: x"),
        ("nested/a.o", "needle"),
        ("nested/.gitignore", "*.txt"),
        ("nested/a.txt", "needle"),
        (".hidden/a", "needle"),
        ("dir/.dot", "needle"),
        ("crlf", "one\r\nneedle\r\n"),
        ("utf8", "nädle\nneedle ü\n"),
        (".git/info/exclude", "excluded\n"),
        ("excluded", "needle"),
    ];
    for (name, text) in tree {
        scratch.file(name, text);
    }
    scratch.file("latin1", b"caf\xe9 needle\n");
    scratch.file("utf16", b"\xff\xfen\0e\0e\0d\0l\0e\0\n\0");
    scratch.file("late-nul", [b"needle\n".to_vec(), vec![b'x'; 100_000], vec![0, b'\n']].concat());
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().canonicalize().unwrap();
    compare(&scratch.root(), "needle");
    compare(&source, r"\bfn \w+\(");
    compare(&source, r"Result<.*, String> \{$");
}

fn compare(root: &Path, regex: &str) {
    let place = open(root, "", &[]).unwrap();
    let rg = |args: &[&str]| {
        let out = Command::new("rg")
            .args(args)
            .current_dir(root)
            .env_remove("RIPGREP_CONFIG_PATH")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&out.stdout).replace("\r\n", "\n");
        let mut lines: Vec<String> =
            text.lines().map(|line| line.trim_start_matches("./").to_owned()).collect();
        lines.sort();
        lines
    };
    let ours = |said: Said| {
        let mut lines: Vec<String> = said.unwrap().lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let theirs = rg(&["--no-require-git", "--no-messages", "-n", "--no-heading", "-e", regex, "."]);
    let theirs: Vec<String> = theirs.into_iter().filter(|line| !line.contains("WARNING")).collect();
    let said = grep::run(&place, GrepArgs { limit: Some(2000), ..pattern(regex) }, &Cancel::default());
    assert!(theirs.len() > 5, "{theirs:?}");
    if theirs.len() < 700 {
        assert_eq!(ours(said.into()), theirs);
    } else {
        let Some(nub_proto::Ui::Matches { count, .. }) = said.ui else { panic!() };
        assert_eq!(count, theirs.len());
    }
    let theirs = rg(&["--no-require-git", "--files", "."]);
    let said = glob::run(&place, GlobArgs { pattern: "**/*".into(), path: None }, &Cancel::default());
    let Some(nub_proto::Ui::Paths { count, .. }) = said.ui else { panic!() };
    assert_eq!(count, theirs.len());
    if count < 1000 {
        assert_eq!(ours(said.into()), theirs);
    }
}
