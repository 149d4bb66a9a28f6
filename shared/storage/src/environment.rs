//! The SDK's configuration, with every wait bounded.
//!
//! The Lambda service puts region and credentials into the environment. Profiles, other roles and metadata services
//! don't apply, so the crate that looks for them, `aws-config`, isn't a dependency.

use std::{env, time::Duration};

use aws_credential_types::{Credentials, provider::SharedCredentialsProvider};
use aws_sdk_dynamodb::config::{
    BehaviorVersion, Region,
    retry::{ReconnectMode, RetryConfig},
    timeout::TimeoutConfig,
};
use aws_smithy_async::rt::sleep::TokioSleep;
use aws_types::{
    SdkConfig,
    service_config::{LoadServiceConfig, ServiceConfigKey},
};

use crate::http::{self, Pool};

/// Returns the configuration that all clients share.
pub(crate) fn config(pool: Pool) -> SdkConfig {
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
    let is_on = |name: &str| text(name).is_some_and(|value| value.eq_ignore_ascii_case("true"));
    let mut config = SdkConfig::builder();
    config.set_credentials_provider(credentials());
    config
        .behavior_version(BehaviorVersion::latest())
        .region(text("AWS_REGION").map(Region::new))
        .service_config(Endpoints)
        .use_fips(is_on("AWS_USE_FIPS_ENDPOINT"))
        .use_dual_stack(is_on("AWS_USE_DUALSTACK_ENDPOINT"))
        .timeout_config(timeouts)
        .retry_config(retries)
        .sleep_impl(TokioSleep::new())
        .http_client(http::shared_client(pool))
        .build()
}

/// The credentials of the function's role. They outlive the process.
fn credentials() -> Option<SharedCredentialsProvider> {
    let [id, secret] = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"].map(text);
    let credentials = Credentials::new(id?, secret?, text("AWS_SESSION_TOKEN"), None, "Environment");
    Some(SharedCredentialsProvider::new(credentials))
}

/// Custom service endpoints: `AWS_ENDPOINT_URL_S3` and so on, or `AWS_ENDPOINT_URL` for all.
#[derive(Debug)]
struct Endpoints;

impl LoadServiceConfig for Endpoints {
    fn load_config(&self, key: ServiceConfigKey<'_>) -> Option<String> {
        let (name, service) = (key.env(), key.service_id().to_uppercase().replace(' ', "_"));
        text(&format!("{name}_{service}")).or_else(|| text(name))
    }
}

fn text(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}
