//! The `authorizer` function, as Lambda starts it.

use std::process::ExitCode;

fn main() -> ExitCode {
    authorizer::run()
}
