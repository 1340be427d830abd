//! Programs that run other programs: what they would run.

use super::script::Simple;
use super::words::Word;

/// What a command runs in its turn.
#[derive(Debug, Default)]
pub(super) struct Inner {
    pub commands: Vec<Simple>,
    /// Texts that a shell will read.
    pub scripts: Vec<String>,
}

/// A program that runs the command in its arguments: its options that take a value, and how many
/// operands stand before the command.
struct Wrapper {
    names: &'static [&'static str],
    valued: &'static [&'static str],
    operands: usize,
}

const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        names: &["command", "builtin", "nohup", "setsid", "time", "busybox", "toybox", "chronic"],
        valued: &["-f", "-o"],
        operands: 0,
    },
    Wrapper { names: &["exec"], valued: &["-a"], operands: 0 },
    Wrapper { names: &["env"], valued: &["-u", "--unset", "-C", "--chdir"], operands: 0 },
    Wrapper {
        names: &["sudo", "doas", "runuser"],
        valued: &["-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-U", "-r", "-t", "--user", "--group"],
        operands: 0,
    },
    Wrapper { names: &["nice", "ionice", "chrt"], valued: &["-n", "-c", "--adjustment"], operands: 0 },
    Wrapper { names: &["stdbuf"], valued: &["-i", "-o", "-e"], operands: 0 },
    Wrapper { names: &["timeout"], valued: &["-k", "-s", "--signal", "--kill-after"], operands: 1 },
    Wrapper { names: &["taskset", "chroot", "flock"], valued: &["-w", "-E"], operands: 1 },
    Wrapper {
        names: &["xargs", "parallel", "watch"],
        valued: &[
            "-a",
            "-d",
            "-E",
            "-I",
            "-L",
            "-n",
            "-P",
            "-s",
            "-j",
            "--max-args",
            "--max-procs",
            "--interval",
        ],
        operands: 0,
    },
];

const SHELLS: &[&str] = &["bash", "sh", "dash", "zsh", "ksh", "ash", "su", "runuser", "script", "flock"];

/// Looks into one command.
pub(super) fn unwrap(simple: &Simple) -> Inner {
    let mut inner = Inner::default();
    let Some((program, rest)) = simple.argv.split_first() else { return inner };
    let name = base(&program.text);
    match name {
        "eval" => inner.scripts.push(joined(rest)),
        "trap" => inner.scripts.extend(rest.first().map(|word| word.text.clone())),
        "alias" => {
            inner.scripts.extend(rest.iter().filter_map(|word| Some(word.text.split_once('=')?.1.into())))
        }
        "find" => find(rest, &mut inner),
        _ => {}
    }
    if SHELLS.contains(&name) {
        shell(rest, simple, &mut inner);
    }
    if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.names.contains(&name)) {
        let split = rest
            .iter()
            .position(|word| word.text.starts_with("-S") || word.text.starts_with("--split-string"));
        if let (Some(at), "env") = (split, name) {
            let text = joined(&rest[at..]);
            inner.scripts.push(
                text.trim_start_matches("--split-string")
                    .trim_start_matches("-S")
                    .trim_start_matches('=')
                    .into(),
            );
        }
        let mut argv = command_of(wrapper, rest).to_vec();
        if let ("xargs", Some(stdin)) = (name, &simple.stdin) {
            argv.extend(stdin.split_whitespace().map(Word::known));
        }
        // a value of an option that is not known here may stand before the command
        let after = argv.get(1..).unwrap_or_default().to_vec();
        let has_options = rest.first().is_some_and(|word| word.text.starts_with('-'));
        inner.commands.extend(has_options.then_some(Simple { argv: after, stdin: None }));
        inner.commands.push(Simple { argv, stdin: simple.stdin.clone() });
    }
    inner
}

/// The last part of a program's path.
pub(super) fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn joined(words: &[Word]) -> String {
    words.iter().map(|word| word.text.as_str()).collect::<Vec<&str>>().join(" ")
}

/// The arguments from the wrapped command on: options, assignments and operands are passed over.
fn command_of<'a>(wrapper: &Wrapper, mut rest: &'a [Word]) -> &'a [Word] {
    let mut operands = wrapper.operands;
    while let Some((word, more)) = rest.split_first() {
        let text = word.text.as_str();
        let is_assignment = text.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        });
        if text == "--" {
            return more.get(operands..).unwrap_or_default();
        } else if text.starts_with('-') && text.len() > 1 {
            let skipped = usize::from(wrapper.valued.contains(&text));
            rest = more.get(skipped..).unwrap_or_default();
        } else if is_assignment {
            rest = more;
        } else if operands > 0 {
            operands -= 1;
            rest = more;
        } else {
            return rest;
        }
    }
    rest
}

/// `-c SCRIPT`, also as part of `-lc`; without a script and a file, what is on stdin.
fn shell(rest: &[Word], simple: &Simple, inner: &mut Inner) {
    let is_script = |word: &Word| {
        let text = word.text.as_str();
        text == "--command" || (text.starts_with('-') && !text.starts_with("--") && text.contains('c'))
    };
    match rest.iter().position(is_script) {
        Some(at) => {
            let mut after = rest[at + 1..].iter().skip_while(|word| word.text.starts_with('-'));
            inner.scripts.extend(after.next().map(|word| word.text.clone()));
        }
        None if rest.iter().all(|word| word.text.starts_with('-')) => {
            inner.scripts.extend(simple.stdin.clone());
        }
        None => {}
    }
}

/// `-exec COMMAND ;` with the starting points in the place of `{}`; `-delete` is a recursive `rm`.
fn find(rest: &[Word], inner: &mut Inner) {
    let is_place = |word: &&Word| !word.text.starts_with(['-', '(', '!']);
    let mut places: Vec<Word> = rest
        .iter()
        .skip_while(|word| matches!(word.text.as_str(), "-L" | "-P" | "-H"))
        .take_while(is_place)
        .cloned()
        .collect();
    if rest.iter().any(|word| {
        matches!(
            word.text.as_str(),
            "-name" | "-iname" | "-path" | "-newer" | "-mtime" | "-maxdepth" | "-size" | "-regex" | "-empty"
        )
    }) {
        // what is found is a part of what is there
        places.clear();
    }
    for (at, word) in rest.iter().enumerate() {
        let mut argv = Vec::new();
        if word.text == "-delete" {
            argv = ["rm", "-rf"].map(Word::known).to_vec();
            argv.extend(places.iter().cloned());
        } else if matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir") {
            for word in rest[at + 1..].iter().take_while(|word| !matches!(word.text.as_str(), ";" | "+")) {
                if word.text == "{}" { argv.extend(places.iter().cloned()) } else { argv.push(word.clone()) }
            }
        }
        if !argv.is_empty() {
            inner.commands.push(Simple { argv, stdin: None });
        }
    }
}
