//! nub-loop: see man/nub-loop.1.

fn main() -> std::process::ExitCode {
    nub_loop::main()
}
