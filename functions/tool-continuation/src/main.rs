//! The entry point of the `tool-continuation` function.

use std::process::ExitCode;

fn main() -> ExitCode {
    tool_continuation::run()
}
