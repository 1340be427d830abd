//! nub: the program for people, with the manual pages of every program in it; see man/nub.1.

fn main() -> std::process::ExitCode {
    nub_porcelain::main(PAGES)
}

const PAGES: &[nub_porcelain::Page] = &[
    ("nub.1", include_str!("../man/nub.1")),
    ("nub-ctx.1", include_str!("../man/nub-ctx.1")),
    ("nub-session.1", include_str!("../man/nub-session.1")),
    ("nub-stream.1", include_str!("../man/nub-stream.1")),
    ("nub-loop.1", include_str!("../man/nub-loop.1")),
    ("nub-tool.1", include_str!("../man/nub-tool.1")),
    ("nub-config.5", include_str!("../man/nub-config.5")),
    ("nub.7", include_str!("../man/nub.7")),
    ("nub-protocol.7", include_str!("../man/nub-protocol.7")),
];
