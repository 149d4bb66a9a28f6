//! Preflight check of a model provider: its address is one, the credential works, the model exists, and the endpoint that
//! turns call is there.
//!
//! Only problems that would fail every turn are reported. A provider without a model list, or with a private one,
//! passes.

use std::time::Duration;

use llm::client::Timeouts;
use llm::probe::{Probe, probe};
use llm::signing_scope::SigningScope;
use llm::{ApiKey, Config, Wire, key::KeyLocation, model_list};

use crate::aws_credentials::{ProvideCredentials, SharedCredentialsProvider};

/// Timeout of the requests.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Model names listed in an error, at most.
const MAX_LISTED_MODELS: usize = 12;
/// Placeholder key for servers that need none.
pub const NO_KEY: &str = "none";

/// A provider problem that would fail every turn. One line each.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The address has no scheme.
    #[error("The base URL {0} has no scheme. Use http://{0} or https://{0}")]
    NoScheme(String),
    /// The address is no URL.
    #[error("The base URL {0} is not an http or https URL, such as https://api.openai.com/v1")]
    InvalidUrl(String),
    /// The provider does not answer.
    #[error("Can't reach the model provider at {0}. Is it running, and is this its base URL?")]
    Unreachable(String),
    /// The provider wants a key, and there is none.
    #[error("The provider needs a key. Set OPENAI_API_KEY, or the provider's own variable. {0}")]
    MissingKey(String),
    /// The provider rejects the key.
    #[error(
        "The provider rejected the key ({status} {code}). Check OPENAI_API_KEY, or the provider's own variable. {description}"
    )]
    RejectedKey {
        /// The HTTP status.
        status: u16,
        /// The provider's error code.
        code: String,
        /// The provider's address and message.
        description: String,
    },
    /// There are no AWS credentials.
    #[error(
        "There are no AWS credentials to sign requests with. Run `aws sso login` or set AWS_PROFILE. {0}"
    )]
    NoCredentials(String),
    /// The provider rejects the AWS credentials.
    #[error(
        "The provider rejected the AWS credentials ({status} {code}). Check the profile and its permissions. {description}"
    )]
    RejectedCredentials {
        /// The HTTP status.
        status: u16,
        /// The provider's error code.
        code: String,
        /// The provider's address and message.
        description: String,
    },
    /// The account has no budget left.
    #[error("The provider's quota is used up. {0}")]
    QuotaExceeded(String),
    /// The provider has no such API at this address.
    #[error("The provider has no {api} at this base URL. {description}")]
    NoApi {
        /// The API that its wire names.
        api: &'static str,
        /// The provider's address and message.
        description: String,
    },
    /// The provider has no such model.
    #[error(
        "The provider at {base_url} has no model {model:?}. Set --model-name or OPENAI_MODEL to one of: {available}"
    )]
    UnknownModel {
        /// Base URL of the provider.
        base_url: String,
        /// The requested model.
        model: String,
        /// The available models.
        available: String,
    },
    /// The provider rejects the model.
    #[error("The provider doesn't know the model {model:?}. Set --model-name or OPENAI_MODEL. {description}")]
    RejectedModel {
        /// The requested model.
        model: String,
        /// The provider's address and message.
        description: String,
    },
}

/// Credential of the developer for a provider.
#[derive(Debug)]
pub enum Credential {
    /// An API key, or [`NO_KEY`].
    Key(String),
    /// AWS credentials that sign requests in this scope.
    Aws {
        /// The credentials.
        credentials: SharedCredentialsProvider,
        /// The scope of the signatures.
        scope: SigningScope,
    },
}

/// Checks a provider. Set `is_listed` if its model list has the models that can be requested, unlike Azure's list.
///
/// # Errors
/// Fails if every turn would fail with this provider.
pub async fn check_provider(
    wire: Wire,
    base_url: &str,
    credential: &Credential,
    model: &str,
    is_listed: bool,
) -> Result<(), Error> {
    let base_url = base_url.trim_end_matches('/');
    let (config, key) = config(wire, base_url, credential).await?;
    if is_listed && matches!(credential, Credential::Key(_)) {
        check_list(&config, &key, model).await?;
    }
    let probed = probe(&config, &key, model).await.map_err(|_| Error::InvalidUrl(base_url.to_owned()))?;
    let (status, code, error, description) = match probed {
        Probe::Accepted => return Ok(()),
        Probe::Unreachable(description) => return Err(Error::Unreachable(description)),
        Probe::NoRoute(description) => return Err(Error::NoApi { api: api(wire), description }),
        Probe::Rejected { status, code, error, description } => (status, code, error, description),
    };
    let code = code.unwrap_or_else(|| "unauthorized".to_owned());
    Err(match (error, credential) {
        (llm::Error::QuotaExceeded, _) => Error::QuotaExceeded(description),
        (llm::Error::ModelNotFound, _) => Error::RejectedModel { model: model.to_owned(), description },
        (_, Credential::Aws { .. }) => Error::RejectedCredentials { status, code, description },
        (_, Credential::Key(key)) if key == NO_KEY => Error::MissingKey(description),
        (_, Credential::Key(_)) => Error::RejectedKey { status, code, description },
    })
}

/// Returns the name of the API.
fn api(wire: Wire) -> &'static str {
    match wire {
        Wire::Responses => "Responses API",
        Wire::ChatCompletions => "Chat Completions API",
        Wire::AnthropicMessages => "Messages API",
        Wire::BedrockConverse => "Converse API",
    }
}

/// Returns the configuration and the credential of a probe, after a check of the address.
async fn config(wire: Wire, base_url: &str, credential: &Credential) -> Result<(Config, ApiKey), Error> {
    let defaults = Config::for_wire(wire);
    let (key, key_location) = match credential {
        Credential::Key(key) => (ApiKey::new(key), defaults.key_location.clone()),
        Credential::Aws { credentials, scope } => {
            let provided = tokio::time::timeout(TIMEOUT, credentials.provide_credentials()).await;
            let provided = provided.map_err(|_| Error::NoCredentials("They take too long.".to_owned()))?;
            let credentials = provided.map_err(|error| Error::NoCredentials(format!("({error})")))?;
            (credentials.into(), KeyLocation::Signature(scope.clone()))
        }
    };
    let timeouts = Timeouts { first_byte: TIMEOUT, connect: TIMEOUT, ..Timeouts::default() };
    let config = Config { base_url: base_url.to_owned(), key_location, timeouts, ..defaults };
    if config.provider_host().is_err() {
        return Err(match base_url.contains("://") {
            true => Error::InvalidUrl(base_url.to_owned()),
            false => Error::NoScheme(base_url.to_owned()),
        });
    }
    Ok((config, key))
}

/// Requests the provider's model list, and checks that it has the model.
async fn check_list(config: &Config, key: &ApiKey, model: &str) -> Result<(), Error> {
    let Config { base_url, .. } = config;
    let names = model_list::fetch(config, key).await.map_err(|_| Error::Unreachable(base_url.clone()))?;
    // Ollama appends a tag to model names; `latest` is the default one. Google's names have a prefix.
    let is_match = |listed: &String| {
        let name = listed.strip_prefix("models/").unwrap_or(listed);
        listed == model || name == model || name.strip_suffix(":latest") == Some(model)
    };
    if names.is_empty() || names.iter().any(is_match) {
        return Ok(());
    }
    let mut available: Vec<&str> = names.iter().take(MAX_LISTED_MODELS).map(String::as_str).collect();
    if names.len() > MAX_LISTED_MODELS {
        available.push("…");
    }
    Err(Error::UnknownModel {
        base_url: base_url.clone(),
        model: model.to_owned(),
        available: available.join(", "),
    })
}
