//! nub-stream: see man/nub-stream.1.

fn main() -> std::process::ExitCode {
    nub_stream::main()
}
