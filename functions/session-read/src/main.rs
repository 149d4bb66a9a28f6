//! The `session-read` function, as Lambda starts it.

use std::process::ExitCode;

fn main() -> ExitCode {
    session_read::run()
}
