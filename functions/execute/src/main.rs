//! The entry point of the `execute` function.

use std::process::ExitCode;

fn main() -> ExitCode {
    execute::run()
}
