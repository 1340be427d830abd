//! A program of the test's own in front of ours, and what a fake nub-loop says.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use crate::scratch::{Ran, Scratch, finish};

/// A scratch folder with a program of the test's own in front of ours.
pub struct Fake {
    pub scratch: Scratch,
}

/// One run of two calls, with thinking, warning and retry.
pub const TURN: &str = r#"{"v":1,"type":"ready","session":"S1","model":"m-1","context_tokens":1,"max_context":0,"tools":[]}
{"v":1,"type":"turn_start","turn":1}
{"v":1,"type":"warning","source":"nub-ctx","code":"x","message":"AGENTS.md was shortened"}
{"v":1,"type":"retry","attempt":1,"max":3,"delay_ms":500,"class":"server","status":503,"message":"busy"}
{"v":1,"type":"block_start","index":0,"block":{"kind":"thinking"}}
{"v":1,"type":"block_delta","index":0,"text":"hm, secret thought"}
{"v":1,"type":"block_stop","index":0}
{"v":1,"type":"block_start","index":1,"block":{"kind":"text"}}
{"v":1,"type":"block_delta","index":1,"text":"Let me "}
{"v":1,"type":"block_delta","index":1,"text":"look.\u001b[2J"}
{"v":1,"type":"block_stop","index":1}
{"v":1,"type":"tool_start","id":"a","name":"bash","input":{},"title":"sh test.sh"}
{"v":1,"type":"tool_start","id":"b","name":"read","input":{},"title":"read x\u001b]0;evil\u0007"}
{"v":1,"type":"tool_output","id":"a","stream":"stdout","text":"noise\n"}
{"v":1,"type":"tool_end","id":"a","name":"bash","is_error":true,"for_model":"noise","ui":{"kind":"command","command":"sh test.sh","exit_code":1,"bytes":6},"duration_ms":3}
{"v":1,"type":"tool_end","id":"b","name":"read","for_model":"1 x","ui":{"kind":"file","path":"x","first_line":1,"lines":1},"duration_ms":1}
{"v":1,"type":"turn_end","turn":1,"stop":"tool_use"}
{"v":1,"type":"turn_start","turn":2}
{"v":1,"type":"block_start","index":0,"block":{"kind":"text"}}
{"v":1,"type":"block_delta","index":0,"text":"Done: é"}
{"v":1,"type":"later_kind","x":1}
{"v":1,"type":"result","stop":"end_turn","text":"Done: é","turns":2,"usage":{},"session":"S1","exit":0}
"#;

pub const RESULT: &str =
    r#"{"v":1,"type":"result","stop":"end_turn","text":"","turns":1,"usage":{},"session":"S","exit":0}"#;
pub const READY: &str =
    r#"{"v":1,"type":"ready","session":"S","model":"m","context_tokens":0,"max_context":0,"tools":[]}"#;

impl Fake {
    pub fn new(program: &str, script: &str) -> Fake {
        let fake = Fake { scratch: Scratch::repo() };
        fake.add(program, script);
        fake
    }

    pub fn add(&self, program: &str, script: &str) {
        let path = self.folder().join(program);
        fs::create_dir_all(self.folder()).unwrap();
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// A loop that reads its input record and then says this.
    pub fn saying(records: &str) -> Fake {
        let fake = Fake::new(
            "nub-loop",
            "echo \"$@\" > args; read -r line; printf '%s\\n' \"$line\" > input; cat records; cat > rest",
        );
        fake.scratch.file("records", format!("{}\n", records.trim_end()));
        fake
    }

    pub fn folder(&self) -> PathBuf {
        self.scratch.home().join("front")
    }

    pub fn nub(&self, args: &[&str]) -> Command {
        let mut command = self.scratch.nub("nub");
        command.env("NUB_EXEC_PATH", self.folder()).args(args);
        command
    }

    pub fn run(&self, args: &[&str], input: &str) -> Ran {
        finish(self.nub(args), input)
    }

    pub fn input(&self) -> serde_json::Value {
        serde_json::from_str(&self.scratch.read("input")).unwrap()
    }
}
