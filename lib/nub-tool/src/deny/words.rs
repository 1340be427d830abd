//! Words as the shell would see them: quotes gone, known variables put in, braces spread.

use std::collections::HashMap;

use rable::{Node, NodeKind};

/// Stands for what is only known when the command runs. A variable's name, so that a text that holds it
/// can be read again.
pub(super) const UNKNOWN: &str = "$_nub_unknown";
/// So many words come of braces at the most.
const SPREAD: usize = 64;

/// A word of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Word {
    /// The word; what is unknown stands in it as a variable.
    pub text: String,
    /// The word as if everything unknown were empty.
    pub bare: String,
}

impl Word {
    pub(super) fn known(text: &str) -> Word {
        Word { text: text.to_owned(), bare: text.to_owned() }
    }

    /// Whether nothing of it is known.
    pub(super) fn is_unknown(&self) -> bool {
        self.bare.is_empty() && !self.text.is_empty()
    }

    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.bare.push_str(text);
    }

    fn push_unknown(&mut self) {
        self.text.push_str(UNKNOWN);
    }
}

/// Variables with a value that is written in the command.
pub(super) type Vars = HashMap<String, String>;

/// The words one word of the source becomes.
pub(super) fn resolve(parts: &[Node], vars: &Vars) -> Vec<Word> {
    let mut words = Words { done: Vec::new(), open: vec![Word::default()], in_quotes: false };
    for part in parts {
        words.part(part, vars);
    }
    words.done.extend(words.open);
    for word in &mut words.done {
        if let Some(home) = vars.get("HOME").filter(|_| is_tilde(&word.text)) {
            let rest = word.text.find('/').map_or("", |at| &word.text[at..]).to_owned();
            *word = Word::known(&format!("{home}{rest}"));
        }
    }
    words.done
}

fn is_tilde(text: &str) -> bool {
    let name = text.strip_prefix('~').map(|rest| rest.split('/').next().unwrap_or(rest));
    name.is_some_and(|name| name.bytes().all(|b| b.is_ascii_alphanumeric()))
}

struct Words {
    done: Vec<Word>,
    /// The words that are being written: several when braces were spread.
    open: Vec<Word>,
    in_quotes: bool,
}

impl Words {
    fn push(&mut self, text: &str) {
        self.open.iter_mut().for_each(|word| word.push(text));
    }

    fn push_unknown(&mut self) {
        self.open.iter_mut().for_each(Word::push_unknown);
    }

    fn part(&mut self, part: &Node, vars: &Vars) {
        match &part.kind {
            NodeKind::WordLiteral { value } => self.literal(value),
            NodeKind::AnsiCQuote { decoded, .. } => self.push(decoded),
            NodeKind::LocaleString { inner, .. } => self.push(inner),
            NodeKind::BraceExpansion { content } => self.braces(content),
            NodeKind::ParamExpansion { param, op, arg } => match (vars.get(param), op.as_deref(), arg) {
                (Some(value), _, _) => self.value(value),
                (None, Some(":-" | "-" | ":=" | "="), Some(arg)) => self.value(arg),
                (None, _, _) => self.push_unknown(),
            },
            NodeKind::CommandSubstitution { command, .. } => match printed(command, vars) {
                Some(text) => self.value(text.trim_end_matches('\n')),
                None => self.push_unknown(),
            },
            _ => self.push_unknown(),
        }
    }

    /// The quotes of a word may open in one literal and close in a later one.
    fn literal(&mut self, text: &str) {
        let mut characters = text.chars();
        while let Some(c) = characters.next() {
            match (c, self.in_quotes) {
                ('"', _) => self.in_quotes = !self.in_quotes,
                ('\\', _) => match characters.next() {
                    Some('\n') | None => {}
                    Some(next) if self.in_quotes && !"$`\"\\".contains(next) => {
                        self.push(&format!("\\{next}"));
                    }
                    Some(next) => self.push(next.encode_utf8(&mut [0; 4])),
                },
                ('\'', false) => {
                    let quoted: String = characters.by_ref().take_while(|c| *c != '\'').collect();
                    self.push(&quoted);
                }
                (c, _) => self.push(c.encode_utf8(&mut [0; 4])),
            }
        }
    }

    /// A value outside of quotes is split at white space.
    fn value(&mut self, value: &str) {
        if self.in_quotes {
            return self.push(value);
        }
        for (n, piece) in value.split(char::is_whitespace).enumerate() {
            let has_text = self.open.iter().any(|word| !word.text.is_empty());
            if n > 0 && has_text {
                self.done.append(&mut self.open);
                self.open.push(Word::default());
            }
            self.push(piece);
        }
    }

    fn braces(&mut self, content: &str) {
        let choices = choices(content);
        if choices.is_empty() || self.open.len() * choices.len() > SPREAD {
            return self.push_unknown();
        }
        let open = std::mem::take(&mut self.open);
        for word in open {
            for choice in &choices {
                let mut word = word.clone();
                word.push(choice);
                self.open.push(word);
            }
        }
    }
}

/// What `{a,b{c,d}}` stands for; nothing when it is no list.
fn choices(content: &str) -> Vec<String> {
    let Some(inner) = content.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) else {
        return Vec::new();
    };
    let mut depth = 0usize;
    let mut items = vec![String::new()];
    for c in inner.chars() {
        depth = match c {
            '{' => depth + 1,
            '}' => depth.saturating_sub(1),
            _ => depth,
        };
        match (c, depth) {
            (',', 0) => items.push(String::new()),
            ('"' | '\'', _) => {}
            (c, _) => items.iter_mut().last().into_iter().for_each(|item| item.push(c)),
        }
    }
    if items.len() < 2 || items.iter().any(|item| item.contains('{')) { Vec::new() } else { items }
}

/// What a command prints, when that can be seen: `echo` and `printf` of known words.
pub(super) fn printed(command: &Node, vars: &Vars) -> Option<String> {
    let NodeKind::Command { words, .. } = &command.kind else { return None };
    let words: Vec<Word> = words.iter().flat_map(|word| of(word, vars)).collect();
    let (program, rest) = words.split_first()?;
    let rest: Vec<&str> = rest.iter().map(|word| word.text.as_str()).collect();
    match program.text.as_str() {
        "echo" => {
            let from = rest.iter().position(|word| !matches!(*word, "-n" | "-e" | "-E" | "-ne" | "-en"));
            Some(rest[from.unwrap_or(rest.len())..].join(" "))
        }
        "printf" => {
            let (format, values) = rest.split_first()?;
            let mut values = values.iter();
            let text: Vec<String> = format.split("%s").map(str::to_owned).collect();
            let last = text.len() - 1;
            let fill = |(n, piece): (usize, &String)| {
                let value = if n < last { values.next().copied().unwrap_or_default() } else { "" };
                format!("{piece}{value}")
            };
            Some(text.iter().enumerate().map(fill).collect::<String>().replace("\\n", "\n"))
        }
        _ => None,
    }
}

/// The words a word node becomes.
pub(super) fn of(word: &Node, vars: &Vars) -> Vec<Word> {
    match &word.kind {
        NodeKind::Word { parts, .. } => resolve(parts, vars),
        _ => Vec::new(),
    }
}
