//! The `execute` function, as Lambda starts it.

#[tokio::main]
async fn main() -> Result<(), lambda_http::Error> {
    execute::run().await
}
