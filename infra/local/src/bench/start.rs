//! Starts: of a function's process, and of a turn that finds none.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use scripted_model::Moment;
use tokio::{net::TcpListener, process::Command};

use crate::lambda::Function;

use super::Failure;
use super::client::id;
use super::figure::Figure;
use super::load::{Shape, millis};
use super::system::System;

/// How often each function is started in a round.
const STARTS: usize = 10;
/// How long a start may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Settings that name services which a start does not ask.
const SETTINGS: [(&str, &str); 14] = [
    ("AWS_REGION", "us-east-1"),
    ("AWS_ACCESS_KEY_ID", "none"),
    ("AWS_SECRET_ACCESS_KEY", "none"),
    ("AWS_EC2_METADATA_DISABLED", "true"),
    ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST"),
    ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "512"),
    ("FINALIZE_QUEUE_URL", "http://127.0.0.1:9/1/none"),
    ("PAGE_TOKEN_KEY", "none"),
    ("TOKEN_AUDIENCES", "none"),
    ("OIDC_ISSUER", "https://127.0.0.1:9"),
    ("TABLE_NAME", "none"),
    ("PAYLOAD_BUCKET", "none"),
    ("OPENAI_BASE_URL", "http://127.0.0.1:9/v1"),
    ("OPENAI_API_KEY", "none"),
];

/// The median of some starts of each function, and one turn of a cloud that has just started.
pub(super) async fn measure(program: &Path, number: usize) -> Result<Vec<Figure>, Failure> {
    let mut figures = Vec::new();
    for function in Function::ALL {
        let median = median(program, &["function", function.name()], function.name()).await?;
        figures.push(Figure::new("start to first poll", function.name(), "ms", median));
    }
    let system = System::start(program, number).await?;
    let sent = Instant::now();
    system.client.turn(&id(), Shape::Whole, Duration::ZERO).await?;
    let moments = system.cloud.model().map(|model| model.moments()).unwrap_or_default();
    let asked = moments.iter().find(|(moment, _)| *moment == Moment::Asked);
    let took = asked.map(|(_, at)| *at - sent).ok_or("the model was not asked")?;
    figures.push(Figure::new("a first turn", "request to model asked, start included", "ms", millis(took)));
    system.shutdown().await;
    Ok(figures)
}

/// The median of some starts of a function, in milliseconds.
pub(super) async fn median(program: &Path, arguments: &[&str], name: &str) -> Result<f64, Failure> {
    let mut took = Vec::new();
    for _ in 0..STARTS {
        took.push(start(program, arguments, name).await?);
    }
    took.sort_unstable();
    Ok(took.get(STARTS / 2).copied().map(millis).unwrap_or_default())
}

/// Starts a function, and ends it when it asks for work.
async fn start(program: &Path, arguments: &[&str], name: &str) -> Result<Duration, Failure> {
    let runtime_api = TcpListener::bind(("127.0.0.1", 0)).await?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(SETTINGS)
        .env("AWS_LAMBDA_FUNCTION_NAME", name)
        .env("AWS_LAMBDA_RUNTIME_API", runtime_api.local_addr()?.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .kill_on_drop(true);
    let began = Instant::now();
    let mut process = command.spawn()?;
    let polled = tokio::time::timeout(PATIENCE, runtime_api.accept()).await;
    let took = began.elapsed();
    polled.map_err(|_| format!("{name} did not ask for work"))??;
    process.kill().await?;
    Ok(took)
}
