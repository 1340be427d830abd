//! nub-loop with stages of a test's own choosing: started, spoken to, listened to.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::scratch::{Scratch, source};

/// Nothing in these tests takes that long.
const PATIENCE: Duration = Duration::from_secs(30);

/// A folder with what the stages of tests/fake/ say.
pub struct Play {
    pub scratch: Scratch,
}

impl Play {
    pub fn new() -> Play {
        let scratch = Scratch::repo();
        let gate = scratch.file("play/.keep", "").with_file_name("gate");
        assert!(Command::new("mkfifo").arg(gate).status().unwrap().success());
        Play { scratch }
    }

    /// What the stream stage answers to its requests, one after the other.
    pub fn answers(self, answers: &[&[Value]]) -> Play {
        self.script("", answers)
    }

    /// What the tool stage says after the messages it gets.
    pub fn results(self, results: &[&[Value]]) -> Play {
        self.script("tool-", results)
    }

    /// Lines are records; a string is an order to the fake.
    fn script(self, kind: &str, all: &[&[Value]]) -> Play {
        for (at, lines) in all.iter().enumerate() {
            let text: String = lines
                .iter()
                .map(|line| line.as_str().map_or_else(|| format!("{line}\n"), |order| format!("{order}\n")))
                .collect();
            self.scratch.file(&format!("play/{kind}{}", at + 1), text);
        }
        self
    }

    fn stage(&self, name: &str) -> String {
        let script = source().join(format!("tests/fake/{name}.sh"));
        format!("{name}={} {}", script.display(), self.scratch.work().join("play").display())
    }

    /// nub-loop with both fakes, and a session of its own.
    pub fn command(&self) -> Command {
        let mut command = self.scratch.nub("nub-loop");
        command.args(["--new", "--stage", &self.stage("stream"), "--stage", &self.stage("tool")]);
        command
    }

    pub fn start(&self) -> Running {
        Running::start(self.command())
    }

    /// Lets a stream stage go on that waits at its gate.
    pub fn open(&self) {
        std::fs::write(self.scratch.work().join("play/gate"), "go\n").unwrap();
    }

    /// What the stream stage was asked.
    pub fn asked(&self) -> Vec<Value> {
        self.lines("play/asked")
    }

    /// What the tool stage was told.
    pub fn told(&self) -> Vec<Value> {
        self.lines("play/tool-heard")
    }

    fn lines(&self, name: &str) -> Vec<Value> {
        self.scratch.read(name).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The messages of the session.
    pub fn stored(&self) -> Vec<Value> {
        messages(&self.scratch, "latest")
    }
}

/// The messages on the path of a session.
pub fn messages(scratch: &Scratch, session: &str) -> Vec<Value> {
    let path = scratch.run("nub-session", &["path", "-s", session], "");
    assert_eq!(path.code, 0, "{}", path.err);
    path.of("node").into_iter().map(|mut node| node["message"].take()).collect()
}

/// A running nub-loop.
pub struct Running {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    /// Everything it said so far.
    pub heard: Vec<Value>,
}

impl Running {
    pub fn start(mut command: Command) -> Running {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            let mut all = BufReader::new(stdout).lines();
            all.try_for_each(|line| sender.send(line.unwrap()))
        });
        Running { child, stdin, lines, heard: Vec::new() }
    }

    pub fn say(&mut self, record: &Value) {
        self.say_line(&record.to_string());
    }

    pub fn say_line(&mut self, line: &str) {
        self.stdin.as_mut().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    pub fn prompt(&mut self, text: &str) {
        self.say(&json!({"v":1,"type":"input","op":"prompt","text":text}));
    }

    pub fn order(&mut self, op: &str) {
        self.say(&json!({"v":1,"type":"control","op":op}));
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Waits for a record of this type, and gives it.
    pub fn wait(&mut self, kind: &str) -> Value {
        self.wait_for(|record| record["type"] == kind)
    }

    pub fn wait_for(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => line,
                Err(e) => panic!("{e}, after {:#?}", self.heard),
            };
            let record: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"));
            self.heard.push(record.clone());
            if wanted(&record) {
                return record;
            }
        }
    }

    /// Ends its input; gives everything it said, and its exit code.
    pub fn end(mut self) -> (Vec<Value>, i32) {
        self.stdin = None;
        self.finish()
    }

    /// Waits for its end.
    pub fn finish(mut self) -> (Vec<Value>, i32) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => self.heard.push(serde_json::from_str(&line).unwrap()),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it does not end, after {:#?}", self.heard),
            }
        }
        let code = self.child.wait().unwrap().code().unwrap();
        (std::mem::take(&mut self.heard), code)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
    }
}

/// The records of one type.
pub fn of(records: &[Value], kind: &str) -> Vec<Value> {
    records.iter().filter(|record| record["type"] == kind).cloned().collect()
}

/// The types in order.
pub fn kinds(records: &[Value]) -> Vec<&str> {
    records.iter().map(|record| record["type"].as_str().unwrap()).collect()
}

pub fn start_text() -> Value {
    json!({"v":1,"type":"block_start","index":0,"block":{"kind":"text","text":""}})
}

pub fn delta(text: &str) -> Value {
    json!({"v":1,"type":"block_delta","index":0,"text":text})
}

/// The message of an answer of one text, and its end.
pub fn text(text: &str) -> Vec<Value> {
    vec![
        start_text(),
        delta(text),
        json!({"v":1,"type":"block_stop","index":0}),
        json!({"v":1,"type":"message","message":{"role":"assistant","content":[{"kind":"text","text":text}]}}),
        done("end_turn"),
    ]
}

/// The message of an answer of calls of bash: id and command.
pub fn calls(calls: &[(&str, &str)]) -> Vec<Value> {
    let content: Vec<Value> = calls
        .iter()
        .map(|(id, command)| json!({"kind":"tool_use","id":id,"name":"bash","input":{"command":command}}))
        .collect();
    vec![json!({"v":1,"type":"message","message":{"role":"assistant","content":content}}), done("tool_use")]
}

pub fn done(stop: &str) -> Value {
    json!({"v":1,"type":"done","stop":stop,"usage":{"input_tokens":10,"output_tokens":5}})
}

pub fn error(class: &str) -> Value {
    json!({"v":1,"type":"error","source":"nub-stream","class":class,"message":"so it is","retryable":false})
}

/// The message of a tool stage: ids and texts.
pub fn results(results: &[(&str, &str)]) -> Value {
    let content: Vec<Value> = results
        .iter()
        .map(|(id, text)| json!({"kind":"tool_result","tool_use_id":id,"result":[{"kind":"text","text":text}]}))
        .collect();
    json!({"v":1,"type":"message","message":{"role":"user","content":content}})
}
