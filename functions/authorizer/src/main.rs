//! The entry point of the `authorizer` function.

use std::process::ExitCode;

fn main() -> ExitCode {
    authorizer::run()
}
