//! The `session-read` function, as Lambda starts it.

#[tokio::main]
async fn main() -> Result<(), lambda_http::Error> {
    session_read::run().await
}
