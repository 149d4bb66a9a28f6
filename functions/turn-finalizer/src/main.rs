//! The entry point of the `turn-finalizer` function.

use std::process::ExitCode;

fn main() -> ExitCode {
    turn_finalizer::run()
}
