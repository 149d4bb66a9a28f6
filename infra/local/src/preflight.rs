//! Preflight check of a model provider: the key works and the model exists.
//!
//! Only problems that would fail every turn are reported. A provider without a model list, or with a private one,
//! passes.

use std::time::Duration;

use agent::model::Wire;
use serde::Deserialize;

/// Timeout of the request for the model list.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Model names listed in an error, at most.
const MAX_LISTED_MODELS: usize = 12;
/// Longest provider error code that is shown, in characters.
const MAX_CODE_CHARS: usize = 64;

/// A provider problem that would fail every turn. One line each.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The provider does not answer.
    #[error("Can't reach the model provider at {0}. Is it running, and is this its base URL?")]
    Unreachable(String),
    /// The provider rejects the key.
    #[error(
        "The provider at {base_url} rejected the key (401 {code}). Check OPENAI_API_KEY, or the provider's own variable."
    )]
    RejectedKey {
        /// The provider's error code.
        code: String,
        /// Base URL of the provider.
        base_url: String,
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
}

#[derive(Deserialize)]
struct ModelList {
    data: Vec<ListedModel>,
}

#[derive(Deserialize)]
struct ListedModel {
    id: String,
}

/// Requests the provider's model list and checks it. Pass no `model` if the list does not say which models can be
/// requested, as on Azure.
///
/// # Errors
/// Fails if every turn would fail with this provider.
pub async fn check_provider(
    base_url: &str,
    api_key: &str,
    wire: Wire,
    model: Option<&str>,
) -> Result<(), Error> {
    let base_url = base_url.trim_end_matches('/');
    let unreachable = |_| Error::Unreachable(base_url.to_owned());
    let http = reqwest::Client::builder().timeout(TIMEOUT).build().map_err(unreachable)?;
    let request = http.get(format!("{base_url}/models"));
    let request = match wire {
        Wire::Responses | Wire::ChatCompletions => request.bearer_auth(api_key),
        Wire::AnthropicMessages => {
            request.header("x-api-key", api_key).header("anthropic-version", "2023-06-01")
        }
    };
    let response = request.send().await;
    let response = response.map_err(unreachable)?;
    let status = response.status();
    let body = response.bytes().await.map_err(unreachable)?;
    if status.as_u16() == 401 {
        return Err(Error::RejectedKey { code: code(&body), base_url: base_url.to_owned() });
    }
    let Some(model) = model.filter(|_| status.is_success()) else { return Ok(()) };
    let Ok(ModelList { data }) = serde_json::from_slice(&body) else { return Ok(()) };
    // Ollama appends a tag to model names; `latest` is the default one. Google's names have a prefix.
    let is_match = |listed: &ListedModel| {
        let id = listed.id.strip_prefix("models/").unwrap_or(&listed.id);
        listed.id == model || id == model || id.strip_suffix(":latest") == Some(model)
    };
    if data.is_empty() || data.iter().any(is_match) {
        return Ok(());
    }
    let mut available: Vec<&str> =
        data.iter().take(MAX_LISTED_MODELS).map(|listed| listed.id.as_str()).collect();
    if data.len() > MAX_LISTED_MODELS {
        available.push("…");
    }
    Err(Error::UnknownModel {
        base_url: base_url.to_owned(),
        model: model.to_owned(),
        available: available.join(", "),
    })
}

/// Returns the provider's error code if it is a single word. Nothing else from the response is shown, since it may
/// echo the key.
fn code(body: &[u8]) -> String {
    let expected: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let word = |pointer: &str| expected.pointer(pointer)?.as_str().map(str::to_owned);
    let is_word = |code: &String| {
        !code.is_empty()
            && code.len() <= MAX_CODE_CHARS
            && code.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.'))
    };
    ["/error/code", "/error/type", "/code"]
        .iter()
        .find_map(|pointer| word(pointer).filter(is_word))
        .unwrap_or_else(|| "unauthorized".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_code_is_a_word_and_nothing_else_is_shown() {
        for (body, expected) in [
            (r#"{"error":{"code":"invalid_api_key","message":"sk-secret"}}"#, "invalid_api_key"),
            (r#"{"error":{"code":401,"type":"authentication_error"}}"#, "authentication_error"),
            (r#"{"error":{"code":"Incorrect key sk-secret"}}"#, "unauthorized"),
            ("<html>", "unauthorized"),
        ] {
            assert_eq!(code(body.as_bytes()), expected, "{body}");
        }
    }
}
