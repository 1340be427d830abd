//! Many attempts to get out, against a decoy beside the root that must stay as it is.

use std::sync::atomic::AtomicBool;

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::*;

/// Random paths; `NUB_ATTEMPTS` asks for more.
const ATTEMPTS: u64 = 6000;

/// Reads and writes while a folder and a link to the decoy change places.
const RACES: u64 = 3000;

fn decoy(scratch: &Scratch) -> PathBuf {
    let decoy = scratch.base.join("decoy");
    fs::create_dir_all(decoy.join("sub")).unwrap();
    fs::write(decoy.join("x"), "canary").unwrap();
    fs::write(decoy.join("sub/x"), "canary").unwrap();
    decoy
}

fn assert_untouched(decoy: &Path) {
    let names = |folder: &Path| {
        let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names(decoy), ["sub", "x"]);
    assert_eq!(names(&decoy.join("sub")), ["x"]);
    for file in ["x", "sub/x"] {
        assert_eq!(fs::read(decoy.join(file)).unwrap(), b"canary");
    }
}

#[test]
fn random_paths_never_reach_the_decoy() {
    let attempts = std::env::var("NUB_ATTEMPTS").ok().and_then(|n| n.parse().ok()).unwrap_or(ATTEMPTS);
    let scratch = Scratch::with("cwd", &["**/.env"]);
    let decoy = decoy(&scratch);
    scratch.file("x", "inside");
    scratch.file("cwd/x", "inside");
    scratch.link("abs", &decoy);
    scratch.link("rel", "../decoy");
    scratch.link("cwd/up", "..");
    scratch.link("cwd/far", "up/rel");
    scratch.link("file", decoy.join("x"));
    let base = scratch.base.to_str().unwrap().to_owned();
    let mut random = Random(0x1234_5678_9abc_def1);
    let mut landed = 0;
    for _ in 0..attempts {
        let path = random.path(&base);
        let said = match random.below(6) {
            0 => scratch.write(&path, "evil"),
            1 => scratch.edit(&path, "canary", "evil"),
            2 => scratch.grep(GrepArgs {
                path: Some(path.clone()),
                pattern: "canary".into(),
                ..GrepArgs::default()
            }),
            3 => Ok(scratch.glob(&path).join("\n")),
            _ => scratch.read(&path),
        };
        landed += u64::from(said.is_ok());
        let text = said.unwrap_or_else(|e| e);
        assert!(!text.contains(":canary") && !text.contains("\tcanary"), "{path:?}: {text}");
    }
    assert!(landed > attempts / 20, "only {landed} of {attempts} led inside: the test proves nothing");
    assert_untouched(&decoy);
}

#[test]
fn a_folder_that_becomes_a_link_is_no_way_out() {
    let scratch = Scratch::new();
    let decoy = decoy(&scratch);
    scratch.file("d/x", "inside");
    scratch.file("d/sub/x", "inside");
    scratch.link("swap", &decoy);
    let over = AtomicBool::new(false);
    let (mut fooled, mut inside) = (0, 0);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let root = scratch.root();
                renameat_with(CWD, root.join("d"), CWD, root.join("swap"), RenameFlags::EXCHANGE).unwrap();
            }
        });
        for n in 0..RACES {
            fooled += u64::from(is_naive_check_fooled(&scratch));
            let said = match n % 8 {
                0 => scratch.write("d/y", &n.to_string()),
                1 => scratch.write("d/new/deep/z", &n.to_string()),
                2 => scratch.grep(GrepArgs { pattern: "canary".into(), ..GrepArgs::default() }),
                3 => Ok(scratch.glob("d/**/*").join("\n")),
                4 => scratch.edit("d/x", "canary", "evil"),
                _ => scratch.read("d/x"),
            };
            inside += u64::from(said.is_ok());
            let text = said.unwrap_or_else(|e| e);
            assert!(!text.contains(":canary") && !text.contains("\tcanary"), "{text}");
        }
        fooled += u64::from((0..1_000_000).any(|_| fooled > 0 || is_naive_check_fooled(&scratch)));
        over.store(true, Ordering::Relaxed);
    });
    assert_untouched(&decoy);
    assert!(inside > 0, "nothing ever worked");
    assert!(fooled > 0, "the naive check was never fooled: the race did not happen");
}

/// The control: a check and a use that are two steps.
fn is_naive_check_fooled(scratch: &Scratch) -> bool {
    let path = scratch.root().join("d/x");
    let is_inside = path.canonicalize().is_ok_and(|real| real.starts_with(scratch.root()));
    is_inside && fs::read(&path).is_ok_and(|bytes| bytes == b"canary")
}

/// xorshift.
struct Random(u64);

impl Random {
    fn path(&mut self, base: &str) -> String {
        let starts =
            ["", "", "", "/", "./", "../", base, "//", "file://", "/proc/self/cwd/", "/proc/self/root"];
        let parts = [
            "..",
            "..",
            "..",
            ".",
            "",
            "x",
            "sub",
            "abs",
            "rel",
            "up",
            "far",
            "file",
            "root",
            "decoy",
            "cwd",
            "new",
            "~",
            "*",
            "%2e%2e",
            "\u{ff0e}\u{ff0e}",
            "..\\..",
            "x\0",
            "decoy/x",
            ".git",
            "/",
            "// ",
            "…",
            "proc/self/root",
        ];
        let length = 1 + self.below(7);
        let mut path = starts[self.below(starts.len())].to_owned();
        for _ in 0..length {
            path.push_str(parts[self.below(parts.len())]);
            path.push('/');
        }
        if self.below(4) > 0 {
            path.push('x');
        }
        path
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}
