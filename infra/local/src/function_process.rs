//! What a function process does: be the function, and end when the local cloud ends.

use std::io::Read;

use crate::lambda::Function;

/// A function's own error type.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Serves the function's invocations until the local cloud closes this process's standard input, which
/// it does by ending, however it ends.
///
/// # Errors
/// When the function cannot be set up, or the Runtime API is gone.
pub async fn run(function: Function) -> Result<(), Failure> {
    std::thread::spawn(end_with_the_cloud);
    match function {
        Function::Execute => execute::run().await,
        Function::ToolContinuation => tool_continuation::run().await,
        Function::SessionRead => session_read::run().await,
        Function::TurnFinalizer => turn_finalizer::run().await,
    }
}

fn end_with_the_cloud() {
    let mut nothing = [0; 64];
    let mut input = std::io::stdin().lock();
    // Nothing is ever sent; what counts is the end.
    while matches!(input.read(&mut nothing), Ok(read) if read > 0) {}
    std::process::exit(0);
}
