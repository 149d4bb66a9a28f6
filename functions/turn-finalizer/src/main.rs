//! The `turn-finalizer` function, as Lambda starts it.

#[tokio::main]
async fn main() -> Result<(), lambda_runtime::Error> {
    turn_finalizer::run().await
}
