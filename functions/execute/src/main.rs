//! The `execute` function, as Lambda starts it.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    execute::run().await
}
