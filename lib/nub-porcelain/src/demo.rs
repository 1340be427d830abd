//! `nub demo`: a fresh repository with a failing test, a recorded model, and the real programs.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, ExitCode, Output, Stdio};

use clap::Parser;
use nub_proto::InputOp;
use nub_render::{Line, Style};
use nub_sys::{Exit, Fail};

use crate::args::{self, Command};
use crate::print;
use crate::prompt::prompt;
use crate::show;
use crate::supervise::{Manner, Watch, supervise};
use crate::view::{Noise, Screen, View};

/// The model's part, as `nub-stream --replay` plays it.
const CASSETTE: &str = include_str!("../../../examples/demo/cassette.ndjson");
const PROGRAM: &str = include_str!("../../../examples/demo/repo/leap.sh");
const TEST: &str = include_str!("../../../examples/demo/repo/test.sh");

/// Names the recorded model; nothing is sent to the address.
const CONFIG: &str = "\
version = 1
[model]
default = \"recorded\"
endpoint = \"cassette\"
[[endpoint]]
name = \"cassette\"
base_url = \"http://127.0.0.1:9/v1\"
api_key = \"none\"
";

/// What the user would have typed.
const PROMPT: &str = "The tests of leap.sh fail. Find out why, fix the program and run them again.";

const TRUTH: &str = "\
The model was a recording: its words and calls come from a cassette that is part of nub, and nothing
went over a network. Everything else was real: the programs, the tools, the shell, git and the session.";

const NEXT: &str = "
To go on with a model of your own:

  export OPENAI_API_KEY=...     # or another provider's key, or a local server: Ollama, LM Studio, llama.cpp
  cd your-project
  nub -p \"what does this project do?\"

nub help tells the rest.";

/// See nub work, without a model and without a network
#[derive(Debug, Parser)]
#[command(name = "nub demo")]
struct Args {
    /// Remove the demo's folder afterwards
    #[arg(long)]
    rm: bool,
}

type Stage = View<io::Stdout, io::Stdout>;

pub(crate) fn main(rest: &[OsString]) -> ExitCode {
    let args = match args::parse::<Args>(rest.to_vec()) {
        Ok(args) => args,
        Err(code) => return code,
    };
    nub_sys::run(crate::NAME, || {
        supervise(
            Manner::Once,
            || {},
            move |watch| {
                let mut view = View::new(io::stdout(), io::stdout(), Screen::only_stdout(Noise::Normal));
                let demo = Demo::make()?;
                let end = demo.play(watch, &mut view)?;
                if args.rm {
                    demo.remove()?;
                } else {
                    demo.say_where(&mut view)?;
                }
                show::all(NEXT.lines().map(|line| Line::of(Style::Plain, line)).collect(), &mut view)?;
                Ok(end)
            },
        )
    })
}

/// Where it plays: the repository, and beside it the cassette and a home of its own.
struct Demo {
    base: PathBuf,
}

impl Demo {
    fn make() -> Result<Demo, Fail> {
        let base = fresh_folder().map_err(|e| {
            Fail::failure(format!("cannot make a folder in '{}': {e}", std::env::temp_dir().display()))
        })?;
        let demo = Demo { base };
        let files = [
            ("leap/leap.sh", PROGRAM),
            ("leap/test.sh", TEST),
            ("cassette.ndjson", CASSETTE),
            ("home/nub/config.toml", CONFIG),
        ];
        fs::create_dir(demo.repo())
            .and_then(|()| fs::create_dir_all(demo.base.join("home/nub")))
            .and_then(|()| files.iter().try_for_each(|(name, text)| fs::write(demo.base.join(name), text)))
            .map_err(|e| Fail::failure(format!("cannot write to '{}': {e}", demo.base.display())))?;
        demo.git(&["-c", "init.defaultBranch=main", "init", "-q"])?;
        demo.git(&["add", "."])?;
        demo.git(&["commit", "-q", "-m", "leap years"])?;
        Ok(demo)
    }

    fn repo(&self) -> PathBuf {
        self.base.join("leap")
    }

    fn remove(&self) -> Result<(), Fail> {
        fs::remove_dir_all(&self.base)
            .map_err(|e| Fail::failure(format!("cannot remove '{}': {e}", self.base.display())))
    }

    fn play(&self, watch: &Watch, view: &mut Stage) -> Result<Exit, Fail> {
        let place = self.repo();
        let title = format!("A fresh repository with a failing test: {}", place.display());
        view.line(&Line::of(Style::Bold, title))?;
        self.test(view)?;
        heading(view, "nub -p, with a recorded model")?;
        view.line(&Line::of(Style::Mark, "› ").with(Style::Bold, PROMPT))?;
        let exit =
            print::text(watch, &self.command(), &self.changes(), &prompt(InputOp::Prompt, PROMPT), view)?;
        heading(view, "What git says")?;
        let diff = self.git(&["diff", "--no-color", "--no-ext-diff", "-U1"])?;
        show::all(nub_render::diff(&diff, usize::MAX), view)?;
        heading(view, "And the test, run once more without nub")?;
        let green = self.test(view)?;
        if exit != Exit::Success || !green {
            let exit = if exit == Exit::Success { Exit::Failure } else { exit };
            return Err(Fail::new(exit, "the demo did not end well")
                .advice(format!("its folder is '{}'", self.base.display())));
        }
        heading(view, "What was real")?;
        show::all(TRUTH.lines().map(|line| Line::of(Style::Plain, line)).collect(), view)?;
        Ok(exit)
    }

    fn say_where(&self, view: &mut Stage) -> Result<(), Fail> {
        let text = format!("Look at the session: cd {} && nub session tree", self.repo().display());
        view.line(&Line::of(Style::Plain, text))
    }

    /// Runs the repository's tests and shows them; whether they are green.
    fn test(&self, view: &mut Stage) -> Result<bool, Fail> {
        view.line(&Line::of(Style::Mark, "$ ").with(Style::Plain, "sh test.sh"))?;
        let output = self.run("sh", &["test.sh"])?;
        let green = output.status.success();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let style = if line.starts_with("ok") { Style::Good } else { Style::Bad };
            view.line(&Line::of(style, format!("  {line}")))?;
        }
        Ok(green)
    }

    fn command(&self) -> Command {
        let cassette = self.base.join("cassette.ndjson").display().to_string().replace('\'', r"'\''");
        let stage = format!("stream=nub-stream --replay '{cassette}'");
        let args = ["--cwd".into(), self.repo().into(), "--stage".into(), stage.into()];
        Command { args: args.to_vec(), session: Some("new".into()) }
    }

    /// Nothing of the user's configuration takes part.
    fn changes(&self) -> Vec<(OsString, Option<OsString>)> {
        let ours = |name: &OsString| name.as_encoded_bytes().starts_with(b"NUB_") && name != "NUB_EXEC_PATH";
        let names = std::env::vars_os().map(|(name, _)| name).filter(ours);
        let mut changes: Vec<_> =
            names.chain(GIT_VARS.iter().map(OsString::from)).map(|name| (name, None)).collect();
        for name in ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"] {
            changes.push((name.into(), Some(self.base.join("home").into())));
        }
        changes
    }

    fn git(&self, args: &[&str]) -> Result<String, Fail> {
        let output = self.run("git", args)?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(Fail::failure(format!("git {} failed: {}", args.join(" "), said.trim())))
    }

    fn run(&self, program: &str, args: &[&str]) -> Result<Output, Fail> {
        let mut process = Process::new(program);
        process.args(args).current_dir(self.repo()).stdin(Stdio::null());
        for name in GIT_VARS {
            process.env_remove(name);
        }
        process.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
        for role in ["AUTHOR", "COMMITTER"] {
            process
                .env(format!("GIT_{role}_NAME"), "nub demo")
                .env(format!("GIT_{role}_EMAIL"), "demo@localhost");
        }
        process.output().map_err(|e| Fail::failure(format!("cannot run '{program}': {e}")))
    }
}

/// Variables that would point git at another repository.
const GIT_VARS: &[&str] =
    &["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"];

fn heading(view: &mut Stage, text: &str) -> Result<(), Fail> {
    view.line(&Line::default())?;
    view.line(&Line::of(Style::Bold, text))
}

/// A folder that was not there before, for this user alone.
fn fresh_folder() -> io::Result<PathBuf> {
    let temp = std::env::temp_dir().canonicalize()?;
    let mut number = std::process::id();
    loop {
        let path: &Path = &temp.join(format!("nub-demo-{number}"));
        match DirBuilder::new().mode(0o700).create(path) {
            Ok(()) => return Ok(path.to_owned()),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => number = number.wrapping_add(1),
            Err(e) => return Err(e),
        }
    }
}
