//! Tests of the file tools in folders of their own.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use nub_conf::Paths;

use crate::cancel::Cancel;
use crate::edit::{self, EditArgs};
use crate::glob::{self, GlobArgs};
use crate::grep::{self, GrepArgs};
use crate::outcome::Outcome;
use crate::place::Place;
use crate::read::{self, ReadArgs};
use crate::write::{self, WriteArgs};

mod attacks; // many attempts to get out
mod confined; // what is out of reach
mod content; // reading and writing
mod editing; // edit
mod search; // glob and grep

/// `base/root` to work in, `base` around it.
struct Scratch {
    base: PathBuf,
    place: Place,
}

impl Scratch {
    fn new() -> Scratch {
        Scratch::with("", &[])
    }

    /// Working in a folder below the root, with globs of `deny_paths`.
    fn with(below: &str, deny: &[&str]) -> Scratch {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("nub-files-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let base = std::env::temp_dir().canonicalize().unwrap().join(name);
        let root = base.join("root");
        fs::create_dir_all(root.join(below)).unwrap();
        let place = open(&root, below, deny).unwrap();
        Scratch { base, place }
    }

    fn root(&self) -> PathBuf {
        self.base.join("root")
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.root().join(name)).unwrap()
    }

    fn link(&self, name: &str, target: impl AsRef<Path>) {
        symlink(target, self.root().join(name)).unwrap();
    }

    fn read(&self, path: &str) -> Said {
        read::run(&self.place, ReadArgs { path: path.into(), ..ReadArgs::default() }, &Cancel::default())
            .into()
    }

    fn read_from(&self, path: &str, offset: u64, limit: u64) -> Said {
        let args = ReadArgs { path: path.into(), offset: Some(offset), limit: Some(limit) };
        read::run(&self.place, args, &Cancel::default()).into()
    }

    fn write(&self, path: &str, content: &str) -> Said {
        let args = WriteArgs { path: path.into(), content: content.into() };
        write::run(&self.place, args, &Cancel::default()).into()
    }

    fn glob(&self, pattern: &str) -> Vec<String> {
        let args = GlobArgs { pattern: pattern.into(), path: None };
        let said: Said = glob::run(&self.place, args, &Cancel::default()).into();
        said.unwrap_or_else(|e| e).lines().map(str::to_owned).collect()
    }

    fn grep(&self, args: GrepArgs) -> Said {
        grep::run(&self.place, args, &Cancel::default()).into()
    }

    fn edit(&self, path: &str, old: &str, new: &str) -> Said {
        let args = EditArgs { path: path.into(), old: old.into(), new: new.into(), replace_all: None };
        edit::run(&self.place, args, &Cancel::default()).into()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.base));
    }
}

fn paths(root: &Path, below: &str) -> Paths {
    Paths {
        cwd: root.join(below),
        root: root.to_path_buf(),
        in_repo: true,
        home: "/nonexistent".into(),
        config: PathBuf::new(),
        state: PathBuf::new(),
        cache: PathBuf::new(),
    }
}

fn open(root: &Path, below: &str, deny: &[&str]) -> Result<Place, String> {
    let deny: Vec<String> = deny.iter().map(|glob| (*glob).to_owned()).collect();
    Place::open(&paths(root, below), None, &deny)
}

/// What the model is told: text, or the text of an error.
type Said = Result<String, String>;

impl From<Outcome> for Said {
    fn from(outcome: Outcome) -> Said {
        if outcome.is_error { Err(outcome.for_model()) } else { Ok(outcome.for_model()) }
    }
}
