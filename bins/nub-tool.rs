//! nub-tool: see man/nub-tool.1.

fn main() -> std::process::ExitCode {
    nub_tool::main()
}
