//! The SDK's configuration, with every wait bounded.
//!
//! The Lambda service tells region and credentials in the environment, and nothing has to be looked for elsewhere: no
//! profile, no other role, no metadata service. So the crate that looks for them, `aws-config`, is not here.

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

/// What all clients have in common.
pub(crate) fn config(pool: Pool) -> SdkConfig {
    // A thawed connection may be dead, and a turn waits behind each of these calls: so a short
    // time per attempt, and another attempt.
    let timeouts = TimeoutConfig::builder()
        .operation_attempt_timeout(Duration::from_secs(5))
        .operation_timeout(Duration::from_secs(12))
        .build();
    let retries = RetryConfig::standard()
        .with_max_attempts(3)
        .with_initial_backoff(Duration::from_millis(50))
        // A connection that an answer came over is kept, whatever the answer is.
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
        .http_client(http::over(pool))
        .build()
}

/// Those of the function's role, which hold as long as the process.
fn credentials() -> Option<SharedCredentialsProvider> {
    let [id, secret] = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"].map(text);
    let of_role = Credentials::new(id?, secret?, text("AWS_SESSION_TOKEN"), None, "Environment");
    Some(SharedCredentialsProvider::new(of_role))
}

/// Where services are that are not AWS's own: `AWS_ENDPOINT_URL_S3` and the like, or `AWS_ENDPOINT_URL` for all.
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
