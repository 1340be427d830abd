//! `nub help`: the pages that are part of the program, shown by mandoc or man, or as plain text.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::{Command, Output, Stdio};
use std::thread;

use nub_sys::{Exit, Fail, signal, tty};

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
            Err(Fail::usage(format!("there is no page '{name}'"))
                .advice("the pages are listed in 'nub help'"))
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
    if tty::stdout() && (paged("man", &["-l", "-"], page) || paged("mandoc", &["-a"], page)) {
        return Ok(Exit::Success);
    }
    let text = formatted("mandoc", &[], page).or_else(|| formatted("man", &["-l", "-"], page));
    let text = text.unwrap_or_else(|| plain(page));
    io::stdout().write_all(text.as_bytes()).map_err(|e| Fail::output(&e))?;
    Ok(Exit::Success)
}

/// Whether the formatter is there and showed the page.
fn paged(program: &str, args: &[&str], page: &str) -> bool {
    // Ctrl+C is for the pager
    signal::watch(|_| ()).unwrap_or(());
    fed(Command::new(program).args(args), page).is_some_and(|output| output.status.success())
}

/// The page as the formatter writes it, without overstriking.
fn formatted(program: &str, args: &[&str], page: &str) -> Option<String> {
    let output = fed(Command::new(program).args(args).stdout(Stdio::piped()), page)?;
    let struck = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
    let mut text = String::with_capacity(struck.len());
    for c in struck.chars() {
        match c {
            '\u{8}' => drop(text.pop()),
            c => text.push(c),
        }
    }
    text.contains("SEE ALSO").then_some(text)
}

fn fed(command: &mut Command, page: &str) -> Option<Output> {
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let mut stdin = child.stdin.take()?;
    thread::scope(|scope| {
        // a formatter that does not read to the end says so by its status
        scope.spawn(move || drop(stdin.write_all(page.as_bytes())));
        child.wait_with_output().ok()
    })
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
            "Ar" | "Cm" | "Nm" | "Pa" | "Ev" | "Xr" | "Op" | "Li" | "Em" | "Sy" | "Ql" | "Dq" | "Sq"
            | "Pq" => {
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
    text.replace("\\&", "")
        .replace("\\-", "-")
        .replace("\\(bu", "*")
        .replace("\\(fc", "›")
        .replace("\\e", "\\")
}
