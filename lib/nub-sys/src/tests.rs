//! Tests of diagnostics and the clock.

use std::io;

use crate::{Exit, Fail, clock, log::Level};

#[test]
fn a_reader_that_went_away_is_success() {
    let gone = Fail::output(&io::Error::from(io::ErrorKind::BrokenPipe));
    assert_eq!((gone.exit(), gone.message()), (Exit::Success, ""));
    let full = Fail::output(&io::Error::from(io::ErrorKind::StorageFull));
    assert_eq!(full.exit(), Exit::Failure);
    assert!(full.message().starts_with("cannot write to stdout"));
}

#[test]
fn times_are_utc_with_milliseconds() {
    let text = clock::now();
    assert_eq!((text.len(), text.ends_with('Z')), (24, true));
    assert_eq!(clock::rfc3339(clock::parse(&text).unwrap()), text);
}

#[test]
fn levels_are_words() {
    assert_eq!(Level::parse("debug"), Some(Level::Debug));
    assert_eq!(Level::parse("loud"), None);
}

#[test]
fn a_plain_command_is_found_and_anything_else_is_for_the_shell() {
    let program = |line: &str| crate::stage::command(line, &["a"]).map(|c| c.get_program().to_owned());
    assert_eq!(program("/bin/echo x").unwrap(), "/bin/echo");
    assert!(program("sh -c").unwrap().to_str().unwrap().starts_with('/'));
    assert_eq!(program("echo 'x' | cat").unwrap(), "/bin/sh");
    assert_eq!(program("no-such-program -x").unwrap_err().exit(), Exit::Usage);
    let all = crate::stage::command("echo \"$HOME\"", &["a", "b"]).unwrap();
    let all: Vec<_> = all.get_args().collect();
    assert_eq!(all, ["-c", "echo \"$HOME\" \"$@\"", "sh", "a", "b"]);
}

#[test]
fn a_crew_hears_what_is_said_and_ends_everybody() {
    let mut crew: crate::crew::Crew<u8, String> = crate::crew::Crew::new().unwrap();
    let command = crate::stage::command("read -r x; echo \"got $x\"; sleep 600", &[]).unwrap();
    crew.start(1, command, |output, tell| {
        std::io::BufRead::lines(std::io::BufReader::new(output)).for_each(|line| tell(line.unwrap()));
    })
    .unwrap();
    crew.send(1, b"it\n".to_vec());
    match crew.next(None, || Ok(())).unwrap() {
        Some(crate::crew::Event::Said(1, text)) => assert_eq!(text, "got it"),
        other => panic!("{other:?}"),
    }
    let ended = crew.dismiss(1, std::time::Duration::ZERO).unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended), Some(9));
    assert!(!crew.has(1));
    let soon = std::time::Instant::now() + std::time::Duration::from_millis(20);
    assert!(crew.next(Some(soon), || Ok(())).unwrap().is_none(), "whoever was dismissed is not heard");
}
