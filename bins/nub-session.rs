//! nub-session: see man/nub-session.1.

fn main() -> std::process::ExitCode {
    nub_session::main()
}
