//! The `session-read` function, as Lambda starts it.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    session_read::run().await
}
