//! nub: the program for people; see man/nub.1.

fn main() -> std::process::ExitCode {
    nub_porcelain::main()
}
