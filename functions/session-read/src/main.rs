//! The entry point of the `session-read` function.

use std::process::ExitCode;

fn main() -> ExitCode {
    session_read::run()
}
