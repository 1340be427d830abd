//! Where the file tools work: the repo root as a directory handle, what is denied in it, and what the
//! model has seen of it.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use nub_conf::Paths;
use rustix::fs::{FileType, Mode, OFlags, Stat};

use crate::jail::{Found, Jail, Spot, Stray, look, reason};
use crate::names::{Protected, Rules, shown};
use crate::stamps::Stamps;

/// The longest path that is looked at, in bytes.
const MAX_PATH: usize = 4096;

/// How much of a path an error message shows, in characters.
const SHOWN_PATH: usize = 200;

/// The one place the file tools reach.
pub(crate) struct Place {
    pub(crate) jail: Jail,
    pub(crate) rules: Rules,
    pub(crate) stamps: Stamps,
    /// The root as it was called at the start, without links.
    root: PathBuf,
    /// The root as the user's shell calls it.
    alias: Option<PathBuf>,
    /// The working folder, from the root: relative paths start here.
    below: PathBuf,
    /// Nobody chose this root: nothing is written in it and all of it is never walked.
    implicit: Option<String>,
    locks: Mutex<HashMap<PathBuf, Arc<Mutex<()>>>>,
    swept: Mutex<HashSet<PathBuf>>,
    global_ignore: OnceLock<Gitignore>,
}

impl Place {
    /// Opens the root. `pwd` is the working folder in the shell's words,
    /// `deny` are the globs of `deny_paths`.
    ///
    /// # Errors
    /// The root cannot be opened, or a glob is none.
    pub(crate) fn open(paths: &Paths, pwd: Option<&Path>, deny: &[String]) -> Result<Place, String> {
        let root = paths.root.clone();
        let jail = Jail::open(&root).map_err(|e| format!("cannot open '{}': {}", shown(&root), reason(e)))?;
        let below = paths.cwd.strip_prefix(&root).unwrap_or(Path::new("")).to_path_buf();
        Ok(Place {
            jail,
            rules: Rules::new(&root, deny)?,
            stamps: Stamps::default(),
            alias: pwd.and_then(|pwd| alias(pwd, &root, &below)),
            implicit: implicit(paths),
            root,
            below,
            locks: Mutex::default(),
            swept: Mutex::default(),
            global_ignore: OnceLock::new(),
        })
    }

    /// Follows a path the model gave, to something that may be read.
    ///
    /// # Errors
    /// Why not, to stand behind `cannot VERB 'PATH': `.
    pub(crate) fn find(&self, given: &str) -> Result<Spot, String> {
        let path = self.placed(given)?;
        let spot = self.jail.follow(&path).map_err(|stray| self.why(given, &stray))?;
        if self.rules.denied(&spot.rel) || self.rules.denied(&lexical(&path)) {
            return Err("deny_paths forbids it".into());
        }
        if given.ends_with('/') && matches!(spot.found, Found::Entry(..)) {
            return Err(Stray::NotFolder.to_string());
        }
        Ok(spot)
    }

    /// Follows a path the model gave, to a file that may be written.
    ///
    /// # Errors
    /// Why not, to stand behind `cannot VERB 'PATH': `.
    pub(crate) fn find_to_write(&self, given: &str) -> Result<Spot, String> {
        let spot = self.find(given)?;
        if let Some(why) = &self.implicit {
            return Err(why.clone());
        }
        let lexical = lexical(&self.placed(given)?);
        match self.rules.protected(&spot.rel).or_else(|| self.rules.protected(&lexical)) {
            Some(Protected::Git) => return Err("it belongs to git".into()),
            Some(Protected::Nub) => return Err("it belongs to nub".into()),
            Some(Protected::StartUp) => {
                return Err("other programs run or obey it when they start; ask the user to change it".into());
            }
            None => {}
        }
        if crate::git_folders::holds(&self.jail, &spot.rel) {
            return Err("it belongs to git".into());
        }
        if given.ends_with('/') || matches!(spot.found, Found::Folder) {
            return Err("it is a folder".into());
        }
        Ok(spot)
    }

    /// Opens what was found, if it is a regular file.
    ///
    /// # Errors
    /// Why not, to stand behind `cannot VERB 'PATH': `.
    pub(crate) fn open_file(&self, spot: &Spot) -> Result<(File, Stat), String> {
        let (folder, name) = match &spot.found {
            Found::Entry(folder, name) => (folder, name),
            Found::Folder => return Err("it is a folder".into()),
            Found::Missing(..) => return Err(Stray::System(rustix::io::Errno::NOENT).to_string()),
        };
        regular(&look(folder, name).map_err(reason)?)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(folder, name, flags, Mode::empty()).map_err(reason)?;
        let stat = rustix::fs::fstat(&file).map_err(reason)?;
        regular(&stat)?;
        on_disk(&file)?;
        Ok((File::from(file), stat))
    }

    /// A path from the root as the model would give it.
    pub(crate) fn show(&self, rel: &Path) -> String {
        if let Ok(rel) = rel.strip_prefix(&self.below) {
            return if rel.as_os_str().is_empty() { ".".into() } else { shown(rel) };
        }
        let shared = rel.iter().zip(&self.below).take_while(|(a, b)| a == b).count();
        let up = self.below.iter().skip(shared).map(|_| "..".as_ref());
        shown(&up.chain(rel.iter().skip(shared)).collect::<PathBuf>())
    }

    /// Why all of this root is not searched, if so.
    pub(crate) fn too_wide(&self, rel: &Path) -> Option<&str> {
        if rel.as_os_str().is_empty() { self.implicit.as_deref() } else { None }
    }

    /// The working folder, from the root.
    pub(crate) fn below(&self) -> &Path {
        &self.below
    }

    /// The ignore file of git that holds in every repository of the user.
    pub(crate) fn global_ignore(&self) -> &Gitignore {
        self.global_ignore.get_or_init(|| GitignoreBuilder::new("").build_global().0)
    }

    /// What serialises the writers of one file.
    pub(crate) fn lock(&self, rel: &Path) -> Arc<Mutex<()>> {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        locks.retain(|_, lock| Arc::strong_count(lock) > 1);
        Arc::clone(locks.entry(rel.to_path_buf()).or_default())
    }

    /// Removes what killed writers left in the folder of a file, once in the life of this process.
    pub(crate) fn sweep_once(&self, spot: &Spot) {
        let Found::Entry(folder, _) = &spot.found else { return };
        let of = spot.rel.parent().unwrap_or(Path::new("")).to_path_buf();
        if self.swept.lock().unwrap_or_else(PoisonError::into_inner).insert(of) {
            crate::replace::sweep(folder);
        }
    }

    /// A path from the root (or absolute, when it is not known to be below it), with `..` and links.
    fn placed(&self, given: &str) -> Result<PathBuf, String> {
        if given.is_empty() {
            return Err("'path' is empty".into());
        }
        if given.contains('\0') {
            return Err("the path contains a NUL byte".into());
        }
        if given.len() > MAX_PATH {
            return Err(Stray::System(rustix::io::Errno::NAMETOOLONG).to_string());
        }
        if given.starts_with("file://") {
            return Err("it is an address; give a plain path".into());
        }
        let path = Path::new(given);
        let inside = [Some(&self.root), self.alias.as_ref()].into_iter().flatten();
        match inside.filter_map(|root| path.strip_prefix(root).ok()).next() {
            Some(rel) => Ok(rel.to_path_buf()),
            None => Ok(if path.is_absolute() { path.into() } else { self.below.join(path) }),
        }
    }

    fn why(&self, given: &str, stray: &Stray) -> String {
        match stray {
            Stray::Outside | Stray::LinkOutside(_) => {
                format!("{stray}; the file tools work only below '{}'", shown(&self.root))
            }
            Stray::System(rustix::io::Errno::NOENT) if given.starts_with(['~', '$']) => {
                format!("{stray}; '~' and '$' are not expanded")
            }
            Stray::Links | Stray::NotFolder | Stray::System(_) => stray.to_string(),
        }
    }
}

/// `cannot read 'x': reason`, for an error result.
pub(crate) fn cannot(verb: &str, given: &str, why: impl AsRef<str>) -> String {
    let mut name = shown(Path::new(given));
    if let Some((at, _)) = name.char_indices().nth(SHOWN_PATH) {
        name.truncate(at);
        name.push('…');
    }
    format!("cannot {verb} '{name}': {}", why.as_ref())
}

/// Refuses everything but regular files, by name.
pub(crate) fn regular(stat: &Stat) -> Result<(), String> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(()),
        FileType::Directory => Err("it is a folder".into()),
        FileType::Symlink => Err("it became a link in the meantime".into()),
        FileType::Fifo => Err("it is a FIFO, not a file".into()),
        FileType::Socket => Err("it is a socket, not a file".into()),
        FileType::CharacterDevice => Err("it is a character device, not a file".into()),
        FileType::BlockDevice => Err("it is a block device, not a file".into()),
        FileType::Unknown => Err("it is no regular file".into()),
    }
}

/// Refuses what looks like a file but is a window into the kernel: reading may block or act.
#[cfg(target_os = "linux")]
pub(crate) fn on_disk(file: impl rustix::fd::AsFd) -> Result<(), String> {
    /// proc, sysfs, debugfs, tracefs, securityfs, selinuxfs, cgroup, cgroup2, bpf.
    const KERNEL: &[u64] = &[
        0x9fa0,
        0x6265_6572,
        0x6462_6720,
        0x7472_6163,
        0x7363_6673,
        0xf97c_ff8c,
        0x0027_e0eb,
        0x6367_7270,
        0xcafe_4a11,
    ];
    let kind = rustix::fs::fstatfs(file).map_err(reason)?.f_type;
    if KERNEL.contains(&(kind as u64)) {
        return Err("it is a kernel file, not a file on disk".into());
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn on_disk(_file: impl rustix::fd::AsFd) -> Result<(), String> {
    Ok(())
}

/// A path without `.` and `..`, by its text alone.
fn lexical(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for name in path {
        match name.to_str() {
            Some("..") => drop(out.pop()),
            Some(".") => {}
            _ => out.push(name),
        }
    }
    out
}

fn alias(pwd: &Path, root: &Path, below: &Path) -> Option<PathBuf> {
    let alias = pwd.ancestors().nth(below.iter().count())?;
    let same = pwd.strip_prefix(alias).ok()? == below && alias != root && alias.canonicalize().ok()? == root;
    same.then(|| alias.to_path_buf())
}

fn implicit(paths: &Paths) -> Option<String> {
    let holds_home = || paths.home.canonicalize().is_ok_and(|home| home.starts_with(&paths.root));
    let wide = paths.root == Path::new("/") || (!paths.in_repo && holds_home());
    wide.then(|| {
        format!("'{}' is no project folder; start nub in a repository or a folder below", shown(&paths.root))
    })
}
