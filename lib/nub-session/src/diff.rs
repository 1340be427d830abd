//! diff: where two branches part.

use std::io::Write;

use nub_sys::Fail;

use crate::index::{Index, Span};
use crate::job::Style;
use crate::open::Open;
use crate::{path, print, tree};

/// Prints the node that both share, then what only the first and what only the second has. Programs get
/// the nodes of both, the first's first.
///
/// # Errors
/// The file cannot be read or the output not be written.
pub fn diff(
    open: &Open,
    index: &Index,
    nodes: [usize; 2],
    style: Style,
    output: &mut impl Write,
) -> Result<(), Fail> {
    let [first, second] = nodes.map(|at| path::ancestors(index, at));
    let shared = first.iter().zip(&second).take_while(|(a, b)| a == b).count();
    let (left, right) = (&first[shared..], &second[shared..]);
    if style != Style::Text {
        let spans: Vec<Span> = left.iter().chain(right).map(|at| index.nodes[*at].span).collect();
        return print::print(open, &spans, output);
    }
    let common = shared.checked_sub(1).map(|last| ("  ", &first[last..shared]));
    for (sign, nodes) in common.into_iter().chain([("< ", left), ("> ", right)]) {
        for at in nodes {
            writeln!(output, "{sign}{}", tree::describe(open, index, *at)).map_err(|e| Fail::output(&e))?;
        }
    }
    output.flush().map_err(|e| Fail::output(&e))
}
