//! The `tool-continuation` function, as Lambda starts it.

use std::process::ExitCode;

fn main() -> ExitCode {
    tool_continuation::run()
}
