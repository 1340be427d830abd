//! One line for people about a call.

use serde::Deserialize;

use nub_proto::Json;

/// The longest title, in characters.
const LONGEST: usize = 120;

/// The arguments a title is made of, whatever the tool.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Shown {
    command: Option<String>,
    pattern: Option<String>,
    path: Option<String>,
    file_path: Option<String>,
    items: Option<Vec<serde::de::IgnoredAny>>,
}

/// Such as `bash: cargo test` or `grep: fn main in src`.
pub(crate) fn title(name: &str, input: Option<&Json>) -> String {
    let shown: Shown = input.and_then(|input| input.read().ok()).unwrap_or_default();
    let path = shown.path.or(shown.file_path);
    let about = match (shown.command, shown.pattern, path, shown.items) {
        (Some(command), ..) => command,
        (None, Some(pattern), Some(path), _) => format!("{pattern} in {path}"),
        (None, Some(pattern), None, _) => pattern,
        (None, None, Some(path), _) => path,
        (None, None, None, Some(items)) => format!("{} steps", items.len()),
        (None, None, None, None) => String::new(),
    };
    let whole = if about.is_empty() { name.to_owned() } else { format!("{name}: {about}") };
    one_line(&whole)
}

/// White space becomes blanks, other control characters go.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line: String = words.join(" ").chars().filter(|c| !c.is_control()).collect();
    match line.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}
