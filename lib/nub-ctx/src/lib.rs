//! Placeholder until the first commit of this program.

/// Entry point.
pub fn main() -> std::process::ExitCode {
    std::process::ExitCode::from(2)
}
