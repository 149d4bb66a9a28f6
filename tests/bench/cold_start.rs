//! What a cold start costs: from the start of a function's process to its first poll of the Runtime API, when it
//! has read its settings and built everything once.
//!
//! `scripts/bench-cold-start [STARTS]`: so many starts of each function one after the other, 20 by default. It is
//! this machine's time and not AWS's, where a package is loaded first.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a measurement that can't go on has failed, and tells its terminal what it saw"
)]

use std::{
    process::Stdio,
    time::{Duration, Instant},
};

use local::Function;
use tokio::{net::TcpListener, process::Command};

/// Settings that name services which a start does not ask.
const SETTINGS: [(&str, &str); 13] = [
    ("AWS_REGION", "us-east-1"),
    ("AWS_ACCESS_KEY_ID", "none"),
    ("AWS_SECRET_ACCESS_KEY", "none"),
    ("AWS_EC2_METADATA_DISABLED", "true"),
    ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST"),
    ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "512"),
    ("FINALIZE_QUEUE_URL", "http://127.0.0.1:9/1/none"),
    ("PAGE_TOKEN_KEY", "none"),
    ("TOKEN_AUDIENCES", "none"),
    ("TABLE_NAME", "none"),
    ("PAYLOAD_BUCKET", "none"),
    ("OPENAI_BASE_URL", "http://127.0.0.1:9/v1"),
    ("OPENAI_API_KEY", "none"),
];

#[tokio::main]
async fn main() {
    let starts: usize = std::env::var("STARTS").ok().and_then(|starts| starts.parse().ok()).unwrap_or(20);
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    println!("{cores} cores, {starts} starts of each function, one after the other");
    for function in Function::ALL {
        let mut took = Vec::new();
        for _ in 0..starts {
            took.push(start(function.name()).await);
        }
        took.sort_unstable();
        let [median, last] = [took[took.len() / 2], took[took.len() - 1]].map(|took| took.as_millis());
        println!("{:<20} median {median} ms, slowest {last} ms", function.name());
    }
}

/// Starts a function, and ends it when it asks for work.
async fn start(name: &str) -> Duration {
    let runtime_api = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_local"));
    command
        .args(["function", name])
        .env_clear()
        .envs(SETTINGS)
        .env("AWS_LAMBDA_FUNCTION_NAME", name)
        .env("AWS_LAMBDA_RUNTIME_API", runtime_api.local_addr().unwrap().to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .kill_on_drop(true);
    let began = Instant::now();
    let mut process = command.spawn().expect("the function starts");
    let polled = tokio::time::timeout(Duration::from_secs(30), runtime_api.accept()).await;
    let took = began.elapsed();
    polled.expect("it polls within half a minute").expect("a connection");
    process.kill().await.expect("it ends");
    took
}
