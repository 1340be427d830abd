//! Tests of nub with every real program behind it, against a server of the test's own.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::http::{Reply, Server};
use crate::scratch::Scratch;

fn at(server: &Server) -> Scratch {
    let scratch = Scratch::repo();
    scratch.endpoint(&server.url, "retries = 0");
    scratch
}

#[test]
fn a_task_is_done() {
    let server = Server::start(vec![
        Reply::call("c1", "write", &serde_json::json!({"path": "x.txt", "content": "hello\n"})),
        Reply::text("It is written."),
    ]);
    let scratch = at(&server);
    let ran = scratch.run("nub", &["-p", "write hello to x.txt"], "");
    assert_eq!((ran.code, ran.out.as_str()), (0, "It is written.\n"), "{}", ran.err);
    assert!(ran.err.contains("x.txt · new, 1 line"), "{}", ran.err);
    assert_eq!(scratch.read("x.txt"), "hello\n");
    let ran = scratch.run("nub", &["-p", "--mode", "json", "more"], "");
    assert_eq!(ran.of("result")[0]["text"], "It is written.");
    assert!(ran.records().iter().all(|record| record["v"] == 1));
}

#[test]
fn a_session_is_new_or_goes_on() {
    let server = Server::start(vec![Reply::text("one"), Reply::text("two"), Reply::text("three")]);
    let scratch = at(&server);
    for args in [["-p", "alpha"].as_slice(), &["-p", "beta"], &["-c", "-p", "gamma"]] {
        assert_eq!(scratch.run("nub", args, "").code, 0);
    }
    let asked = server.wait(3);
    assert!(!asked[1].body.contains("alpha"));
    assert!(
        asked[2].body.contains("beta") && asked[2].body.contains("two") && !asked[2].body.contains("alpha")
    );
}

#[test]
fn piped_lines_are_one_conversation() {
    let server = Server::start(vec![Reply::text("one"), Reply::text("two"), Reply::text("three")]);
    let scratch = at(&server);
    let ran = scratch.run::<&str>("nub", &[], "alpha\nbeta\n/reset\ngamma\n");
    assert_eq!((ran.code, ran.out.as_str()), (0, "one\ntwo\nthree\n"), "{}", ran.err);
    let asked = server.wait(3);
    assert!(asked[1].body.contains("alpha"));
    assert!(!asked[2].body.contains("alpha"));
}

#[test]
fn what_can_be_wrong_is_said() {
    let scratch = Scratch::repo();
    let none = scratch.run("nub", &["-p", "x"], "");
    assert!(none.code == 2 && none.err.contains("config.toml"), "{}: {}", none.code, none.err);

    let server = Server::start(vec![Reply::status(401, "", r#"{"error":{"message":"bad key"}}"#)]);
    let wrong = at(&server).run("nub", &["-p", "x"], "");
    assert!(wrong.code == 1 && wrong.err.contains("401"), "{}: {}", wrong.code, wrong.err);

    scratch.endpoint("http://127.0.0.1:1/v1", "retries = 0");
    let refused = scratch.run("nub", &["-p", "x"], "");
    assert!(refused.code == 1 && refused.err.contains("127.0.0.1:1"), "{}: {}", refused.code, refused.err);

    scratch.config("version = 1\n[modle]\ndefault = \"x\"\n");
    let unknown = scratch.run("nub", &["-p", "x"], "");
    assert!(unknown.code == 2 && unknown.err.contains("modle"), "{}: {}", unknown.code, unknown.err);
    assert_eq!(unknown.err.matches("modle").count(), 1, "said once: {}", unknown.err);
    for ran in [none, wrong, refused, unknown] {
        assert_eq!(ran.out, "");
    }
}

#[test]
fn a_signal_ends_a_call_and_the_session_goes_on() {
    let call =
        Reply::call("c1", "bash", &serde_json::json!({"command": "echo $$ > pid; mkfifo never; cat never"}));
    let server = Server::start(vec![call.clone(), Reply::text("well"), call]);
    let scratch = at(&server);
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::KILL] {
        drop(fs::remove_file(scratch.work().join("never")));
        let mut nub = scratch.nub("nub");
        let mut child = nub
            .args(["-p", "x"])
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let pid = wait_for(&scratch.work().join("pid"));
        rustix::process::kill_process(rustix::process::Pid::from_child(&child), signal).unwrap();
        let status = child.wait().unwrap();
        // the pipes of stderr end when the last of its holders is gone
        std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut String::new()).unwrap();
        assert!(!Path::new("/proc").join(&pid).exists(), "the command survived {signal:?}");
        if signal == rustix::process::Signal::INT {
            assert_eq!(status.code(), Some(3));
            let on = scratch.run("nub", &["-c", "-p", "go on"], "");
            assert_eq!((on.code, on.out.as_str()), (0, "well\n"), "{}", on.err);
            let body = server.wait(2)[1].json();
            let roles: Vec<&str> =
                body["messages"].as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap()).collect();
            assert_eq!(roles[1..], ["user", "assistant", "tool", "user"]);
        }
        fs::remove_file(scratch.work().join("pid")).unwrap();
    }
}

/// The text of a file once it is there and complete.
fn wait_for(path: &Path) -> String {
    loop {
        match fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text.trim().to_owned(),
            Ok(_) | Err(_) => std::thread::yield_now(),
        }
    }
}
