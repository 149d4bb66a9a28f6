//! The SDK's configuration, with every wait bounded.
//!
//! The Lambda service puts region and credentials into the environment, so a function names those and starts without
//! looking further. A function that a developer runs elsewhere gets them from the SDK's default chain: profiles, other
//! roles, single sign-on, containers and metadata services.

use std::{env, time::Duration};

use aws_config::{
    BehaviorVersion, ConfigLoader, Region, SdkConfig, ecs::EcsCredentialsProvider,
    environment::EnvironmentVariableCredentialsProvider, provider_config::ProviderConfig,
};
use aws_sdk_dynamodb::config::{
    retry::{ReconnectMode, RetryConfig},
    timeout::TimeoutConfig,
};
use settings::Env;

use crate::http::{self, Pool};

/// Loads the configuration of the clients, with a pool of its own, for commands that sign requests themselves.
pub async fn load_sdk_config() -> SdkConfig {
    load(http::pool()).await
}

/// Loads the configuration that all clients share.
pub(crate) async fn load(pool: Pool) -> SdkConfig {
    // A connection may be dead after a freeze, and a turn waits for each of these calls. So attempts are short and
    // are retried.
    let timeouts = TimeoutConfig::builder()
        .operation_attempt_timeout(Duration::from_secs(5))
        .operation_timeout(Duration::from_secs(12))
        .build();
    let retries = RetryConfig::standard()
        .with_max_attempts(3)
        .with_initial_backoff(Duration::from_millis(50))
        // Keep connections that delivered a response, whatever the response was.
        .with_reconnect_mode(ReconnectMode::ReuseAllConnections);
    let loader = aws_config::defaults(BehaviorVersion::latest())
        .timeout_config(timeouts)
        .retry_config(retries)
        .http_client(http::shared_client(pool));
    from_environment(loader).load().await
}

/// Names the region and credentials that the environment has.
fn from_environment(mut loader: ConfigLoader) -> ConfigLoader {
    let text = |name| env::var(name).ok().filter(|value| !value.is_empty());
    if let Some(region) = text("AWS_REGION") {
        loader = loader.region(Region::new(region));
    }
    if lives_long() && text("AWS_CONTAINER_CREDENTIALS_FULL_URI").is_some() {
        loader = loader.credentials_provider(container_credentials());
    } else if text("AWS_ACCESS_KEY_ID").and(text("AWS_SECRET_ACCESS_KEY")).is_some() {
        // The keys of a function's role outlive its process.
        loader = loader.credentials_provider(EnvironmentVariableCredentialsProvider::new());
    }
    loader
}

/// True if this process may outlive the keys in its environment: Lambda Managed Instances keep a process for days.
fn lives_long() -> bool {
    Env::from_process().read(&settings::AWS_LAMBDA_MAX_CONCURRENCY) > 1
}

/// The credentials that the Lambda service renews at an address on this machine. The SDK fetches them again before they
/// expire.
fn container_credentials() -> EcsCredentialsProvider {
    let config = ProviderConfig::default().with_http_client(http::loopback_client());
    EcsCredentialsProvider::builder().configure(&config).build()
}
