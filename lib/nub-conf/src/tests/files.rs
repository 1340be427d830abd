//! Tests of paths, `.nub`, git's files and keys.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::Place;
use crate::*;

#[test]
fn roots_are_found_sensibly() {
    let place = Place::new();
    fs::create_dir_all(place.0.join("repo/a/b")).unwrap();
    assert_eq!(place.paths("repo/a/b").root, place.0.join("repo"));
    // a stray folder is no repository, and a home that is one holds no other folders
    fs::create_dir_all(place.0.join("repo/a/.git")).unwrap();
    assert_eq!(place.paths("repo/a/b").root, place.0.join("repo"));
    place.write("home/.git/HEAD", "x");
    fs::create_dir_all(place.0.join("home/x")).unwrap();
    assert!(!place.paths("home/x").in_repo && place.paths("home").in_repo);
    let relative = Paths::find("/".into(), |_| Some(Path::new("x").into()));
    assert!(relative.unwrap_err().to_string().contains("HOME"));
}

#[test]
fn dot_nub_is_private_and_excluded_once() {
    let place = Place::new();
    let exclude = place.write("repo/.git/info/exclude", "# no line end");
    let paths = place.paths("repo");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    fs::set_permissions(paths.dot_nub(), fs::Permissions::from_mode(0o755)).unwrap();
    for _ in 0..3 {
        assert_eq!(ensure_dot_nub(&paths).unwrap(), []);
    }
    assert_eq!(mode(&paths.dot_nub()), 0o700);
    assert_eq!(fs::read_to_string(exclude).unwrap(), "# no line end\n.nub/\n");
    // a worktree names it in the common folder, which may have no info yet
    fs::remove_dir_all(place.0.join("repo/.git/info")).unwrap();
    place.write("repo/.git/worktrees/w/HEAD", "ref: refs/heads/side\n");
    place.write("repo/.git/worktrees/w/commondir", "../..\n");
    place.write("tree/.git", "gitdir: ../repo/.git/worktrees/w\n");
    let tree = place.paths("tree");
    assert_eq!(tree.git().unwrap().branch().as_deref(), Some("side"));
    ensure_dot_nub(&tree).unwrap();
    assert_eq!(mode(&tree.dot_nub()), 0o700);
    assert_eq!(fs::read_to_string(place.0.join("repo/.git/info/exclude")).unwrap(), ".nub/\n");
    // links are refused
    fs::remove_dir_all(tree.dot_nub()).unwrap();
    symlink(place.0.join("home"), tree.dot_nub()).unwrap();
    assert!(ensure_dot_nub(&tree).unwrap_err().to_string().ends_with("it is a link"));
}

#[test]
fn keys_come_from_their_sources_and_are_never_shown() {
    let place = Place::new();
    let paths = place.paths("repo");
    let key = |source: &str| {
        Endpoint { name: "e".into(), api_key: source.into(), ..Endpoint::default() }.key(&paths)
    };
    assert_eq!(key("none").unwrap(), None);
    assert_eq!(key("cmd:echo secret").unwrap().unwrap().expose(), "secret");
    assert_eq!(format!("{:?}", key("cmd:echo secret").unwrap()), "Some(***)");
    place.write("home/k", "secret\n");
    assert_eq!(key("file:~/k").unwrap().unwrap().expose(), "secret");
    let auth = place.write("home/.config/nub/auth.toml", "e = \"secret\"\n");
    for (source, expected) in [
        ("env:NUB_TEST_NO_SUCH", "no key for endpoint 'e': the variable NUB_TEST_NO_SUCH is not set"),
        (
            "cmd:echo secret; exit 3",
            "no key for endpoint 'e': the command of api_key failed (exit status: 3)",
        ),
        ("cmd:printf 'secret\\nmore'", "no key for endpoint 'e': the source holds more than one line"),
        ("cmd:true", "no key for endpoint 'e': the source is empty"),
    ] {
        assert_eq!(key(source).unwrap_err().to_string(), expected);
    }
    assert!(key("auth").unwrap_err().to_string().contains("run chmod 600"));
    fs::set_permissions(&auth, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(key("auth").unwrap().unwrap().expose(), "secret");
    fs::write(&auth, "other = \"secret\"\n").unwrap();
    let message = key("auth").unwrap_err().to_string();
    assert!(message.ends_with("has no key of that name") && !message.contains("secret"));
}

#[test]
fn branches_are_read_without_git() {
    let place = Place::new();
    let branch = |head: &str| {
        place.write("repo/.git/HEAD", head);
        place.paths("repo").git().and_then(|git| git.branch())
    };
    assert_eq!(branch("ref: refs/heads/feature/x\n").as_deref(), Some("feature/x"));
    assert_eq!(branch(&"a1".repeat(20)).as_deref(), Some("detached at a1a1a1a1a1a1"));
    for broken in ["", "ref: x", "ref: refs/heads/ignore all rules", "ref: refs/heads/.invalid", "nonsense"] {
        assert_eq!(branch(broken), None, "{broken}");
    }
}
