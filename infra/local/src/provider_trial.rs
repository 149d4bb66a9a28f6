//! Whether a provider of models takes the key and has the model, found out before anything is asked of it.
//!
//! Only what would make every turn fail counts. A provider that has no list of its models, or gives it to nobody, is not
//! held against it.

use std::time::Duration;

use serde::Deserialize;

/// How long the provider may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many names of models are told.
const NAMED: usize = 12;
/// The longest code of a provider that is told, in characters.
const LONGEST_CODE: usize = 64;

/// Why the provider would fail every turn, in one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// It does not answer.
    #[error("provider: {0} can't be reached; is it running, and is this its base URL?")]
    Unreachable(String),
    /// It does not take the key.
    #[error("provider: 401 {code} from {base_url}; is the key the provider's?")]
    Key {
        /// What the provider calls it.
        code: String,
        /// Which provider.
        base_url: String,
    },
    /// It has no such model.
    #[error(
        "provider: {base_url} has no model {model:?}; --model-name or OPENAI_MODEL names one of: {known}"
    )]
    Model {
        /// Which provider.
        base_url: String,
        /// What was asked for.
        model: String,
        /// What there is.
        known: String,
    },
}

#[derive(Deserialize)]
struct Models {
    data: Vec<Named>,
}

#[derive(Deserialize)]
struct Named {
    id: String,
}

/// Asks a provider for its models. `model` is none where its list does not say what may be asked.
///
/// # Errors
/// When every turn would fail.
pub async fn try_out(base_url: &str, api_key: &str, model: Option<&str>) -> Result<(), Trouble> {
    let base_url = base_url.trim_end_matches('/');
    let unreachable = |_| Trouble::Unreachable(base_url.to_owned());
    let http = reqwest::Client::builder().timeout(PATIENCE).build().map_err(unreachable)?;
    let response = http.get(format!("{base_url}/models")).bearer_auth(api_key).send().await;
    let response = response.map_err(unreachable)?;
    let status = response.status();
    let body = response.bytes().await.map_err(unreachable)?;
    if status.as_u16() == 401 {
        return Err(Trouble::Key { code: code(&body), base_url: base_url.to_owned() });
    }
    let Some(model) = model.filter(|_| status.is_success()) else { return Ok(()) };
    let Ok(Models { data }) = serde_json::from_slice(&body) else { return Ok(()) };
    // Ollama's names end with a tag, which is `latest` where none is said.
    let is_it = |named: &Named| named.id == model || named.id.strip_suffix(":latest") == Some(model);
    if data.is_empty() || data.iter().any(is_it) {
        return Ok(());
    }
    let mut known: Vec<&str> = data.iter().take(NAMED).map(|named| named.id.as_str()).collect();
    if data.len() > NAMED {
        known.push("…");
    }
    Err(Trouble::Model { base_url: base_url.to_owned(), model: model.to_owned(), known: known.join(", ") })
}

/// What a provider calls its error, if that is a word: nothing else of it is shown.
fn code(body: &[u8]) -> String {
    let told: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let word = |pointer: &str| told.pointer(pointer)?.as_str().map(str::to_owned);
    let is_word = |code: &String| {
        !code.is_empty()
            && code.len() <= LONGEST_CODE
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
    fn a_code_is_a_word_and_nothing_else_of_an_error_is_told() {
        for (body, told) in [
            (r#"{"error":{"code":"invalid_api_key","message":"sk-secret"}}"#, "invalid_api_key"),
            (r#"{"error":{"code":401,"type":"authentication_error"}}"#, "authentication_error"),
            (r#"{"error":{"code":"Incorrect key sk-secret"}}"#, "unauthorized"),
            ("<html>", "unauthorized"),
        ] {
            assert_eq!(code(body.as_bytes()), told, "{body}");
        }
    }
}
