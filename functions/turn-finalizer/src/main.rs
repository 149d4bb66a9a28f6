//! The `turn-finalizer` function, as Lambda starts it.

use std::process::ExitCode;

fn main() -> ExitCode {
    turn_finalizer::run()
}
