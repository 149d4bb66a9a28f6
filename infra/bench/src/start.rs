//! Start-up benchmarks: a function's process, and the first turn of a cloud.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use mock_model::Moment;
use tokio::{net::TcpListener, process::Command};

use local::Function;

use crate::client::id;
use crate::failure::Failure;
use crate::metric::{Metric, millis};
use crate::shape::Shape;
use crate::system::System;

/// Starts of each function per round.
const STARTS_PER_FUNCTION: usize = 10;
/// Timeout of a start.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Settings with placeholder services, which a start does not contact.
const SETTINGS: &[(&str, &str)] = &[
    ("AWS_REGION", "us-east-1"),
    ("AWS_ACCESS_KEY_ID", "none"),
    ("AWS_SECRET_ACCESS_KEY", "none"),
    ("AWS_EC2_METADATA_DISABLED", "true"),
    ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST"),
    ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "512"),
    ("FINALIZE_QUEUE_URL", "http://127.0.0.1:9/1/none"),
    ("TURN_QUEUE_URL", "http://127.0.0.1:9/1/none"),
    ("WEBHOOK_QUEUE_URL", "http://127.0.0.1:9/1/none"),
    ("PAGE_TOKEN_KEY", "none"),
    ("TOKEN_AUDIENCES", "none"),
    ("OIDC_ISSUER", "https://127.0.0.1:9"),
    ("TABLE_NAME", "none"),
    ("PAYLOAD_BUCKET", "none"),
    ("OPENAI_BASE_URL", "http://127.0.0.1:9/v1"),
    ("OPENAI_API_KEY", "none"),
];

/// Measures the median start time of each function, and the first turn of a fresh cloud.
pub(crate) async fn measure(program: &Path, number: usize) -> Result<Vec<Metric>, Failure> {
    let mut metrics = Vec::new();
    for function in Function::ALL {
        let median = median(program, &["function", function.name()], function.name()).await?;
        metrics.push(Metric::new("start to first poll", function.name(), "ms", median));
    }
    let system = System::start(program, number).await?;
    let sent = Instant::now();
    system.client.turn(&id(), Shape::Buffered, Duration::ZERO).await?;
    let moments = system.cloud.model().map(|model| model.moments()).unwrap_or_default();
    let model_call = moments.iter().find(|(moment, _)| *moment == Moment::Received);
    let took = model_call.map(|(_, at)| *at - sent).ok_or("the model was not called")?;
    metrics.push(Metric::new("first turn", "request to model call, including start", "ms", millis(took)));
    system.shutdown().await;
    Ok(metrics)
}

/// Returns the median start time of a function, in milliseconds.
pub(crate) async fn median(program: &Path, arguments: &[&str], name: &str) -> Result<f64, Failure> {
    let mut took = Vec::new();
    for _ in 0..STARTS_PER_FUNCTION {
        took.push(start_once(program, arguments, name).await?);
    }
    took.sort_unstable();
    Ok(took.get(STARTS_PER_FUNCTION / 2).copied().map(millis).unwrap_or_default())
}

/// Starts a function and stops it when it polls for work.
async fn start_once(program: &Path, arguments: &[&str], name: &str) -> Result<Duration, Failure> {
    let runtime_api = TcpListener::bind(("127.0.0.1", 0)).await?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(SETTINGS.iter().copied())
        .env("AWS_LAMBDA_FUNCTION_NAME", name)
        .env("AWS_LAMBDA_RUNTIME_API", runtime_api.local_addr()?.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .kill_on_drop(true);
    let began = Instant::now();
    let mut process = command.spawn()?;
    let polled = tokio::time::timeout(START_TIMEOUT, runtime_api.accept()).await;
    let took = began.elapsed();
    polled.map_err(|_| format!("{name} did not poll for work"))??;
    process.kill().await?;
    Ok(took)
}
