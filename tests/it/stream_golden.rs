//! Every fixture of `tests/fixtures/stream` through the built nub-stream: a server on loopback sends the
//! bytes of a real server's oddity chunk by chunk, and the records must be what the fixture says.

use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use std::{fs, thread};

use serde_json::{Value, json};

use crate::scratch::{Ran, Scratch, source};

/// How many fixtures run at once.
const JOBS: usize = 4;

#[test]
fn fixtures_become_what_they_must() {
    let folder = source().join("tests/fixtures/stream");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() > 100, "fixtures are missing");
    let (next, faults) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..JOBS {
            scope.spawn(|| {
                while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let fixture: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
                    let found = judge(&fixture["expect"], &run(&fixture));
                    faults
                        .lock()
                        .unwrap()
                        .extend(found.into_iter().map(|fault| format!("{}: {fault}", fixture["id"])));
                }
            });
        }
    });
    let faults = faults.into_inner().unwrap();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Runs nub-stream against a server that answers with the fixture's bytes.
fn run(fixture: &Value) -> Ran {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let http = fixture.clone();
    thread::spawn(move || listener.incoming().flatten().for_each(|stream| drop(serve(stream, &http))));
    let scratch = Scratch::new();
    let mut caps = String::new();
    for (key, value) in fixture["caps"].as_object().into_iter().flatten() {
        caps.push_str(&format!("{key} = {value}\n"));
    }
    let limits =
        "retries = 0\nconnect_timeout = 5\nfirst_byte_timeout = 3\nidle_timeout = 1\n[endpoint.caps]\n";
    scratch.endpoint(&url, &format!("{limits}{caps}"));
    let usual = json!(["read", "bash", "write", "edit", "glob", "grep"]);
    let names = fixture["request"].get("tools").unwrap_or(&usual).as_array().unwrap();
    let tools: Vec<Value> =
        names.iter().map(|name| json!({"name":name,"description":"d","schema":{"type":"object"}})).collect();
    let request = json!({"v":1,"type":"request","model":"m-1","endpoint":"mock","tools":tools,
        "messages":[{"role":"user","content":[{"kind":"text","text":"hi"}]}]});
    // the envelope comes first
    let request = format!(
        "{{\"v\":1,\"type\":\"request\",{}\n",
        &request.to_string()[1..].replace(",\"type\":\"request\",\"v\":1", "")
    );
    scratch.run("nub-stream", &[] as &[&str], request)
}

fn serve(mut stream: TcpStream, fixture: &Value) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let http = &fixture["http"];
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    if http["end"] == "reset" {
        // a socket that is closed while something lies unread in it resets the connection
        stream.peek(&mut [0])?;
    } else {
        let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:")).unwrap_or("0");
        stream.read_exact(&mut vec![0; length.trim().parse().unwrap()])?;
    }
    let version = http["version"].as_str().unwrap_or("1.1");
    let mut head = format!("HTTP/{version} {} X\r\n", http["status"]);
    for (name, value) in http["headers"].as_object().into_iter().flatten() {
        head.push_str(&format!("{name}: {}\r\n", value.as_str().unwrap()));
    }
    let chunked =
        version != "1.0" && !head.contains("content-length:") && !head.contains("transfer-encoding:");
    head.push_str(if chunked { "transfer-encoding: chunked\r\n\r\n" } else { "connection: close\r\n\r\n" });
    stream.write_all(head.as_bytes())?;
    for chunk in
        fixture["body_chunks"].as_array().unwrap().iter().map(bytes).filter(|chunk| !chunk.is_empty())
    {
        let framed = [format!("{:x}\r\n", chunk.len()).as_bytes(), &chunk, b"\r\n"].concat();
        stream.write_all(if chunked { &framed } else { &chunk })?;
        // so that the client reads them one by one; what it makes of them must not depend on it
        thread::sleep(Duration::from_millis(1));
    }
    match http["end"].as_str() {
        // silent until the client goes away
        Some("stall") => drop(stream.read_to_end(&mut Vec::new())),
        Some("reset") => {}
        _ if chunked => stream.write_all(b"0\r\n\r\n")?,
        _ => {}
    }
    Ok(())
}

fn bytes(chunk: &Value) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let text = chunk.as_str().unwrap();
    let Some(coded) = text.strip_prefix("b64:") else {
        return text.into();
    };
    let digits = coded.bytes().filter_map(|c| DIGITS.iter().position(|d| *d == c));
    let bits: String = digits.map(|d| format!("{d:06b}")).collect();
    let octets = bits.as_bytes().chunks_exact(8).map(|b| std::str::from_utf8(b).unwrap());
    octets.map(|b| u8::from_str_radix(b, 2).unwrap()).collect()
}

/// What is wrong with the records of a run.
fn judge(expect: &Value, ran: &Ran) -> Vec<String> {
    let records = ran.records();
    let terminal = records.last().unwrap_or(&Value::Null);
    let mut faults = Vec::new();
    let mut must = |holds: bool, fault: String| {
        if !holds {
            faults.push(fault);
        }
    };
    must(!ran.err.contains("panicked"), ran.err.clone());
    let ends =
        records.iter().filter(|record| matches!(record["type"].as_str(), Some("done" | "error"))).count();
    must(ends == 1, format!("{ends} terminal records"));
    let wanted = expect["blocks"].as_array().unwrap();
    compare(wanted, &streamed(&records), "events", &mut must);
    if let Some(error) = expect["error"].as_object() {
        must(terminal["type"] == "error" && ran.code != 0, format!("{terminal} (code {})", ran.code));
        must(terminal["class"] == error["class"], format!("class {terminal}"));
        must(terminal["retryable"] == error["retryable"], format!("retryable {terminal}"));
        if let Some(wait) = error.get("retry_after_ms").and_then(Value::as_i64) {
            let got = terminal["retry_after_ms"].as_i64().unwrap_or(-1);
            must((got - wait).abs() <= 1000, format!("retry_after_ms {got} instead of {wait}"));
        }
        let part = error.get("message_contains").and_then(Value::as_str).unwrap_or_default().to_lowercase();
        must(terminal["message"].to_string().to_lowercase().contains(&part), format!("message {terminal}"));
        return faults;
    }
    must(terminal["type"] == "done" && ran.code == 0, format!("{terminal} (code {})", ran.code));
    must(terminal["stop"] == expect["stop"], format!("stop {terminal}"));
    let usage = &terminal["usage"];
    match expect["usage"].as_object() {
        None => must(usage.is_null() || usage["estimated"] == true, format!("usage {usage}")),
        Some(wanted) => {
            for (key, value) in wanted.iter().filter(|(key, _)| *key != "input_tokens_excl_cache") {
                must(usage[key].as_u64().unwrap_or(0) == value.as_u64().unwrap(), format!("usage {usage}"));
            }
        }
    }
    let message = records.iter().find(|record| record["type"] == "message").unwrap_or(&Value::Null);
    let content = message["message"]["content"].as_array().cloned().unwrap_or_default();
    compare(wanted, &content, "message", &mut must);
    faults
}

/// The blocks that the events tell of, in the form of message blocks.
fn streamed(records: &[Value]) -> Vec<Value> {
    let mut blocks: Vec<Value> = Vec::new();
    for record in records {
        let index = usize::try_from(record["index"].as_u64().unwrap_or(0)).unwrap();
        match record["type"].as_str().unwrap() {
            "block_start" => {
                assert_eq!(index, blocks.len());
                let block = &record["block"];
                blocks.push(
                    json!({"kind":block["kind"],"id":block["id"],"name":block["name"],"text":"","json":""}),
                );
            }
            "block_delta" => {
                for (from, to) in [("text", "text"), ("partial_json", "json")] {
                    let more = record[from].as_str().unwrap_or_default();
                    blocks[index][to] = json!(blocks[index][to].as_str().unwrap().to_owned() + more);
                }
            }
            "block_stop" => blocks[index]["raw"] = record["raw"].clone(),
            _ => {}
        }
    }
    for block in &mut blocks {
        let text = block["json"].as_str().unwrap().to_owned();
        let text = if text.is_empty() { "{}" } else { &text };
        match serde_json::from_str::<Value>(text).ok().filter(Value::is_object) {
            Some(input) => block["input"] = input,
            None => block["input_raw"] = json!(text),
        }
    }
    blocks
}

fn compare(wanted: &[Value], got: &[Value], place: &str, must: &mut dyn FnMut(bool, String)) {
    let kinds =
        |blocks: &[Value]| blocks.iter().map(|block| block["kind"].to_string()).collect::<Vec<_>>().join(" ");
    if kinds(wanted) != kinds(got) {
        return must(false, format!("{place}: {} instead of {}", kinds(got), kinds(wanted)));
    }
    let mut ids = HashSet::new();
    for (want, got) in wanted.iter().zip(got) {
        let keys: &[&str] = match want["kind"].as_str() {
            Some("tool_use") => &["name", "input", "input_raw"],
            _ => &["text"],
        };
        for key in keys {
            must(
                want.get(*key).unwrap_or(&Value::Null) == got.get(*key).unwrap_or(&Value::Null),
                format!("{place}: {key} {got}"),
            );
        }
        if want["kind"] == "tool_use" {
            let id = got["id"].as_str().unwrap_or_default();
            must(!id.is_empty() && ids.insert(id.to_owned()), format!("{place}: id {got}"));
            must(want["id"].is_null() || want["id"] == id, format!("{place}: id {got}"));
        }
        // the ballast is marked with where it came from: the server's part lies inside
        for (key, value) in want["raw"].as_object().into_iter().flatten() {
            must(got["raw"]["data"][key] == *value, format!("{place}: raw {got}"));
        }
    }
}
