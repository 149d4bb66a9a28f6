//! Logs: JSON lines on standard output, as Lambda collects them.
//!
//! Ids, sizes and durations are logged; prompts, answers and secrets never are (I14).

use tracing_subscriber::EnvFilter;

/// Starts logging. The level is `AWS_LAMBDA_LOG_LEVEL` or `RUST_LOG`; `info` by default.
pub fn start() {
    let level = std::env::var("AWS_LAMBDA_LOG_LEVEL").or_else(|_| std::env::var("RUST_LOG"));
    let filter =
        EnvFilter::try_new(level.as_deref().unwrap_or("info")).unwrap_or_else(|_| EnvFilter::new("info"));
    // A second start in one process is harmless: the first one stays.
    let _ = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_current_span(true)
        .with_span_list(false)
        .with_target(false)
        .with_env_filter(filter)
        .try_init();
}
