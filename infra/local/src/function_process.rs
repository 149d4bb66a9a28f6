//! Entry point of a function process: serves one function and exits when the local cloud stops.

use std::io::Read;
use std::process::ExitCode;

use crate::function::Function;

/// Serves the function's invocations until the local cloud closes this process's standard input, which happens
/// however the cloud ends. Errors are in the function's log.
pub fn run(function: Function) -> ExitCode {
    std::thread::spawn(exit_when_stdin_closes);
    match function {
        Function::Execute => execute::run(),
        Function::ToolContinuation => tool_continuation::run(),
        Function::SessionRead => session_read::run(),
        Function::TurnFinalizer => turn_finalizer::run(),
        Function::KnowledgeIndexer => knowledge_indexer::run(),
        Function::Authorizer => authorizer::run(),
    }
}

fn exit_when_stdin_closes() {
    let mut buffer = [0; 64];
    let mut input = std::io::stdin().lock();
    // Nothing is ever sent; only the end of the input matters.
    while matches!(input.read(&mut buffer), Ok(read) if read > 0) {}
    std::process::exit(0);
}
