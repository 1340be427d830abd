//! nub-session from outside: the filter rule, the tree, the path and its summaries, which session is
//! meant, and files that other programs or accidents have written.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::scratch::{Ran, Scratch, finish};

pub fn message(role: &str, text: &str) -> String {
    let message = json!({"role": role, "content": [{"kind": "text", "text": text}]});
    format!("{{\"v\":1,\"type\":\"message\",\"message\":{message}}}\n")
}

pub fn session(scratch: &Scratch, args: &[&str], input: impl AsRef<[u8]>) -> Ran {
    scratch.run("nub-session", args, input)
}

/// The one session file of a scratch folder.
pub fn file(scratch: &Scratch) -> PathBuf {
    let folder = fs::read_dir(scratch.work().join(".nub/sessions")).unwrap();
    let mut files: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 1);
    files.remove(0)
}

/// The texts of the path.
pub fn texts(ran: &Ran) -> Vec<String> {
    let text = |node: Value| node["message"]["content"][0]["text"].as_str().unwrap_or("?").to_owned();
    ran.of("node").into_iter().map(text).collect()
}

fn path(scratch: &Scratch) -> Vec<String> {
    let ran = session(scratch, &["path"], "");
    assert_eq!(ran.code, 0, "{}", ran.err);
    texts(&ran)
}

/// A session file written by other hands.
pub fn write(scratch: &Scratch, lines: &[String]) -> PathBuf {
    scratch.file(".nub/sessions/01ARZ3NDEKTSV4RRFFQ69G5FAV.jsonl", lines.join("\n") + "\n")
}

pub fn node(id: &str, parent: &str) -> String {
    let message = json!({"role": "user", "content": [{"kind": "text", "text": id}]});
    format!(
        r#"{{"v":1,"type":"node","id":"{id}","parent":"{parent}","kind":"message","message":{message},"meta":{{}}}}"#
    )
}

pub fn summary(id: &str, parent: &str, replaces: &[&str]) -> String {
    let message = json!({"role": "user", "content": [{"kind": "text", "text": id}]});
    let replaces = json!(replaces);
    format!(
        r#"{{"v":1,"type":"node","id":"{id}","parent":"{parent}","kind":"summary","message":{message},"replaces":{replaces},"meta":{{}}}}"#
    )
}

#[test]
fn nodes_stand_in_the_place_of_messages_and_the_rest_passes() {
    let scratch = Scratch::repo();
    let foreign = "{\"v\":1, \"type\":\"sync\",  \"x\":[1.50, \"\u{2028}\"]}\r";
    let done = r#"{"v":1,"type":"done","stop":"end_turn"}"#;
    let input = format!("{}{foreign}\n{}{done}\n", message("user", "one"), message("assistant", "two"));
    let ran = session(&scratch, &["append"], input);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let lines: Vec<&str> = ran.out.split('\n').collect();
    assert_eq!((lines[1], lines[3], lines[4]), (foreign, done, ""));
    let nodes = ran.of("node");
    assert_eq!(nodes[0]["parent"], "");
    assert_eq!(nodes[1]["parent"], nodes[0]["id"]);
    assert!(nodes[0]["id"].as_str() < nodes[1]["id"].as_str());
    assert!(nodes[0]["meta"]["created_at"].is_string());
    let stored = fs::read_to_string(file(&scratch)).unwrap();
    let stored: Vec<&str> = stored.lines().collect();
    assert!(stored[0].starts_with(r#"{"v":1,"type":"session","id":""#));
    assert_eq!(&stored[1..], [lines[0], lines[2]]);
    assert_eq!(session(&scratch, &["path"], "").out, format!("{}\n{}\n", lines[0], lines[2]));
}

#[test]
fn modes_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::repo();
    session(&scratch, &["append", "--user", "hi"], "");
    let mode = |path: PathBuf| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(scratch.work().join(".nub")), 0o700);
    assert_eq!(mode(scratch.work().join(".nub/sessions")), 0o700);
    assert_eq!(mode(file(&scratch)), 0o600);
    let status = finish(
        {
            let mut git = scratch.command("git");
            git.args(["status", "--porcelain"]);
            git
        },
        "",
    );
    assert_eq!(status.out, "", ".nub is kept out of the history");
}

#[test]
fn nothing_said_makes_no_session() {
    let scratch = Scratch::repo();
    let context = r#"{"v":1,"type":"context","id":"c1","system":[]}"#;
    let ran = session(&scratch, &["append"], format!("{context}\n"));
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    assert!(!scratch.work().join(".nub").exists());
}

#[test]
fn a_context_is_stored_once_and_named_by_what_it_shaped() {
    let scratch = Scratch::repo();
    let context = |id: &str| format!("{{\"v\":1,\"type\":\"context\",\"id\":\"{id}\",\"system\":[]}}\n");
    let input = format!("{}{}{}{}", context("c1"), context("c1"), message("user", "a"), context("c1"));
    let ran = session(&scratch, &["append"], input);
    assert_eq!(ran.of("node")[0]["meta"]["context"], "c1");
    let ran = session(&scratch, &["append"], format!("{}{}", context("c1"), message("assistant", "b")));
    assert_eq!(ran.of("node")[0]["meta"]["context"], "c1");
    session(&scratch, &["append"], format!("{}{}", context("c2"), message("user", "c")));
    let text = fs::read_to_string(file(&scratch)).unwrap();
    let count = |what: &str| text.matches(what).count();
    assert_eq!((count(r#""type":"context","id":"c1""#), count(r#""type":"context","id":"c2""#)), (1, 1));
}

#[test]
fn a_session_is_announced_before_it_is_made() {
    let scratch = Scratch::repo();
    let ran = session(&scratch, &["append", "--new", "--announce"], message("user", "a"));
    let first = &ran.records()[0];
    assert_eq!(first["type"], "session");
    assert_eq!(file(&scratch).file_stem().unwrap().to_str(), first["id"].as_str());
    let again = session(&scratch, &["append", "--announce"], "");
    assert_eq!(again.records(), std::slice::from_ref(first));
}

#[test]
fn branches_labels_and_bookmarks() {
    let scratch = Scratch::repo();
    let said = [message("user", "a"), message("assistant", "b"), message("user", "c")].concat();
    let nodes = session(&scratch, &["append"], said).of("node");
    let id = |at: usize| nodes[at]["id"].as_str().unwrap();
    assert_eq!(session(&scratch, &["branch", id(0)], "").of("head")[0]["head"], id(0));
    session(&scratch, &["append"], message("assistant", "d"));
    assert_eq!(path(&scratch), ["a", "d"]);
    // the end of an id will do, a name too
    session(&scratch, &["label", &id(2)[20..], "here"], "");
    session(&scratch, &["bookmark", "here"], "");
    session(&scratch, &["branch", "here"], "");
    assert_eq!(path(&scratch), ["a", "b", "c"]);
    let tree = session(&scratch, &["tree", "--format", "text"], "").out;
    let lines: Vec<&str> = tree.lines().collect();
    assert_eq!(lines.len(), 4, "{tree}");
    assert!(lines[1].starts_with("├─○") && lines[1].contains("assistant") && lines[1].ends_with("d"));
    assert!(lines[3].ends_with("c  ★  [here]  ← head"), "{tree}");
    let list = &session(&scratch, &["list"], "").records()[0];
    assert_eq!((&list["turns"], &list["branches"], &list["title"]), (&json!(2), &json!(2), &json!("a")));
    session(&scratch, &["branch", "root"], "");
    assert!(path(&scratch).is_empty());
    session(&scratch, &["append", "--user", "afresh"], "");
    assert_eq!(path(&scratch), ["afresh"]);
}

#[test]
fn heads_and_labels_through_append_reach_nodes_or_warn() {
    let scratch = Scratch::repo();
    let first = session(&scratch, &["append"], [message("user", "a"), message("user", "b")].concat());
    let id = first.of("node")[0]["id"].as_str().unwrap().to_owned();
    let head = |id: &str| format!("{{\"v\":1,\"type\":\"head\",\"head\":\"{id}\"}}\n");
    let input = [head("nowhere"), head(&id), message("user", "c")].concat();
    let ran = session(&scratch, &["append"], input);
    assert_eq!(ran.code, 0);
    assert_eq!(ran.of("warning")[0]["code"], "unknown_node");
    assert_eq!(ran.of("node")[0]["parent"], *id);
}

#[test]
fn a_summary_takes_the_place_of_what_it_replaces_and_a_rewind_undoes_it() {
    let scratch = Scratch::repo();
    let said: String = (0..6).map(|n| message("user", &format!("m{n}"))).collect();
    let nodes = session(&scratch, &["append"], said).of("node");
    let replaces: Vec<&str> = nodes[..4].iter().map(|n| n["id"].as_str().unwrap()).collect();
    let record = json!({"v": 1, "type": "summary", "text": "short", "replaces": replaces});
    let ran = session(&scratch, &["append"], format!("{record}\n{}", message("user", "after")));
    assert_eq!(ran.of("node")[0]["kind"], "summary");
    let path_now = path(&scratch);
    assert!(path_now[0].ends_with("short"));
    assert_eq!(path_now[1..], ["m4", "m5", "after"]);
    session(&scratch, &["branch", replaces[3]], "");
    assert_eq!(path(&scratch), ["m0", "m1", "m2", "m3"]);
}

#[test]
fn a_kept_part_never_begins_with_results() {
    let scratch = Scratch::repo();
    let result = r#"{"v":1,"type":"node","id":"R","parent":"A","kind":"message","message":{"role":"user","content":[{"kind":"tool_result","tool_use_id":"t","result":[]}]}}"#;
    write(
        &scratch,
        &[node("A", ""), result.into(), node("B", "R"), summary("S", "B", &["A"]), node("C", "S")],
    );
    assert_eq!(path(&scratch), ["S", "B", "C"]);
}

#[test]
fn other_field_orders_and_spaces_are_read() {
    let scratch = Scratch::repo();
    let odd = r#" { "type" : "node", "v" : 1, "message":{"content":[{"text":"odd","kind":"text"}],"role":"user"}, "kind":"message", "parent":"A", "id":"B" } "#;
    let escaped = r#"{"v":1,"type":"node","id":"\u0043","parent":"B","kind":"message","message":{"role":"user","content":[{"kind":"text","text":"C"}]}}"#;
    write(&scratch, &[node("A", ""), odd.into(), escaped.into(), node("D", "C")]);
    assert_eq!(path(&scratch), ["A", "odd", "C", "D"]);
    assert!(session(&scratch, &["path"], "").out.contains(&format!("{odd}\n")), "byte for byte");
}

#[test]
fn damage_is_survived_with_a_warning() {
    let scratch = Scratch::repo();
    let torn = r#"{"v":1,"type":"node","id":"X","parent":"A","kind":"message","mess"#;
    let welded = format!("{torn}{}", node("Y", "A"));
    let cases: [(&str, Vec<String>, &[&str]); 7] = [
        ("garbage between", vec![node("A", ""), "what?".into(), "\0\0".into(), node("B", "A")], &["A", "B"]),
        ("unknown parent", vec![node("A", ""), node("B", "lost"), node("C", "B")], &["B", "C"]),
        ("circle", vec![node("A", "B"), node("B", "A")], &["A", "B"]),
        ("itself", vec![node("A", "A")], &["A"]),
        (
            "one id twice",
            vec![node("A", ""), node("B", "A"), node("B", "A"), node("C", "B")],
            &["A", "B", "C"],
        ),
        ("welded", vec![node("A", ""), welded, node("Z", "X")], &["Z"]),
        ("lost head", vec![node("A", ""), r#"{"v":1,"type":"head","head":"?"}"#.into()], &["A"]),
    ];
    for (name, lines, wanted) in cases {
        let path_of_file = write(&scratch, &lines);
        let before = fs::read(&path_of_file).unwrap();
        for args in [&["path"][..], &["tree"], &["list"], &["tree", "--format", "text"]] {
            let ran = session(&scratch, args, "");
            assert_eq!(ran.code, 0, "{name} {args:?}: {}", ran.err);
        }
        let ran = session(&scratch, &["path"], "");
        assert_eq!(
            ran.err.contains("nub-session check says more"),
            ["garbage between", "welded"].contains(&name),
            "{}",
            ran.err
        );
        let mut got = texts(&ran);
        got.sort();
        assert_eq!(got, wanted, "{name}");
        assert_eq!(fs::read(&path_of_file).unwrap(), before, "{name}: reading changes nothing");
    }
}

#[test]
fn a_node_before_its_parent_is_found() {
    let scratch = Scratch::repo();
    write(
        &scratch,
        &[node("C", "B"), node("A", ""), node("B", "A"), r#"{"v":1,"type":"head","head":"C"}"#.into()],
    );
    assert_eq!(path(&scratch), ["A", "B", "C"]);
}

#[test]
fn a_record_of_a_later_version_is_refused_and_the_file_kept() {
    let scratch = Scratch::repo();
    let later = r#"{"v":2,"type":"node","id":"B","parent":"A","kind":"message","message":{}}"#;
    let file = write(&scratch, &[node("A", ""), later.into(), node("C", "A")]);
    let before = fs::read(&file).unwrap();
    for args in [&["path"][..], &["tree"], &["append"], &["branch", "A"]] {
        let ran = session(&scratch, args, message("user", "more"));
        assert_eq!(ran.code, 2, "{args:?}");
        assert!(ran.err.contains("version 2") && ran.err.contains("version 1"), "{}", ran.err);
    }
    assert_eq!(fs::read(&file).unwrap(), before);
    let list = &session(&scratch, &["list"], "").records()[0];
    assert!(list["damage"].as_str().unwrap().contains("version 2"), "it hides no other session");
}

#[test]
fn a_torn_tail_is_ignored_then_cut() {
    let scratch = Scratch::repo();
    session(&scratch, &["append", "--user", "whole"], "");
    let file = file(&scratch);
    for round in 0..10 {
        let good = fs::read(&file).unwrap();
        let torn = [&good[..], br#"{"v":1,"type":"node","id":"01"#].concat();
        fs::write(&file, &torn).unwrap();
        let ran = session(&scratch, &["path"], "");
        assert_eq!(ran.code, 0);
        assert!(ran.err.contains("torn line of 29 bytes"), "{}", ran.err);
        let ran = session(&scratch, &["append", "--user", &format!("r{round}")], "");
        assert!(ran.err.contains("cut a torn line of 29 bytes"), "{}", ran.err);
        assert!(fs::read(&file).unwrap().starts_with(&good), "what was whole is untouched");
    }
    assert_eq!(path(&scratch).len(), 11);
}

#[test]
fn a_complete_line_without_its_end_is_no_torn_line() {
    let scratch = Scratch::repo();
    let file = scratch.file(".nub/sessions/01ARZ3NDEKTSV4RRFFQ69G5FAV.jsonl", node("A", ""));
    assert_eq!(path(&scratch), ["A"]);
    session(&scratch, &["append", "--user", "b"], "");
    assert_eq!(path(&scratch), ["A", "b"]);
    assert_eq!(fs::read_to_string(file).unwrap().lines().next(), Some(node("A", "").as_str()));
}

#[test]
fn bad_input_is_refused_after_what_was_good_is_stored() {
    let scratch = Scratch::repo();
    for bad in ["no json", "[1]", r#"{"v":2,"type":"x"}"#, r#"{"type":"x"}"#] {
        let ran = session(&scratch, &["append"], format!("{}{bad}\n", message("user", "good")));
        assert_eq!(ran.code, 2, "{bad}");
        assert_eq!(ran.of("node").len(), 1);
        assert!(ran.err.starts_with("nub-session: input line 2 is "), "{}", ran.err);
    }
    let ran = session(&scratch, &["append"], r#"{"v":1,"type":"message","message":{"role":"king"}}"#);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("input line 1"), "{}", ran.err);
    assert_eq!(path(&scratch).len(), 4);
}

#[test]
fn lone_surrogates_are_mended_before_they_are_stored() {
    let scratch = Scratch::repo();
    let bad =
        r#"{"v":1,"type":"message","message":{"role":"user","content":[{"kind":"text","text":"a\ud99cb"}]}}"#;
    assert_eq!(texts(&session(&scratch, &["append"], bad)), ["a\u{fffd}b"]);
    assert_eq!(path(&scratch), ["a\u{fffd}b"]);
}

#[test]
fn the_session_is_named_by_flag_variable_prefix_or_path() {
    let scratch = Scratch::repo();
    let new = || session(&scratch, &["new", "--format", "text"], "").out.trim_end().to_owned();
    let (first, second) = (new(), new());
    session(&scratch, &["append", "-s", &first, "--user", "in first"], "");
    session(&scratch, &["append", "-s", &second.to_lowercase(), "--user", "in second"], "");
    assert_eq!(path(&scratch), ["in second"], "the one written last");
    let file = format!(".nub/sessions/{first}.jsonl");
    for word in [&first, &first[..25], file.as_str()] {
        assert_eq!(texts(&session(&scratch, &["path", "-s", word], "")), ["in first"], "{word}");
    }
    let mut command = scratch.nub("nub-session");
    command.arg("path").env("NUB_SESSION", &first);
    assert_eq!(texts(&finish(command, "")), ["in first"]);
    for (word, says) in [("nope", "no session 'nope'"), (&first[..4], "means 2 sessions")] {
        let ran = session(&scratch, &["path", "-s", word], "");
        assert_eq!(ran.code, 2);
        assert!(ran.err.contains(says), "{}", ran.err);
    }
}

#[test]
fn a_session_is_found_from_another_folder() {
    let scratch = Scratch::new();
    for folder in ["one/.git", "two/.git"] {
        fs::create_dir_all(scratch.work().join(folder)).unwrap();
        fs::write(scratch.work().join(folder).join("HEAD"), "ref: refs/heads/main\n").unwrap();
    }
    let id = session(&scratch, &["-C", "one", "new", "--format", "text"], "").out.trim_end().to_owned();
    session(&scratch, &["-C", "one", "append", "--user", "far"], "");
    assert_eq!(session(&scratch, &["-C", "two", "list"], "").out, "");
    assert_eq!(session(&scratch, &["-C", "two", "list", "--all"], "").records()[0]["title"], "far");
    assert_eq!(texts(&session(&scratch, &["-C", "two", "path", "-s", &id[..20]], "")), ["far"]);
}

#[test]
fn a_session_that_came_with_the_repository_is_never_the_latest() {
    let scratch = Scratch::repo();
    session(&scratch, &["append", "--user", "mine"], "");
    let theirs = scratch.file(".nub/sessions/01ARZ3NDEKTSV4RRFFQ69G5FAV.jsonl", node("evil", "") + "\n");
    let mut git = scratch.command("git");
    assert!(git.args(["add", "-f", theirs.to_str().unwrap()]).status().unwrap().success());
    assert_eq!(path(&scratch), ["mine"]);
    let list = session(&scratch, &["list"], "").records();
    let foreign: Vec<&Value> =
        list.iter().filter(|one| one["foreign"] == true).map(|one| &one["id"]).collect();
    assert_eq!((list.len(), foreign), (2, vec![&json!("01ARZ3NDEKTSV4RRFFQ69G5FAV")]));
    assert_eq!(texts(&session(&scratch, &["path", "-s", "01ARZ3"], "")), ["evil"], "only when asked for");
}

#[test]
fn without_a_session_reading_says_what_to_do() {
    let scratch = Scratch::repo();
    assert_eq!(session(&scratch, &["path"], "").code, 0, "a conversation before its first word");
    for args in [&["tree"][..], &["show", "x"], &["branch", "x"]] {
        let ran = session(&scratch, args, "");
        assert_eq!(ran.code, 2);
        assert!(ran.err.contains("no session in") && ran.err.contains("nub-session new"), "{}", ran.err);
    }
    assert_eq!(session(&scratch, &["list"], "").code, 0);
}
