//! The `authorizer` function, as Lambda starts it.

use std::process::ExitCode;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    authorizer::run().await
}
