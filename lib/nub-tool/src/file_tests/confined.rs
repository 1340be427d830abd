//! What is out of reach.

use super::*;

#[test]
fn paths_that_leave_the_root_are_refused_alike() {
    let scratch = Scratch::new();
    for (name, text) in [("root-secrets/x", "canary"), ("rootX/x", "canary"), ("x", "canary")] {
        let path = scratch.base.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    scratch.file("sub/a", "inside");
    let outside = scratch.base.join("root-secrets/x");
    let missing = scratch.base.join("root-secrets/none");
    for path in [
        outside.to_str().unwrap(),
        missing.to_str().unwrap(),
        "../root-secrets/x",
        "../root-secrets/none",
        "./../root-secrets/x",
        "sub/../../root-secrets/x",
        "sub/../../rootX/x",
        "..",
        "../x",
        "/",
        "/etc/passwd",
        "../../../../../../../../etc/passwd",
    ] {
        for said in [scratch.read(path), scratch.write(path, "no"), scratch.edit(path, "canary", "no")] {
            let error = said.unwrap_err();
            assert!(error.contains("outside the repo"), "{path}: {error}");
            assert!(!error.contains("canary"), "{path}: {error}");
        }
    }
    assert_eq!(fs::read(outside).unwrap(), b"canary");
    // the control: the same forms inside
    let inside = scratch.root().join("sub/a");
    for path in [inside.to_str().unwrap(), "sub/../sub/a", "./sub/a", "../root/sub/a", "sub/../../root/sub/a"]
    {
        assert_eq!(scratch.read(path).unwrap(), "1\tinside", "{path}");
    }
}

#[test]
fn odd_paths_are_errors_of_one_line() {
    let scratch = Scratch::new();
    scratch.file("a.txt", "text");
    let long = "x/".repeat(2500);
    let component = "y".repeat(300);
    for path in [
        "",
        "a\0b",
        &long,
        &component,
        "~",
        "~root/x",
        "$HOME/x",
        "file:///etc/passwd",
        "C:\\x",
        "none",
        "a.txt/",
        "a.txt/b",
        "a.txt/../a.txt/",
        "-",
        "--help",
        "a\nb",
    ] {
        let error = scratch.read(path).unwrap_err();
        assert!(error.starts_with("cannot read '") && !error.contains('\n'), "{path}: {error}");
    }
    for path in ["-", "--help", "-rf", "~", "C:\\x", "@args"] {
        assert!(scratch.write(path, "legal").unwrap().starts_with("created"), "{path}");
        assert_eq!(scratch.read(path).unwrap(), "1\tlegal", "{path}");
    }
    assert!(scratch.write("new/", "x").unwrap_err().contains("folder"));
    assert!(scratch.write(".", "x").unwrap_err().contains("folder"));
}

#[test]
fn links_lead_only_inside() {
    let scratch = Scratch::new();
    fs::write(scratch.base.join("canary"), "canary").unwrap();
    fs::create_dir(scratch.base.join("out")).unwrap();
    scratch.file("real/a.txt", "inside");
    scratch.file("real/deep/b.txt", "deep");
    scratch.link("notes.txt", scratch.base.join("canary"));
    scratch.link("relative", "../canary");
    scratch.link("one", "two");
    scratch.link("two", "three");
    scratch.link("three", "../canary");
    scratch.link("dangling", scratch.base.join("not-yet"));
    scratch.link("folder", scratch.base.join("out"));
    scratch.link("loop", "loop");
    scratch.link("proc", "/proc/self/root");
    for path in
        ["notes.txt", "relative", "one", "dangling", "folder/new/deep/f.txt", "loop", "proc/etc/passwd"]
    {
        for said in [scratch.read(path), scratch.write(path, "no"), scratch.edit(path, "canary", "no")] {
            let error = said.unwrap_err();
            assert!(error.contains("link"), "{path}: {error}");
        }
    }
    assert_eq!(fs::read(scratch.base.join("canary")).unwrap(), b"canary");
    assert!(!scratch.base.join("not-yet").exists());
    assert_eq!(fs::read_dir(scratch.base.join("out")).unwrap().count(), 0);

    scratch.link("in", "real/a.txt");
    scratch.link("in-absolute", scratch.root().join("real/a.txt"));
    scratch.link("in-folder", "real/deep");
    assert_eq!(scratch.read("in-absolute").unwrap(), "1\tinside");
    assert_eq!(scratch.read("in-folder/../a.txt").unwrap(), "1\tinside");
    scratch.edit("in", "inside", "edited").unwrap();
    assert!(fs::symlink_metadata(scratch.root().join("in")).unwrap().is_symlink());
    assert_eq!(scratch.bytes("real/a.txt"), b"edited");
    scratch.link("to-new", "real/new.txt");
    scratch.write("to-new", "made").unwrap();
    assert_eq!(scratch.bytes("real/new.txt"), b"made");
}

#[test]
fn deny_paths_hold_for_every_name_of_a_file() {
    let scratch = Scratch::with("", &[".git/**", "**/.env", "**/id_rsa*", "private", "*.pem"]);
    scratch.file(".env", "KEY=1");
    scratch.file("config/x", "");
    scratch.file("private/deep/x", "canary");
    scratch.file("certs/a.pem", "canary");
    scratch.file(".git/config", "canary");
    scratch.link("config/safe.txt", "../.env");
    scratch.link("up", ".");
    for path in [
        ".env",
        ".ENV",
        "config/safe.txt",
        "up/.env",
        "up/config/../.env",
        "private/deep/x",
        "private",
        "certs/a.pem",
        ".git/config",
        ".git",
        "config/../.env",
    ] {
        for said in [scratch.read(path), scratch.write(path, "no")] {
            let error = said.unwrap_err();
            let absent = error.contains("no such file");
            assert!(error.contains("deny_paths") || absent, "{path}: {error}");
        }
    }
    assert!(scratch.write("environment", "yes").is_ok());
    assert!(scratch.read(".").unwrap().contains("config/"));
    assert!(!scratch.read(".").unwrap().contains(".env"));
    assert!(open(&scratch.root(), "", &["a{b"]).is_err());
}

#[test]
fn what_belongs_to_git_and_nub_is_never_written() {
    let scratch = Scratch::new();
    scratch.file(".git/config", "old");
    scratch.file("sub/.git", "gitdir: ../elsewhere/store\n");
    scratch.file("elsewhere/store/x", "old");
    scratch.file("bare/HEAD", "ref: refs/heads/main");
    fs::create_dir_all(scratch.root().join("bare/objects")).unwrap();
    fs::create_dir_all(scratch.root().join("bare/refs")).unwrap();
    scratch.link("alias", ".git");
    for path in [
        ".git",
        ".git/config",
        ".git/hooks/pre-commit",
        ".GIT/hooks/pre-commit",
        ".Git/config",
        ".g\u{200c}it/config",
        ".git./config",
        ".git /config",
        "git~1/config",
        ".git::$INDEX_ALLOCATION/config",
        "vendor/lib/.git/hooks/x",
        "sub/.git",
        "sub/.nub/config.toml",
        ".nub/config.toml",
        ".NUB/config.toml",
        ".git/modules/x/hooks/y",
        "alias/config",
        "bare/hooks/pre-commit",
        "bare/config",
        "\u{ff0e}git/config",
    ] {
        let error = scratch.write(path, "evil").unwrap_err();
        assert!(error.contains("belongs to"), "{path}: {error}");
        assert!(scratch.edit(path, "old", "evil").is_err(), "{path}");
    }
    for path in
        [".gitignore", ".GITIGNORE2", ".gitattributes.md", ".github/workflows/ci.yml", "git/x", "nub/x"]
    {
        assert!(scratch.write(path, "fine").is_ok(), "{path}");
    }
}

#[test]
fn the_folder_a_git_file_points_at_is_protected() {
    let scratch = Scratch::new();
    scratch.file(".git", "gitdir: ./meta/real\n");
    for path in [".git", "meta/real/config", "meta/real/hooks/pre-commit"] {
        assert!(scratch.write(path, "evil").unwrap_err().contains("git"), "{path}");
    }
    assert!(scratch.write("meta/other", "fine").is_ok());
}

#[test]
fn start_up_files_of_other_programs_are_not_written() {
    let scratch = Scratch::new();
    for path in [
        ".bashrc",
        ".profile",
        ".ripgreprc",
        ".mcp.json",
        ".vscode/tasks.json",
        ".envrc",
        ".ssh/authorized_keys",
        ".config/nub/config.toml",
        ".BashRC",
        "deep/.ENVRC",
        ".Vscode/Tasks.json",
    ] {
        let error = scratch.write(path, "evil").unwrap_err();
        assert!(error.contains("other programs"), "{path}: {error}");
    }
    assert!(!scratch.root().join(".ssh").exists());
    assert!(scratch.write("bashrc", "fine").is_ok());
}

#[test]
fn only_regular_files_are_opened() {
    let scratch = Scratch::new();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        scratch.root().join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_bits_truncate(0o600),
        0,
    )
    .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(scratch.root().join("socket")).unwrap();
    for (path, kind) in [("pipe", "FIFO"), ("socket", "socket")] {
        for said in [scratch.read(path), scratch.write(path, "x"), scratch.edit(path, "x", "y")] {
            assert!(said.unwrap_err().contains(kind), "{path}");
        }
    }
    let root = open(Path::new("/"), "", &[]).unwrap();
    for path in ["/dev/zero", "/dev/tty", "/proc/self/environ", "/sys/kernel/mm/transparent_hugepage/enabled"]
    {
        let args = ReadArgs { path: path.into(), ..ReadArgs::default() };
        let error = Said::from(read::run(&root, args, &Cancel::default())).unwrap_err();
        assert!(
            error.contains("device") || error.contains("kernel file") || error.contains("no such"),
            "{error}"
        );
    }
}

#[test]
fn a_root_nobody_chose_is_not_written() {
    let scratch = Scratch::new();
    let root = scratch.root();
    let chosen = paths(&root, "");
    let write = |home: &Path| {
        let paths = Paths { in_repo: false, home: home.into(), ..chosen.clone() };
        let place = Place::open(&paths, None, &[]).unwrap();
        let args = WriteArgs { path: "x".into(), content: "x".into() };
        Said::from(write::run(&place, args, &Cancel::default()))
    };
    assert!(write(&root).unwrap_err().contains("no project folder"));
    assert!(write(&root.join("..")).is_ok());
    let everything = open(Path::new("/"), "", &[]).unwrap();
    let args = WriteArgs { path: "tmp/nub-never".into(), content: "x".into() };
    assert!(Said::from(write::run(&everything, args, &Cancel::default())).is_err());
}

#[test]
fn the_root_is_held_while_its_name_moves() {
    let scratch = Scratch::new();
    scratch.file("a", "old");
    fs::rename(scratch.root(), scratch.base.join("moved")).unwrap();
    fs::create_dir(scratch.root()).unwrap();
    assert_eq!(scratch.read("a").unwrap(), "1\told");
    scratch.write("b", "new").unwrap();
    assert_eq!(fs::read_dir(scratch.root()).unwrap().count(), 0);
    assert_eq!(fs::read(scratch.base.join("moved/b")).unwrap(), b"new");
}

#[test]
fn a_working_folder_below_the_root() {
    let scratch = Scratch::with("src", &[]);
    scratch.file("src/a.rs", "a");
    scratch.file("README", "r");
    assert!(scratch.read("a.rs").is_ok());
    assert!(scratch.read("../README").is_ok());
    assert!(scratch.read("../../x").unwrap_err().contains("outside"));
    assert_eq!(scratch.write("../doc/x", "x").unwrap(), "created '../doc/x' (1 line)");
    assert_eq!(scratch.write("b.rs", "x").unwrap(), "created 'b.rs' (1 line)");
}
