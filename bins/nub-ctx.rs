//! nub-ctx: see man/nub-ctx.1.

fn main() -> std::process::ExitCode {
    nub_ctx::main()
}
