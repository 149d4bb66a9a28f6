//! The `turn-finalizer` function, as Lambda starts it.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    turn_finalizer::run().await
}
