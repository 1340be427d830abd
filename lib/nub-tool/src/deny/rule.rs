//! One rule of `deny_bash`, and whether a command is what it forbids.

use super::script::{self, Found};
use super::words::Word;
use super::wrapper::base;

/// A command line that is forbidden. A program without its path; flags in any order and spelling;
/// operands in their order; `*` and `?` as in file names.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    /// As it stands in the configuration.
    pub source: String,
    argv: Argv,
}

/// A command line taken apart.
#[derive(Debug, Clone, Default)]
struct Argv {
    program: String,
    is_unknown: bool,
    flags: Vec<String>,
    operands: Vec<Word>,
    /// Flags stood before the first operand, so that may be the value of one.
    leads_with_flags: bool,
}

/// Short and long names of one flag: program (with its subcommand), letters, long name.
const SAME: &[(&str, &str, &str)] = &[
    ("rm", "rR", "--recursive"),
    ("rm", "f", "--force"),
    ("chmod", "R", "--recursive"),
    ("chown", "R", "--recursive"),
    ("chgrp", "R", "--recursive"),
    ("cp", "rR", "--recursive"),
    ("git push", "f", "--force"),
    ("git push", "d", "--delete"),
    ("git clean", "f", "--force"),
    ("git clean", "d", "-d"),
    ("git checkout", "f", "--force"),
    ("git branch", "d", "--delete"),
    ("git branch", "f", "--force"),
    ("git commit", "n", "--no-verify"),
    ("docker rm", "f", "--force"),
];

impl Rule {
    /// Reads a rule. One that is no command line is compared as words.
    pub(crate) fn read(source: &str, home: &str) -> Rule {
        let first = script::commands(source, home).ok().and_then(|commands| commands.into_iter().next());
        let words = first
            .map(|first| first.argv)
            .unwrap_or_else(|| source.split_whitespace().map(Word::known).collect());
        let mut argv = Argv::of(&words);
        // a star that stands alone means: whatever else
        argv.operands.retain(|word| word.text != "*");
        Rule { source: source.to_owned(), argv }
    }

    /// Whether a command is what this rule forbids.
    pub(super) fn forbids(&self, found: &Found, home: &str) -> bool {
        let command = Argv::of(&found.argv);
        let rule = &self.argv;
        let name = self.name();
        let has_more = !rule.flags.is_empty() || !rule.operands.is_empty();
        let is_program = if command.is_unknown { has_more } else { fits(&rule.program, &command.program) };
        is_program
            && self.has_operands(&command, &found.cwd, home)
            && (rule.flags.iter().all(|flag| command.has(flag, &name)) || self.is_forced_push(&command))
    }

    /// The program with its subcommand, if it has one.
    fn name(&self) -> String {
        let sub = self.argv.operands.first().filter(|word| is_plain(&word.text));
        sub.map_or_else(|| self.argv.program.clone(), |sub| format!("{} {}", self.argv.program, sub.text))
    }

    fn has_operands(&self, command: &Argv, cwd: &str, home: &str) -> bool {
        let mut left = command.operands.iter();
        self.argv.operands.iter().enumerate().all(|(n, wanted)| {
            // a subcommand comes first
            let must_be_first = n == 0 && is_plain(&wanted.text) && !command.leads_with_flags;
            if must_be_first {
                return left.next().is_some_and(|word| fits(&wanted.text, &word.text));
            }
            left.any(|word| {
                fits(&wanted.text, &word.text) || (wanted.text == "/" && is_everything(&word.bare, cwd, home))
            })
        })
    }

    /// `+main`, `:main`, `--mirror` and `--delete` overwrite or remove as `--force` does.
    fn is_forced_push(&self, command: &Argv) -> bool {
        let is_rule =
            self.name() == "git push" && self.argv.flags.iter().all(|flag| flag.starts_with("--force"));
        let refs = command.operands.iter().any(|word| word.text.starts_with(['+', ':']));
        let flags = ["--mirror", "--delete"].iter().any(|flag| command.has(flag, "git push"));
        is_rule && !self.argv.flags.is_empty() && (refs || flags)
    }
}

impl Argv {
    fn of(words: &[Word]) -> Argv {
        let Some((program, rest)) = words.split_first() else { return Argv::default() };
        let name = base(&program.text).to_owned();
        let rest = if name == "git" { after_globals(rest) } else { rest };
        let mut argv = Argv { is_unknown: program.is_unknown(), program: name, ..Argv::default() };
        let mut is_open = true;
        for word in rest {
            let text = word.text.as_str();
            if is_open && text == "--" {
                is_open = false;
            } else if is_open && text.starts_with('-') && text.len() > 1 {
                argv.leads_with_flags |= argv.operands.is_empty();
                argv.flags.push(text.to_owned());
            } else {
                argv.operands.push(word.clone());
            }
        }
        argv
    }

    /// Whether a flag of a rule is among the flags, in whatever spelling.
    fn has(&self, wanted: &str, name: &str) -> bool {
        match wanted.strip_prefix("--") {
            Some(_) => self.has_long(wanted) || letters_of(name, wanted).chars().any(|c| self.has_letter(c)),
            None => wanted.chars().skip(1).all(|letter| {
                self.has_letter(letter)
                    || SAME.iter().any(|(of, letters, long)| {
                        is_of(of, name)
                            && letters.contains(letter)
                            && (self.has_long(long) || letters.chars().any(|c| self.has_letter(c)))
                    })
                    || self.flags.iter().any(|flag| fits(wanted, flag))
            }),
        }
    }

    /// A long flag may be cut short, and may have a value.
    fn has_long(&self, wanted: &str) -> bool {
        let known = wanted.split('*').next().unwrap_or(wanted);
        let is_same = |flag: &String| {
            let name = flag.split('=').next().unwrap_or(flag);
            fits(wanted, flag) || fits(wanted, name) || (name.len() > 2 && known.starts_with(name))
        };
        self.flags.iter().filter(|flag| flag.starts_with("--")).any(is_same)
    }

    fn has_letter(&self, letter: char) -> bool {
        self.flags.iter().any(|flag| !flag.starts_with("--") && flag.chars().skip(1).any(|c| c == letter))
    }
}

/// Whether an entry of [`SAME`] is about this program and subcommand.
fn is_of(entry: &str, name: &str) -> bool {
    name == entry || name.split(' ').next() == Some(entry)
}

fn letters_of(name: &str, long: &str) -> String {
    let known = long.trim_end_matches('*');
    let same = SAME.iter().filter(|(of, _, flag)| is_of(of, name) && *flag == known);
    same.map(|(_, letters, _)| *letters).collect()
}

/// The arguments of git after its own options.
fn after_globals(mut rest: &[Word]) -> &[Word] {
    const VALUED: &[&str] =
        &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix"];
    while let Some((word, more)) = rest.split_first().filter(|(word, _)| word.text.starts_with('-')) {
        rest = more.get(usize::from(VALUED.contains(&word.text.as_str()))..).unwrap_or_default();
    }
    rest
}

fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

/// Whether a path is the root, the home folder or a folder above it, or all that is in one of them.
fn is_everything(path: &str, cwd: &str, home: &str) -> bool {
    let path = match (path.starts_with('/'), path, cwd) {
        (true, ..) => path.to_owned(),
        (false, "", _) | (false, _, "") => return false,
        (false, ..) => format!("{cwd}/{path}"),
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    while parts.last().is_some_and(|part| part.bytes().all(|b| b"*?.{},!".contains(&b))) {
        parts.pop();
    }
    let home: Vec<&str> = home.split('/').filter(|part| !part.is_empty()).collect();
    home.starts_with(&parts)
}

/// `*` and `?` as in file names, but over slashes too.
fn fits(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t, mut star) = (0, 0, None);
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(c) if *c == '?' || *c == text[t] => {
                p += 1;
                t += 1;
            }
            _ => match star {
                Some((at, from)) => {
                    (p, t) = (at + 1, from + 1);
                    star = Some((at, from + 1));
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}
