//! A server on loopback that replays bytes: whole, torn, late or dead. It understands just enough HTTP
//! to take requests; every reply is written by the test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

/// What the server does with one request.
#[derive(Clone)]
pub struct Reply {
    /// Status line and headers, without the empty line; empty: the connection is dropped.
    pub head: String,
    /// The body, one write each, with a wait before it.
    pub parts: Vec<(Duration, Vec<u8>)>,
    /// Stay silent afterwards instead of closing.
    pub stall: bool,
}

impl Reply {
    /// A stream of server-sent events that ends with its connection.
    pub fn sse(events: &[&str]) -> Reply {
        let parts = events.iter().map(|e| (Duration::ZERO, format!("data: {e}\n\n").into_bytes())).collect();
        Reply {
            head: "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close".into(),
            parts,
            stall: false,
        }
    }

    /// An answer of one text.
    pub fn text(text: &str) -> Reply {
        let delta = serde_json::json!({"choices":[{"index":0,"delta":{"content":text}}]}).to_string();
        Reply::sse(&[
            &delta,
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
            USAGE,
            "[DONE]",
        ])
    }

    /// An answer of one tool call.
    pub fn call(id: &str, name: &str, arguments: &serde_json::Value) -> Reply {
        let delta = serde_json::json!({"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":id,"type":"function",
            "function":{"name":name,"arguments":arguments.to_string()}}]}}]})
        .to_string();
        Reply::sse(&[
            &delta,
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
            USAGE,
            "[DONE]",
        ])
    }

    /// A status with a body.
    pub fn status(code: u16, headers: &str, body: &str) -> Reply {
        let head =
            format!("HTTP/1.1 {code} X\r\nContent-Length: {}\r\nConnection: close{headers}", body.len());
        Reply { head, parts: vec![(Duration::ZERO, body.as_bytes().to_vec())], stall: false }
    }
}

const USAGE: &str = r#"{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}"#;

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Request line and headers.
    pub head: String,
    pub body: String,
    /// Of the client: requests over one connection have the same.
    pub port: u16,
}

impl Asked {
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        headers.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// Serves its replies in order; the last one is repeated.
pub struct Server {
    pub url: String,
    asked: Arc<(Mutex<Vec<Asked>>, Condvar)>,
}

impl Server {
    pub fn start(replies: Vec<Reply>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let asked: Arc<(Mutex<Vec<Asked>>, Condvar)> = Arc::default();
        let seen = asked.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (seen, replies) = (seen.clone(), replies.clone());
                thread::spawn(move || drop(serve(stream, &seen, &replies)));
            }
        });
        Server { url, asked }
    }

    /// What was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.0.lock().unwrap().clone()
    }

    /// Waits until that many requests came.
    pub fn wait(&self, count: usize) -> Vec<Asked> {
        let (lock, changed) = &*self.asked;
        let guard = lock.lock().unwrap();
        let (guard, late) =
            changed.wait_timeout_while(guard, Duration::from_secs(20), |asked| asked.len() < count).unwrap();
        assert!(!late.timed_out(), "only {} of {count} requests came", guard.len());
        guard.clone()
    }
}

fn serve(
    mut stream: TcpStream,
    seen: &(Mutex<Vec<Asked>>, Condvar),
    replies: &[Reply],
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    while let Some(asked) = take(&mut reader, stream.peer_addr()?.port())? {
        let at = {
            let mut all = seen.0.lock().unwrap();
            all.push(asked);
            all.len() - 1
        };
        seen.1.notify_all();
        let reply = replies.get(at).or(replies.last()).unwrap();
        if reply.head.is_empty() {
            return Ok(());
        }
        stream.write_all(format!("{}\r\n\r\n", reply.head).as_bytes())?;
        for (wait, part) in &reply.parts {
            thread::sleep(*wait);
            stream.write_all(part)?;
            stream.flush()?;
        }
        if reply.stall {
            // silent until the client goes away
            reader.read_to_end(&mut Vec::new())?;
        }
        if reply.stall || reply.head.contains("Connection: close") {
            return Ok(());
        }
    }
    Ok(())
}

/// The next request of a connection.
fn take(reader: &mut impl BufRead, port: u16) -> std::io::Result<Option<Asked>> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Ok(None);
        }
    }
    let length = head
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .map_or(0, |(_, value)| value.trim().parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some(Asked { head, body: String::from_utf8(body).unwrap(), port }))
}
