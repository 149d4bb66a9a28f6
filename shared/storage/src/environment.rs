//! The SDK's configuration, with every wait bounded.
//!
//! The Lambda service tells region and credentials in the environment, and nothing has to be looked for elsewhere: no
//! profile, no other role, no metadata service. So the crate that looks for them, `aws-config`, is not here.

use std::{env, time::Duration};

use aws_credential_types::{Credentials, provider::SharedCredentialsProvider};
use aws_sdk_dynamodb::config::{BehaviorVersion, Region, retry::RetryConfig, timeout::TimeoutConfig};
use aws_smithy_async::rt::sleep::TokioSleep;
use aws_smithy_http_client::{
    Connector,
    proxy::ProxyConfig,
    tls::{Provider, rustls_provider::CryptoMode},
};
use aws_smithy_runtime_api::client::http::{
    HttpConnectorSettings, SharedHttpClient, SharedHttpConnector, http_client_fn,
};
use aws_types::{
    SdkConfig,
    service_config::{LoadServiceConfig, ServiceConfigKey},
};

use crate::Ahead;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(2);

/// What all clients have in common.
pub(crate) fn config(pool: Ahead<SharedHttpConnector>) -> SdkConfig {
    // A thawed connection may be dead, and a turn waits behind each of these calls: so a short
    // time per attempt, and another attempt.
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(CONNECT)
        .operation_attempt_timeout(Duration::from_secs(5))
        .operation_timeout(Duration::from_secs(12))
        .build();
    let retries =
        RetryConfig::standard().with_max_attempts(3).with_initial_backoff(Duration::from_millis(50));
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
        .http_client(http_client(pool))
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

/// One pool of connections for all services. By itself each client makes one of its own as soon as it is built, and
/// parses the certificates of every authority that the system trusts for it.
pub(crate) fn one_pool() -> Ahead<SharedHttpConnector> {
    Ahead::new(connector)
}

fn http_client(pool: Ahead<SharedHttpConnector>) -> SharedHttpClient {
    http_client_fn(move |_, _| SharedHttpConnector::clone(&pool))
}

fn connector() -> SharedHttpConnector {
    let settings = HttpConnectorSettings::builder().connect_timeout(CONNECT).build();
    let builder = Connector::builder().tls_provider(Provider::Rustls(CryptoMode::AwsLc));
    let builder = builder.proxy_config(ProxyConfig::from_env()).connector_settings(settings);
    SharedHttpConnector::new(builder.sleep_impl(TokioSleep::new()).build())
}

fn text(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}
