//! The decoder of server-sent events: what it says must not depend on how the bytes were cut.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nub_stream::answer::Progress;
use nub_stream::failure::Failure;
use nub_stream::sse::{Decoder, Sse};

fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let (mut decoder, mut said) = (Decoder::default(), Vec::new());
    let mut handle = |sse: Sse<'_>| {
        let (name, data) = match sse {
            Sse::Event(name, data) => (name, data),
            Sse::Error(value) => ("!error", value),
            Sse::Done => ("!done", &[][..]),
        };
        said.push((name.to_owned(), data.to_owned()));
        Ok(if name == "!done" { Progress::Finished } else { Progress::More })
    };
    for piece in pieces {
        if decoder.feed(piece, &mut handle)? == Progress::Finished {
            return Ok(said);
        }
    }
    decoder.end(&mut handle)?;
    Ok(said)
}

fuzz_target!(|data: &[u8]| {
    let Some((cut, body)) = data.split_first() else { return };
    let whole = read([body]);
    let size = usize::from(*cut % 16) + 1;
    assert_eq!(read(body.chunks(size)), whole);
});
