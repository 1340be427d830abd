//! nub-session for people who care for their sessions: check and repair, request, fork, diff, export,
//! search, rm and prune.

use std::fs;

use serde_json::{Value, json};

use crate::scratch::{Scratch, finish};
use crate::session::{file, message, node, session, summary, texts, write};

fn call(id: &str, parent: &str, calls: &[&str]) -> String {
    let content: Vec<Value> =
        calls.iter().map(|id| json!({"kind": "tool_use", "id": id, "name": "bash", "input": {}})).collect();
    let message = json!({"role": "assistant", "content": content});
    format!(r#"{{"v":1,"type":"node","id":"{id}","parent":"{parent}","kind":"message","message":{message}}}"#)
}

fn results(id: &str, parent: &str, calls: &[&str]) -> String {
    let content: Vec<Value> =
        calls.iter().map(|id| json!({"kind": "tool_result", "tool_use_id": id, "result": []})).collect();
    let message = json!({"role": "user", "content": content});
    format!(r#"{{"v":1,"type":"node","id":"{id}","parent":"{parent}","kind":"message","message":{message}}}"#)
}

fn head(id: &str) -> String {
    format!(r#"{{"v":1,"type":"head","head":"{id}"}}"#)
}

const SESSION: &str = r#"{"v":1,"type":"session","id":"01ARZ3NDEKTSV4RRFFQ69G5FAV","created_at":"2026-01-01T00:00:00Z","cwd":"/x"}"#;

#[test]
fn check_finds_every_kind_of_damage_and_repair_mends_a_copy() {
    let scratch = Scratch::repo();
    let s = SESSION.to_owned();
    let torn = r#"{"v":1,"type":"node","id":"X","parent":"A","kind":"mess"#;
    let cases: Vec<(&[&str], Vec<String>, &[&str])> = vec![
        (
            &[],
            vec![s.clone(), node("A", ""), call("B", "A", &["t"]), results("C", "B", &["t"])],
            &["A", "?", "?"],
        ),
        (&["no_session"], vec![node("A", "")], &["A"]),
        (&["no_record"], vec![s.clone(), node("A", ""), "what?".into(), node("B", "A")], &["A", "B"]),
        (&["no_record"], vec![s.clone(), node("A", ""), "\0\0\0".into(), node("B", "A")], &["A", "B"]),
        (&["unknown_parent"], vec![s.clone(), node("B", "lost"), node("C", "B")], &["B", "C"]),
        (&["cycle"], vec![s.clone(), node("A", "B"), node("B", "A")], &["A", "B"]),
        (&["duplicate_id"], vec![s.clone(), node("A", ""), node("B", "A"), node("B", "A")], &["A", "B"]),
        (&["duplicate_id"], vec![s.clone(), node("A", ""), node("B", "A"), call("B", "A", &[])], &["A", "?"]),
        (&["missing_results"], vec![s.clone(), node("A", ""), call("B", "A", &["t"])], &["A", "?", "?"]),
        (
            &["missing_results"],
            vec![s.clone(), call("B", "", &["t", "u"]), results("C", "B", &["t"]), node("D", "C")],
            &["?", "?", "D"],
        ),
        (&["missing_results"], vec![s.clone(), call("B", "", &["t"]), call("C", "B", &[])], &["?", "?", "?"]),
        (&["unknown_head"], vec![s.clone(), node("A", ""), head("?")], &["A"]),
        (
            &["no_record", "unknown_parent"],
            vec![s, node("A", ""), format!("{torn}{}", node("Y", "A")), node("Z", "Y")],
            &["A", "Y", "Z"],
        ),
    ];
    for (wanted, lines, path) in cases {
        let file = write(&scratch, &lines);
        let before = fs::read(&file).unwrap();
        let ran = session(&scratch, &["check", "-s", "01ARZ3"], "");
        let mut codes: Vec<String> =
            ran.of("warning").iter().map(|w| w["code"].as_str().unwrap().to_owned()).collect();
        codes.sort();
        codes.dedup();
        assert_eq!(codes, *wanted, "{lines:#?}");
        assert_eq!(ran.code, i32::from(!wanted.is_empty()));
        let ran = session(&scratch, &["check", "--repair", "-s", "01ARZ3", "--format", "text"], "");
        assert_eq!(ran.code, 0, "{}", ran.err);
        let copy = ran.out.trim_end();
        let again = session(&scratch, &["check", "-s", copy], "");
        assert_eq!((again.code, again.out.as_str()), (0, ""), "{lines:#?}");
        assert_eq!(texts(&session(&scratch, &["path", "-s", copy], "")), path, "{lines:#?}");
        assert_eq!(fs::read(&file).unwrap(), before, "the damaged file stays");
    }
}

#[test]
fn check_names_torn_tails_and_later_versions_and_does_not_mend_those() {
    let scratch = Scratch::repo();
    let lines = [SESSION.to_owned(), node("A", ""), r#"{"v":2,"type":"node"}"#.into()];
    let file = write(&scratch, &lines);
    let torn = [&fs::read(&file).unwrap()[..], br#"{"v":1"#].concat();
    fs::write(&file, torn).unwrap();
    let ran = session(&scratch, &["check", "--format", "text"], "");
    assert_eq!(ran.out, "line 3: a record of version 2\nline 4: a torn line of 6 bytes\n");
    let ran = session(&scratch, &["check", "--repair"], "");
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("version 2"), "{}", ran.err);
}

#[test]
fn repair_keeps_what_it_does_not_know() {
    let scratch = Scratch::repo();
    let later = r#"{"v":1,"type":"later","x":[1.50]}"#;
    let label = r#"{"v":1,"type":"label","node":"A","label":"here"}"#;
    let context = r#"{"v":1,"type":"context","id":"c"}"#;
    write(&scratch, &[SESSION.into(), context.into(), node("A", ""), later.into(), label.into(), "?".into()]);
    let copy = session(&scratch, &["check", "--repair", "--format", "text"], "").out.trim_end().to_owned();
    let text = scratch.read(&format!(".nub/sessions/{copy}.jsonl"));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[1..5], [context, &node("A", ""), later, label]);
    assert!(lines[0].contains(r#""parent":"01ARZ3NDEKTSV4RRFFQ69G5FAV""#));
}

#[test]
fn a_request_is_rebuilt_byte_for_byte() {
    let scratch = Scratch::repo();
    let context = r#"{"v":1,"type":"context","id":"c1","system":[{"kind":"text","text":"be brief","cache_mark":true}],"tools":[{"name":"bash","description":"run","schema":{"z":1,"a":2.0},"source":"builtin"}]}"#;
    let user = r#"{"role":"user","content":[{"kind":"text","text":"é \" \\ \u2028"}]}"#;
    let answer = |stop: &str, content: &str| {
        format!(
            r#"{{"v":1,"type":"message","message":{{"role":"assistant","content":[{content}]}},"meta":{{"model":"m-1","endpoint":"mock","stop":"{stop}","context":"c1"}}}}"#
        )
    };
    let call = r#"{"kind":"tool_use","id":"t1","name":"bash","input":{"command": "ls",  "n": 1.0}}"#;
    let result = r#"{"role":"user","content":[{"kind":"tool_result","tool_use_id":"t1","result":[{"kind":"text","text":"x"}]}]}"#;
    let said = |message: &str| format!(r#"{{"v":1,"type":"message","message":{message}}}"#);
    let input = [
        context.to_owned(),
        said(user),
        answer("tool_use", call),
        said(result),
        answer("end_turn", r#"{"kind":"text","text":"done"}"#),
    ]
    .join("\n");
    let nodes = session(&scratch, &["append"], input).of("node");
    let request = |at: usize| session(&scratch, &["request", nodes[at]["id"].as_str().unwrap()], "");
    let parts = &context[context.find("\"system\"").unwrap()..context.len() - 1];
    let (system, tools) = parts.split_once(",\"tools\"").unwrap();
    let wanted = |messages: &str| {
        format!(
            "{{\"v\":1,\"type\":\"request\",\"model\":\"m-1\",\"endpoint\":\"mock\",{system},\"messages\":[{messages}],\"tools\"{tools},\"context\":\"c1\"}}\n"
        )
    };
    let user = user.replace("\\u2028", "\u{2028}");
    assert_eq!(request(1).out, wanted(&user));
    let called = format!(r#"{{"role":"assistant","content":[{call}]}}"#);
    assert_eq!(request(3).out, wanted(&[user.as_str(), &called, result].join(",")));
    let ran = request(0);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("is no answer of a model"), "{}", ran.err);
}

#[test]
fn a_fork_begins_as_its_origin_did() {
    let scratch = Scratch::repo();
    let context = r#"{"v":1,"type":"context","id":"c1","system":[]}"#;
    let said = [message("user", "a"), message("assistant", "b"), message("user", "c")].concat();
    let nodes = session(&scratch, &["append"], format!("{context}\n{said}")).of("node");
    let id = nodes[1]["id"].as_str().unwrap();
    session(&scratch, &["label", id, "here"], "");
    let origin = file(&scratch).file_stem().unwrap().to_str().unwrap().to_owned();
    let fork = session(&scratch, &["fork", "here"], "");
    let session_record = &fork.records()[0];
    assert_eq!(session_record["parent"], *origin);
    let fork = session_record["id"].as_str().unwrap();
    session(&scratch, &["append", "-s", fork, "--user", "other"], "");
    assert_eq!(texts(&session(&scratch, &["path", "-s", fork], "")), ["a", "b", "other"]);
    assert_eq!(texts(&session(&scratch, &["path", "-s", &origin], "")), ["a", "b", "c"]);
    assert_eq!(session(&scratch, &["check", "-s", fork], "").out, "");
    let text = scratch.read(&format!(".nub/sessions/{fork}.jsonl"));
    assert_eq!((text.matches(context).count(), text.matches("\"here\"").count()), (1, 1));
}

#[test]
fn diff_shows_where_branches_part() {
    let scratch = Scratch::repo();
    write(&scratch, &[SESSION.into(), node("A", ""), node("B", "A"), node("C", "A"), node("D", "C")]);
    let ran = session(&scratch, &["diff", "B", "D"], "");
    assert_eq!(texts(&ran), ["B", "C", "D"]);
    let text = session(&scratch, &["diff", "B", "D", "--format", "text"], "").out;
    let signs: Vec<&str> = text.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(signs, ["", "<", ">", ">"]);
}

#[test]
fn exports_hold_what_was_said_and_nothing_that_runs() {
    let scratch = Scratch::repo();
    let evil = "<script>alert(1)</script> sk-abcdefghijklmnop1234 ```";
    let image =
        r#"{"role":"user","content":[{"kind":"image","media_type":"image/svg+xml","data":"\"><script>"}]}"#;
    let input = [
        message("user", evil),
        format!("{{\"v\":1,\"type\":\"message\",\"message\":{image}}}\n"),
        message("assistant", "fine"),
    ];
    session(&scratch, &["append"], input.concat());
    let html = session(&scratch, &["export", "--format", "html"], "").out;
    assert!(html.contains("&lt;script&gt;") && !html.contains("<script"), "{html}");
    let markdown = session(&scratch, &["export", "--redact"], "").out;
    assert!(markdown.starts_with("# <script>") && markdown.contains("\n## User\n"), "{markdown}");
    assert!(markdown.contains("[redacted]") && !markdown.contains("sk-abc"), "{markdown}");
    let json: Value =
        serde_json::from_str(&session(&scratch, &["export", "--format", "json"], "").out).unwrap();
    assert_eq!(json["nodes"].as_array().unwrap().len(), 3);
    assert_eq!(json["head"], json["nodes"][2]["id"]);
    assert_eq!(session(&scratch, &["list", "--format", "md"], "").code, 2);
}

#[test]
fn search_goes_over_every_session() {
    let scratch = Scratch::repo();
    for text in ["find the needle\nand more", "hay"] {
        session(&scratch, &["append", "--new", "--user", text], "");
    }
    let found = session(&scratch, &["search", "NEED.?le|Hay"], "");
    assert_eq!((found.code, found.out.as_str()), (1, ""), "a capital letter counts");
    let found = session(&scratch, &["search", "need.?le"], "").records();
    assert_eq!((found.len(), &found[0]["text"]), (1, &json!("find the needle")));
    assert_eq!(session(&scratch, &["search", "("], "").code, 2);
}

#[test]
fn removing_spares_what_is_in_use_or_foreign() {
    let scratch = Scratch::repo();
    let id = session(&scratch, &["new", "--format", "text"], "").out.trim_end().to_owned();
    let kept = session(&scratch, &["append", "--new", "--announce", "--user", "said"], "").records()[0]["id"]
        .clone();
    assert_eq!(session(&scratch, &["prune"], "").out, "", "an empty one may be about to be used");
    let path = scratch.work().join(format!(".nub/sessions/{id}.jsonl"));
    let touch = |path: &std::path::Path| {
        let mut touch = scratch.command("touch");
        touch.args(["-d", "10 days ago"]).arg(path);
        assert_eq!(finish(touch, "").code, 0);
    };
    touch(&path);
    let line = format!("{}\n", path.display());
    assert_eq!(session(&scratch, &["prune", "--dry-run"], "").out, line);
    assert_eq!(session(&scratch, &["prune"], "").out, line);
    assert!(!path.exists());
    let kept_path = file(&scratch);
    touch(&kept_path);
    assert_eq!(session(&scratch, &["prune", "--older-than", "11"], "").out, "");
    assert_eq!(session(&scratch, &["rm", "nope", kept.as_str().unwrap()], "").code, 2);
    assert!(kept_path.exists(), "all are found before the first goes");
    assert_eq!(session(&scratch, &["rm", kept.as_str().unwrap()], "").code, 0);
    assert!(!kept_path.exists());
}

#[test]
fn a_summary_is_drawn_as_one() {
    let scratch = Scratch::repo();
    write(&scratch, &[SESSION.into(), node("A", ""), summary("S", "A", &["A"]), node("B", "S")]);
    let tree = session(&scratch, &["tree", "--format", "text"], "").out;
    assert!(tree.lines().nth(1).unwrap().contains("summary"), "{tree}");
    let array: Value =
        serde_json::from_str(&session(&scratch, &["tree", "--format", "json"], "").out).unwrap();
    assert_eq!(array.as_array().unwrap().len(), 5);
}

#[test]
fn a_list_never_shows_what_was_so_once() {
    let scratch = Scratch::repo();
    session(&scratch, &["append", "--user", "first"], "");
    let list = || session(&scratch, &["list"], "").records().remove(0);
    let before = list();
    assert_eq!(list(), before, "from the cache");
    session(&scratch, &["append"], [message("assistant", "a"), message("user", "b")].concat());
    assert_eq!((&list()["turns"], &list()["title"]), (&json!(1), &json!("first")));
    let cache = scratch.home().join("cache/nub/sessions.ndjson");
    fs::write(&cache, "\0 no cache\n{}\n").unwrap();
    assert_eq!(list()["turns"], 1);
    assert_eq!(fs::read_to_string(cache).unwrap().lines().count(), 1);
}
