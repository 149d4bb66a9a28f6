//! The `tool-continuation` function, as Lambda starts it.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    tool_continuation::run().await
}
