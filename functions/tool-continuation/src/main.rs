//! The `tool-continuation` function, as Lambda starts it.

#[tokio::main]
async fn main() -> Result<(), lambda_http::Error> {
    tool_continuation::run().await
}
