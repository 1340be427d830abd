//! The scripts of examples/, run as people run them, against a server that replays answers.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::http::{Reply, Server};
use crate::loop_stage::messages;
use crate::scratch::{Ran, Scratch, finish, source};

fn example(name: &str) -> PathBuf {
    source().join("examples").join(name)
}

/// The recorded task: write a file, look at it, say so.
fn task() -> Vec<Reply> {
    let command = json!({"command": "cat notes/a.txt; echo seen >&2; exit 3"});
    vec![
        Reply::call("call_1", "write", &json!({"path": "notes/a.txt", "content": "one\ntwo\n"})),
        Reply::call("call_2", "bash", &command),
        Reply::call("call_3", "read", &json!({"path": "nowhere"})),
        Reply::text("notes/a.txt holds two lines."),
    ]
}

/// A fresh repository with a server that plays the task; the command gets the prompt in its own way.
fn play(run: impl FnOnce(&Scratch, &str) -> Ran) -> (Ran, Vec<Value>) {
    let server = Server::start(task());
    let scratch = Scratch::repo();
    scratch.endpoint(&server.url, "");
    let ran = run(&scratch, &server.url);
    assert_eq!(ran.code, 0, "{}\n{}", ran.out, ran.err);
    assert_eq!(scratch.read("notes/a.txt"), "one\ntwo\n");
    (ran, messages(&scratch, "latest"))
}

const PROMPT: &str = "make notes, then look at them";

fn by_loop(scratch: &Scratch, more: &[String], env: &[(&str, &str)]) -> Ran {
    let mut command = scratch.nub("nub-loop");
    command.arg("--new").args(more).envs(env.iter().copied());
    finish(command, format!("{}\n", json!({"v":1,"type":"input","op":"prompt","text":PROMPT})))
}

fn has_python() -> bool {
    let found = Scratch::new().command("python3").arg("--version").output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("skipped: python3 is not installed");
    }
    found
}

/// The house's loop, a loop in shell and a loop with a stage in Python do the same and leave the same.
#[test]
fn every_loop_leaves_the_same_session() {
    let (ran, session) = play(|scratch, _| by_loop(scratch, &[], &[]));
    assert_eq!(ran.of("result")[0]["text"], "notes/a.txt holds two lines.");
    assert_eq!(session.len(), 8);
    assert_eq!(session[4]["content"][0]["tool_use_id"], "call_2");

    let (ran, in_shell) = play(|scratch, _| {
        let mut command = scratch.command(example("loop.sh"));
        command.arg(PROMPT);
        finish(command, "")
    });
    assert_eq!(ran.records().last().unwrap()["stop"], "end_turn");
    assert_eq!(in_shell, session);

    if has_python() {
        let stage = format!("stream=python3 {}", example("stream.py").display());
        let (_, in_python) =
            play(|scratch, url| by_loop(scratch, &["--stage".into(), stage], &[("OPENAI_BASE_URL", url)]));
        assert_eq!(in_python, session);
    }
}

#[test]
fn the_loop_in_shell_says_how_it_ended() {
    let run = |scratch: &Scratch, turns: &str| {
        let mut command = scratch.command(example("loop.sh"));
        command.arg("go").env("MAX_TURNS", turns);
        finish(command, "")
    };
    let server = Server::start(task());
    let scratch = Scratch::repo();
    scratch.endpoint(&server.url, "");
    assert_eq!(run(&scratch, "2").code, 4);
    let server = Server::start(vec![Reply::status(401, "", "{}")]);
    scratch.endpoint(&server.url, "retries = 0");
    assert_eq!(run(&scratch, "2").code, 1);
}

#[test]
fn a_turn_is_a_pipeline() {
    let server = Server::start(task());
    let scratch = Scratch::repo();
    scratch.endpoint(&server.url, "");
    let mut command = scratch.command(example("turn.sh"));
    command.arg("make notes");
    let ran = finish(command, "");
    assert_eq!(
        (ran.code, ran.records().last().unwrap()["stop"].clone()),
        (0, json!("tool_use")),
        "{}",
        ran.err
    );
    assert_eq!(messages(&scratch, "latest").len(), 3);
    // without a prompt it goes on
    let ran = finish(scratch.command(example("turn.sh")), "");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(messages(&scratch, "latest").len(), 5);
}

#[test]
fn the_stage_in_python_says_what_went_wrong() {
    if !has_python() {
        return;
    }
    let scratch = Scratch::repo();
    let request = json!({"v":1,"type":"request","messages":[]});
    let torn = Reply::sse(&[r#"{"choices":[{"index":0,"delta":{"content":"ha"}}]}"#]);
    for (reply, words) in [(Reply::status(500, "", "no"), "500"), (torn, "broke off")] {
        let server = Server::start(vec![reply]);
        let mut command = scratch.command("python3");
        command.arg(example("stream.py")).env("OPENAI_BASE_URL", &server.url);
        let ran = finish(command, format!("{}\n{request}\n", json!({"v":1,"type":"later"})));
        let error = &ran.of("error")[0];
        assert!(error["message"].as_str().unwrap().contains(words), "{error}");
        assert_eq!((ran.code, ran.of("later").len(), ran.of("done").len()), (0, 1, 0));
    }
}

#[test]
fn a_commit_message_comes_from_the_staged_change() {
    let server = Server::start(vec![Reply::text("notes: begin")]);
    let scratch = Scratch::repo();
    scratch.endpoint(&server.url, "");
    let ran = finish(scratch.command(example("commit-msg.sh")), "");
    assert_eq!((ran.code, ran.err.as_str()), (1, "commit-msg.sh: nothing is staged\n"));
    scratch.file("a.txt", "a line to tell\n");
    assert!(scratch.command("git").args(["add", "a.txt"]).status().unwrap().success());
    let ran = finish(scratch.command(example("commit-msg.sh")), "");
    assert_eq!((ran.code, ran.out.trim_end()), (0, "notes: begin"), "{}", ran.err);
    let asked = server.asked()[0].json();
    assert!(asked.to_string().contains("a line to tell"));
    assert!(asked.get("tools").is_none());
    // as a hook of git
    fs::create_dir_all(scratch.work().join(".git/hooks")).unwrap();
    std::os::unix::fs::symlink(
        example("commit-msg.sh"),
        scratch.work().join(".git/hooks/prepare-commit-msg"),
    )
    .unwrap();
    let name =
        ["-c", "user.name=n", "-c", "user.email=n@localhost", "-c", "core.editor=true", "commit", "-q"];
    let ran = finish(
        {
            let mut command = scratch.command("git");
            command.args(name);
            command
        },
        "",
    );
    assert_eq!(ran.code, 0, "{}", ran.err);
    let mut command = scratch.command("git");
    command.args(["log", "-1", "--format=%s"]);
    assert_eq!(finish(command, "").out, "notes: begin\n");
}

fn git(scratch: &Scratch, args: &[&str]) {
    let identity = ["-c", "user.name=n", "-c", "user.email=n@localhost"];
    assert!(scratch.command("git").args(identity).args(args).status().unwrap().success());
}

#[test]
fn the_review_of_ci_goes_into_its_summary_and_touches_nothing() {
    let server = Server::start(vec![
        Reply::call("c1", "bash", &json!({"command": "touch owned"})),
        Reply::call("c2", "write", &json!({"path": "owned", "content": ""})),
        Reply::text("a.txt:1: wrong"),
    ]);
    let scratch = Scratch::repo();
    scratch.endpoint(&server.url, "");
    scratch.file("a.txt", "one\n");
    git(&scratch, &["add", "."]);
    git(&scratch, &["commit", "-qm", "one"]);
    git(&scratch, &["branch", "base"]);
    scratch.file("a.txt", "the change\n");
    git(&scratch, &["commit", "-qam", "two"]);
    let summary = scratch.home().join("summary");
    let mut command = scratch.command(example("ci/review.sh"));
    command.arg("base").env("GITHUB_STEP_SUMMARY", &summary);
    let ran = finish(command, "");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(fs::read_to_string(&summary).unwrap().trim_end(), "a.txt:1: wrong");
    assert!(server.asked()[0].body.contains("the change"));
    assert!(!scratch.work().join("owned").exists());
    let mut command = scratch.command(example("ci/review.sh"));
    command.arg("HEAD");
    assert_eq!(finish(command, "").code, 0);
}

/// Each can be started, says in its first comment what it shows, and is as short as it claims.
#[test]
fn examples_say_what_they_show() {
    use std::os::unix::fs::PermissionsExt;
    for (name, most) in
        [("turn.sh", 10), ("loop.sh", 30), ("stream.py", 60), ("commit-msg.sh", 30), ("ci/review.sh", 30)]
    {
        let path = example(name);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.lines().nth(1).unwrap().starts_with("# Shows "), "{name}");
        assert!(text.lines().count() <= most, "{name} has more than {most} lines");
        assert!(path.metadata().unwrap().permissions().mode() & 0o111 != 0, "{name}");
    }
    let workflow = fs::read_to_string(example("ci/github-actions.yml")).unwrap();
    assert!(workflow.starts_with("# Shows ") && workflow.contains("review.sh"));
    assert!(
        !fs::read_to_string(example("loop.sh"))
            .unwrap()
            .lines()
            .any(|l| !l.starts_with('#') && l.contains("nub-loop"))
    );
    assert!(Path::new(&example("demo")).is_dir());
}
