//! `nub help`: the pages that are part of the program, shown by mandoc or man, or as plain text.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::{Command, Stdio};

use nub_sys::{Exit, Fail, tty};

use crate::dispatch;

/// A manual page: its file's name, such as `nub-loop.1`, and its text in mdoc.
pub type Page = (&'static str, &'static str);

/// Shows the page of a program or a topic.
///
/// # Errors
/// There is no such page.
pub(crate) fn help(pages: &[Page], args: &[OsString]) -> Result<Exit, Fail> {
    let name = args.first().map_or("nub".into(), |name| name.to_string_lossy());
    match find(pages, &name) {
        Some(page) => show(page),
        None if dispatch::is_name(&name) => dispatch::run(&name, &["--help".into()]),
        None => {
            Err(Fail::usage(format!("there is no page '{name}'")).advice("the pages are listed in 'nub help'"))
        }
    }
}

/// `loop`, `nub-loop` and `nub-loop.1` all name nub-loop.1.
fn find<'a>(pages: &'a [Page], name: &str) -> Option<&'a str> {
    let is = |file: &str| {
        let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
        file == name || stem == name || stem.strip_prefix("nub-") == Some(name)
    };
    pages.iter().find(|(file, _)| is(file)).map(|(_, text)| *text)
}

fn show(page: &str) -> Result<Exit, Fail> {
    let pager: &[&str] = if tty::stdout() { &["-a"] } else { &[] };
    if format("mandoc", pager, page) || format("man", &["-l", "-"], page) {
        return Ok(Exit::Success);
    }
    io::stdout().write_all(plain(page).as_bytes()).map_err(|e| Fail::output(&e))?;
    Ok(Exit::Success)
}

/// Whether the formatter is there and did its work.
fn format(program: &str, args: &[&str], page: &str) -> bool {
    let child = Command::new(program).args(args).stdin(Stdio::piped()).stderr(Stdio::null()).spawn();
    let Ok(mut child) = child else { return false };
    // a formatter that does not read to the end says so by its status
    drop(child.stdin.take().map(|mut stdin| stdin.write_all(page.as_bytes())));
    child.wait().is_ok_and(|status| status.success())
}

/// mdoc without its macros: not pretty, but all of the words.
pub(crate) fn plain(page: &str) -> String {
    let mut out = String::new();
    for line in page.lines() {
        let words = line.strip_prefix('.').map(|rest| rest.split_once(' ').unwrap_or((rest, "")));
        match words {
            None => out.push_str(&unescape(line)),
            Some(("Sh", title)) => out.push_str(&format!("\n{title}")),
            Some(("Ss", title)) => out.push_str(&format!("\n  {title}")),
            Some(("It", rest)) => out.push_str(&format!("\n  {}", inline(rest))),
            Some(("Pp", _)) => {}
            Some(("Dd" | "Dt" | "Os" | "Bl" | "El" | "Bd" | "Ed" | "Bk" | "Ek" | "\\\"", _)) => continue,
            Some(("Nd", rest)) => out.push_str(&format!("- {}", unescape(rest))),
            Some((name, rest)) => out.push_str(&inline(&format!("{name} {rest}"))),
        }
        out.push('\n');
    }
    out
}

fn inline(text: &str) -> String {
    let mut out = String::new();
    let mut glued = true;
    for word in text.split_whitespace() {
        let shown = match word {
            "Fl" => {
                out.push_str(if glued { "-" } else { " -" });
                glued = true;
                continue;
            }
            "Ns" | "No" => {
                glued |= word == "Ns";
                continue;
            }
            "Ar" | "Cm" | "Nm" | "Pa" | "Ev" | "Xr" | "Op" | "Li" | "Em" | "Sy" | "Ql" | "Dq" | "Sq" | "Pq" => {
                continue;
            }
            "Oo" => "[",
            "Oc" => "]",
            word => word,
        };
        let closes = matches!(shown, "." | "," | ":" | ";" | ")" | "]");
        if !glued && !closes {
            out.push(' ');
        }
        out.push_str(&unescape(shown));
        glued = matches!(shown, "(" | "[");
    }
    out
}

fn unescape(text: &str) -> String {
    text.replace("\\&", "").replace("\\-", "-").replace("\\(bu", "*").replace("\\e", "\\")
}
