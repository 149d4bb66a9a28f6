//! The entry point of the `knowledge-indexer` function.

use std::process::ExitCode;

fn main() -> ExitCode {
    knowledge_indexer::run()
}
