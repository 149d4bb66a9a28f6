//! What a function process does: be the function, and end when the local cloud ends.

use std::io::Read;
use std::process::ExitCode;

use crate::lambda::Function;

/// Serves the function's invocations until the local cloud closes this process's standard input, which
/// it does by ending, however it ends. What went wrong is in its log.
pub fn run(function: Function) -> ExitCode {
    std::thread::spawn(end_with_the_cloud);
    match function {
        Function::Execute => execute::run(),
        Function::ToolContinuation => tool_continuation::run(),
        Function::SessionRead => session_read::run(),
        Function::TurnFinalizer => turn_finalizer::run(),
        Function::Authorizer => authorizer::run(),
    }
}

fn end_with_the_cloud() {
    let mut nothing = [0; 64];
    let mut input = std::io::stdin().lock();
    // Nothing is ever sent; what counts is the end.
    while matches!(input.read(&mut nothing), Ok(read) if read > 0) {}
    std::process::exit(0);
}
