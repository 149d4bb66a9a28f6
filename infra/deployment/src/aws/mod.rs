//! Signed requests to AWS services, in the three protocols that they speak: query (XML), JSON, and REST with JSON.

mod error;
mod signature;
mod xml;

use aws_config::SdkConfig;
use reqwest::{Client, Method};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::http::{self, Unreachable};
pub use error::AwsError;
use signature::Signer;
pub use xml::Members;

/// Services whose JSON protocol has version 1.0. That of others has version 1.1.
const JSON_1_0: [&str; 1] = ["monitoring"];

/// A client of AWS services, with the credentials and the region of the environment or of a profile.
#[derive(Debug)]
pub struct Aws {
    http: Client,
    signer: Signer,
    endpoint: Option<String>,
}

/// A request before it is signed.
struct Call<'a> {
    service: &'static str,
    action: &'a str,
    method: Method,
    path: &'a str,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl Aws {
    /// Reads region and credentials as every AWS tool does: from the environment, or from the profile in `AWS_PROFILE`.
    ///
    /// # Errors
    /// Fails without a region or credentials.
    pub async fn load() -> Result<Self, AwsError> {
        let config: SdkConfig = storage::load_sdk_config().await;
        let endpoint = config.endpoint_url().map(|url| url.trim_end_matches('/').to_owned());
        Ok(Self { http: http::client(), signer: Signer::load(&config).await?, endpoint })
    }

    /// The region of the requests.
    #[must_use]
    pub fn region(&self) -> &str {
        self.signer.region()
    }

    /// True if the environment names another endpoint than AWS, such as an emulator.
    #[must_use]
    pub fn has_custom_endpoint(&self) -> bool {
        self.endpoint.is_some()
    }

    /// Returns the base URL of a service, without a trailing slash.
    #[must_use]
    pub fn endpoint(&self, service: &str) -> String {
        self.endpoint.clone().unwrap_or_else(|| service_url(service, self.region()))
    }

    /// Sends a request of the query protocol and reads the XML of its response.
    ///
    /// # Errors
    /// Fails if the service can't be reached or refuses the request.
    pub async fn query<T: DeserializeOwned>(
        &self,
        service: &'static str,
        version: &str,
        action: &str,
        parameters: &[(&str, &str)],
    ) -> Result<T, AwsError> {
        let form = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("Action", action)
            .append_pair("Version", version)
            .extend_pairs(parameters)
            .finish();
        let call = Call {
            service,
            action,
            method: Method::POST,
            path: "/",
            headers: vec![("content-type", "application/x-www-form-urlencoded".to_owned())],
            body: form.into_bytes(),
        };
        let text = self.send(&call).await?;
        xml::parse(&text).map_err(|source| AwsError::unreadable(service, action, source))
    }

    /// Sends a request of the JSON protocol. `target` names the service's API, as in `secretsmanager.GetSecretValue`.
    ///
    /// # Errors
    /// Fails if the service can't be reached or refuses the request.
    pub async fn json(&self, service: &'static str, target: &str, body: &Value) -> Result<Value, AwsError> {
        let version = if JSON_1_0.contains(&service) { "1.0" } else { "1.1" };
        let headers = vec![
            ("content-type", format!("application/x-amz-json-{version}")),
            ("x-amz-target", target.to_owned()),
        ];
        let action = target.rsplit('.').next().unwrap_or(target);
        let body = body.to_string().into_bytes();
        self.read_json(Call { service, action, method: Method::POST, path: "/", headers, body }).await
    }

    /// Sends a GET request of a REST service.
    ///
    /// # Errors
    /// Fails if the service can't be reached or refuses the request.
    pub async fn get(&self, service: &'static str, action: &str, path: &str) -> Result<Value, AwsError> {
        let (headers, body) = (Vec::new(), Vec::new());
        self.read_json(Call { service, action, method: Method::GET, path, headers, body }).await
    }

    async fn read_json(&self, call: Call<'_>) -> Result<Value, AwsError> {
        let text = self.send(&call).await?;
        let text = if text.is_empty() { "null" } else { &text };
        serde_json::from_str(text).map_err(|source| AwsError::unreadable(call.service, call.action, source))
    }

    async fn send(&self, call: &Call<'_>) -> Result<String, AwsError> {
        let url = format!("{}{}", self.endpoint(call.service), call.path);
        let mut request = self.http.request(call.method.clone(), &url);
        for (name, value) in
            self.signer.sign(call.service, &call.method, &url, &call.headers, &call.body).await?
        {
            request = request.header(name, value);
        }
        let response = request.body(call.body.clone()).send().await.map_err(Unreachable::at(&url))?;
        let status = response.status();
        let kind =
            response.headers().get("x-amzn-errortype").and_then(|kind| kind.to_str().ok()).map(str::to_owned);
        let text = response.text().await.map_err(Unreachable::at(&url))?;
        if status.is_success() {
            return Ok(text);
        }
        Err(AwsError::refused(call.service, call.action, status.as_u16(), kind.as_deref(), &text))
    }
}

/// Returns the URL of a service in a region.
#[must_use]
pub fn service_url(service: &str, region: &str) -> String {
    let suffix = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
    format!("https://{service}.{region}.{suffix}")
}
