//! The `execute` function, as Lambda starts it.

use std::process::ExitCode;

fn main() -> ExitCode {
    execute::run()
}
