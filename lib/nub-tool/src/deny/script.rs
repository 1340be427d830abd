//! Every simple command of a script, wherever it stands.

use rable::{Node, NodeKind};

use super::words::{self, Vars, Word};
use super::wrapper;

/// Scripts within scripts are read this deep.
const DEEPEST: usize = 12;
/// So many simple commands are looked at.
const MOST: usize = 10_000;
/// So many values of a loop's variable are tried.
const ROUNDS: usize = 8;

/// A simple command and what it reads from stdin, as far as that is written down.
#[derive(Debug, Clone)]
pub(super) struct Simple {
    pub argv: Vec<Word>,
    pub stdin: Option<String>,
}

/// Reads a script: all its simple commands, those behind wrappers included.
///
/// # Errors
/// It cannot be parsed, or has no end of nesting.
pub(super) fn commands(source: &str, home: &str) -> Result<Vec<Found>, String> {
    let mut walk = Walk { found: Vec::new(), vars: Vars::new(), cwd: String::new(), depth: 0 };
    walk.vars.insert("HOME".into(), home.into());
    walk.vars.insert("IFS".into(), " \t\n".into());
    walk.script(source)?;
    Ok(walk.found)
}

/// A simple command, and the folder it runs in when the script says so.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub argv: Vec<Word>,
    pub cwd: String,
}

struct Walk {
    found: Vec<Found>,
    vars: Vars,
    /// Where `cd` led, empty when that is not known.
    cwd: String,
    depth: usize,
}

impl Walk {
    fn script(&mut self, source: &str) -> Result<(), String> {
        if self.depth >= DEEPEST {
            return Err("scripts within scripts are too deep".into());
        }
        let nodes = match rable::parse(source, false) {
            Ok(nodes) => nodes,
            // a text of which only a part is known need not be whole
            Err(_) if self.depth > 0 && source.contains(words::UNKNOWN) => return Ok(()),
            Err(e) => return Err(e.to_string()),
        };
        self.depth += 1;
        let done = nodes.iter().try_for_each(|node| self.node(node, None));
        self.depth -= 1;
        done
    }

    fn simple(&mut self, simple: Simple) -> Result<(), String> {
        if self.found.len() >= MOST {
            return Err("it holds too many commands".into());
        }
        let inner = wrapper::unwrap(&simple);
        let words: Vec<&str> = simple.argv.iter().map(|word| word.text.as_str()).collect();
        match words.as_slice() {
            ["cd" | "pushd", path] if path.starts_with('/') => self.cwd = (*path).to_owned(),
            ["cd"] => self.cwd = self.vars.get("HOME").cloned().unwrap_or_default(),
            ["cd" | "pushd" | "popd", ..] => self.cwd.clear(),
            // some programs give their one argument to a shell
            [program, ..] if program.contains(' ') && self.depth > 0 => {
                let program = (*program).to_owned();
                self.script(&program).ok();
            }
            _ => {}
        }
        self.found.push(Found { argv: simple.argv, cwd: self.cwd.clone() });
        for command in inner.commands {
            self.simple(command)?;
        }
        inner.scripts.iter().try_for_each(|script| self.script(script))
    }

    fn all(&mut self, nodes: &[Node]) -> Result<(), String> {
        nodes.iter().try_for_each(|node| self.node(node, None))
    }

    fn node(&mut self, node: &Node, stdin: Option<String>) -> Result<(), String> {
        match &node.kind {
            NodeKind::Command { assignments, words, redirects } => {
                self.all(assignments)?;
                assignments.iter().for_each(|assignment| self.assign(assignment));
                let argv = words.iter().flat_map(|word| words::of(word, &self.vars)).collect();
                let stdin = redirects.iter().find_map(|r| given(r, &self.vars)).or(stdin);
                self.all(words)?;
                self.all(redirects)?;
                self.simple(Simple { argv, stdin })
            }
            NodeKind::Pipeline { commands, .. } => {
                let mut stdin = None;
                for command in commands {
                    self.node(command, stdin)?;
                    stdin = words::printed(command, &self.vars);
                }
                Ok(())
            }
            NodeKind::For { var, words, body, redirects }
            | NodeKind::Select { var, words, body, redirects } => {
                let words = words.as_deref().unwrap_or_default();
                self.all(words)?;
                self.all(redirects)?;
                let values: Vec<Word> = words.iter().flat_map(|word| words::of(word, &self.vars)).collect();
                for value in values.iter().take(ROUNDS) {
                    self.vars.insert(var.clone(), value.text.clone());
                    self.node(body, None)?;
                }
                self.vars.remove(var);
                self.node(body, None)
            }
            _ => self.compound(node),
        }
    }

    fn compound(&mut self, node: &Node) -> Result<(), String> {
        match &node.kind {
            NodeKind::List { items } => items.iter().try_for_each(|item| self.node(&item.command, None)),
            NodeKind::If { condition, then_body, else_body, redirects } => {
                self.node(condition, None)?;
                self.node(then_body, None)?;
                else_body.iter().try_for_each(|body| self.node(body, None))?;
                self.all(redirects)
            }
            NodeKind::While { condition, body, redirects }
            | NodeKind::Until { condition, body, redirects } => {
                self.node(condition, None)?;
                self.node(body, None)?;
                self.all(redirects)
            }
            NodeKind::ForArith { init, cond, incr, body, redirects } => {
                [init, cond, incr].into_iter().try_for_each(|text| self.text(text))?;
                self.node(body, None)?;
                self.all(redirects)
            }
            NodeKind::Case { word, patterns, redirects } => {
                self.node(word, None)?;
                for pattern in patterns {
                    self.all(&pattern.patterns)?;
                    pattern.body.iter().try_for_each(|body| self.node(body, None))?;
                }
                self.all(redirects)
            }
            NodeKind::Function { body, .. } => self.node(body, None),
            NodeKind::Subshell { body, redirects } | NodeKind::BraceGroup { body, redirects } => {
                self.node(body, None)?;
                self.all(redirects)
            }
            NodeKind::Coproc { command, .. }
            | NodeKind::CommandSubstitution { command, .. }
            | NodeKind::ProcessSubstitution { command, .. } => self.node(command, None),
            NodeKind::Negation { pipeline } | NodeKind::Time { pipeline, .. } => self.node(pipeline, None),
            _ => self.detail(node),
        }
    }

    /// Words and the like, in which only substitutions are commands.
    fn detail(&mut self, node: &Node) -> Result<(), String> {
        match &node.kind {
            NodeKind::Word { value, parts, .. } => {
                // what stands in arithmetic is no word: it is searched as text
                let is_arithmetic = |part: &Node| matches!(part.kind, NodeKind::ArithmeticExpansion { .. });
                if parts.iter().any(is_arithmetic) {
                    self.text(&value.replace("$((", "( "))?;
                }
                self.all(parts)
            }
            NodeKind::Array { elements } => self.all(elements),
            NodeKind::Redirect { target, .. } => self.node(target, None),
            NodeKind::HereDoc { content, quoted: false, .. } => self.text(content),
            NodeKind::ParamExpansion { arg: Some(arg), .. }
            | NodeKind::ParamIndirect { arg: Some(arg), .. } => self.text(arg),
            NodeKind::ArithmeticCommand { raw_content, redirects, .. } => {
                self.text(raw_content)?;
                self.all(redirects)
            }
            NodeKind::ConditionalExpr { body, redirects } => {
                self.node(body, None)?;
                self.all(redirects)
            }
            NodeKind::UnaryTest { operand, .. } | NodeKind::CondNot { operand } => self.node(operand, None),
            NodeKind::BinaryTest { left, right, .. }
            | NodeKind::CondAnd { left, right }
            | NodeKind::CondOr { left, right } => {
                self.node(left, None)?;
                self.node(right, None)
            }
            NodeKind::CondParen { inner } => self.node(inner, None),
            NodeKind::CondTerm { value, .. } => self.text(value),
            _ => Ok(()),
        }
    }

    /// A text that the shell expands: read as one word in quotes.
    fn text(&mut self, text: &str) -> Result<(), String> {
        if text.contains("$(") || text.contains('`') || text.contains("${") {
            self.script(&format!(": \"{}\"", text.replace('"', "")))
        } else {
            Ok(())
        }
    }

    fn assign(&mut self, assignment: &Node) {
        let words = words::of(assignment, &self.vars);
        let whole: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        if let Some((name, value)) = whole.join(" ").split_once('=') {
            self.vars.insert(name.to_owned(), value.to_owned());
        }
    }
}

/// What a redirection puts into stdin, when that is written down.
fn given(redirect: &Node, vars: &Vars) -> Option<String> {
    match &redirect.kind {
        NodeKind::HereDoc { content, .. } => Some(content.clone()),
        NodeKind::Redirect { op, target, .. } if op == "<<<" => {
            let words: Vec<String> = words::of(target, vars).into_iter().map(|word| word.text).collect();
            Some(words.join(" "))
        }
        _ => None,
    }
}
