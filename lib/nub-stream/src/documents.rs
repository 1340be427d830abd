//! JSON documents one behind the other: a whole answer, a list of chunks, or a chunk on each line.

use nub_proto::ErrorClass;

use crate::failure::Failure;
use crate::scan::Scan;

/// The longest document, in bytes.
const MAX_DOCUMENT: usize = 64 << 20;

/// Cuts documents out of bytes that are cut anywhere.
#[derive(Debug, Default)]
pub struct Documents {
    /// The document that is not complete.
    held: Vec<u8>,
    scan: Option<Scan>,
    /// A document was complete.
    any: bool,
}

/// Takes one document.
pub type Handler<'a> = dyn FnMut(&[u8]) -> Result<(), Failure> + 'a;

impl Documents {
    /// Takes bytes and hands on every document they complete. What is no document is returned: everything
    /// from there on is something else.
    pub fn feed<'a>(
        &mut self,
        mut bytes: &'a [u8],
        handle: &mut Handler<'_>,
    ) -> Result<Option<&'a [u8]>, Failure> {
        loop {
            let Some(scan) = &mut self.scan else {
                bytes = self.between(bytes);
                match bytes.first() {
                    None => return Ok(None),
                    Some(b'{') => self.scan = Some(Scan::default()),
                    Some(_) => return Ok(Some(bytes)),
                }
                continue;
            };
            let Some(end) = scan.over(bytes) else {
                return self.keep(bytes).map(|()| None);
            };
            self.scan = None;
            self.any = true;
            if self.held.is_empty() {
                handle(&bytes[..end])?;
            } else {
                self.keep(&bytes[..end])?;
                let document = std::mem::take(&mut self.held);
                handle(&document)?;
            }
            bytes = &bytes[end..];
        }
    }

    /// Whether a document is torn.
    pub fn torn(&self) -> bool {
        self.scan.is_some()
    }

    fn between<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        let skipped = |byte: &u8| {
            byte.is_ascii_whitespace() || matches!(byte, b',' | b']') || (*byte == b'[' && !self.any)
        };
        &bytes[bytes.iter().take_while(|byte| skipped(byte)).count()..]
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if self.held.len() + bytes.len() > MAX_DOCUMENT {
            let size = MAX_DOCUMENT >> 20;
            return Err(Failure::new(
                ErrorClass::Protocol,
                format!("the server sent JSON of more than {size} MiB"),
            ));
        }
        self.held.extend_from_slice(bytes);
        Ok(())
    }
}
