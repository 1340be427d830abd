//! nub-tool as a coprocess, fed and read record by record.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::scratch::Scratch;

/// nub-tool as nub-loop starts it.
pub struct Live {
    pub child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Live {
    pub fn start(scratch: &Scratch) -> Live {
        let mut command = scratch.nub("nub-tool");
        command.arg("run");
        Live::of(command)
    }

    /// A command line of one's own.
    pub fn of(mut command: Command) -> Live {
        command.env("NUB_COPROCESS", "1").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        Live { stdin: child.stdin.take(), stdout: BufReader::new(child.stdout.take().unwrap()), child }
    }

    pub fn send(&mut self, record: &Value) {
        self.stdin.as_mut().unwrap().write_all(format!("{record}\n").as_bytes()).unwrap();
    }

    /// The next record, `None` at the end.
    pub fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        (!line.is_empty()).then(|| serde_json::from_str(&line).unwrap())
    }

    /// Reads until a record of this type comes.
    pub fn until(&mut self, kind: &str) -> Value {
        loop {
            let record = self.next().unwrap_or_else(|| panic!("no {kind} record came"));
            if record["type"] == kind {
                return record;
            }
        }
    }

    /// Reads until the message with the results: its blocks.
    pub fn results(&mut self) -> Vec<Value> {
        loop {
            let record = self.until("message");
            if record["message"]["role"] == "user" {
                return record["message"]["content"].as_array().unwrap().clone();
            }
        }
    }

    /// Sends one call of bash and returns its result.
    pub fn bash(&mut self, command: &str) -> Value {
        self.send(&message(&[("bash", json!({ "command": command }))]));
        self.results().remove(0)
    }

    /// Sends a line and reads until the results, without looking at anything: for measurements.
    pub fn round(&mut self, line: &str) {
        self.stdin.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
        let mut answer = String::new();
        while !answer.contains("\"role\":\"user\"") {
            answer.clear();
            self.stdout.read_line(&mut answer).unwrap();
        }
    }

    /// Closes stdin and waits for the end: the exit code.
    pub fn end(mut self) -> i32 {
        self.stdin = None;
        while self.next().is_some() {}
        self.child.wait().unwrap().code().unwrap()
    }
}

/// An assistant message with calls named c0, c1 ...
pub fn message(calls: &[(&str, Value)]) -> Value {
    let block = |(n, (name, input)): (usize, &(&str, Value))| json!({ "kind": "tool_use", "id": format!("c{n}"), "name": name, "input": input });
    let content: Vec<Value> = calls.iter().enumerate().map(block).collect();
    json!({ "v": 1, "type": "message", "message": { "role": "assistant", "content": content } })
}

/// A pipe with a name: a command that reads it waits until the test writes the file.
pub fn fifo(scratch: &Scratch, name: &str) {
    assert!(scratch.command("mkfifo").arg(name).status().unwrap().success());
}

pub fn control(op: &str) -> Value {
    json!({ "v": 1, "type": "control", "op": op })
}

/// What the model reads of a result.
pub fn text(result: &Value) -> &str {
    result["result"][0]["text"].as_str().unwrap()
}
