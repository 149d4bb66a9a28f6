//! The choice of a wire: the operation, headers, body and accumulator of each.

use agent::model::{Error, Request, Wire};
use bytes::Bytes;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::accumulator::{Accumulate, StateOptions};
use crate::config::Config;
use crate::{anthropic_messages, chat_completions, responses};

/// The version of Anthropic's API, unless the provider's `Headers` name another.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// Returns the operation that answers a request, relative to the base URL.
pub(crate) fn operation(wire: Wire) -> &'static str {
    match wire {
        Wire::Responses => "responses",
        Wire::ChatCompletions => "chat/completions",
        Wire::AnthropicMessages => "messages",
    }
}

/// Returns the headers that the wire requires, besides the common ones.
pub(crate) fn headers(wire: Wire) -> HeaderMap {
    match wire {
        Wire::Responses | Wire::ChatCompletions => HeaderMap::new(),
        Wire::AnthropicMessages => HeaderMap::from_iter([(
            HeaderName::from_static("anthropic-version"),
            HeaderValue::from_static(ANTHROPIC_VERSION),
        )]),
    }
}

/// Builds the body of a request. `asks_for_usage` matters on a wire where usage comes only if asked for.
///
/// # Errors
///
/// [`Error::UnsupportedFeature`] if the wire can't carry the request.
pub(crate) fn body(config: &Config, request: &Request, asks_for_usage: bool) -> Result<Bytes, Error> {
    let Config { wire, send_identifiers, .. } = *config;
    let body = match wire {
        Wire::Responses => {
            let mut body = responses::builder::build(request);
            if !send_identifiers {
                (body.prompt_cache_key, body.safety_identifier) = (None, None);
            }
            serde_json::to_vec(&body)
        }
        Wire::ChatCompletions => {
            let mut body = chat_completions::builder::build(request, send_identifiers)?;
            body.stream_options = body.stream_options.filter(|_| asks_for_usage);
            serde_json::to_vec(&body)
        }
        Wire::AnthropicMessages => {
            for setting in anthropic_messages::builder::omitted_settings(&request.settings) {
                tracing::warn!(setting, "{}", contracts::log::MODEL_SETTING_OMITTED);
            }
            serde_json::to_vec(&anthropic_messages::builder::build(request, send_identifiers)?)
        }
    };
    body.map(Bytes::from).map_err(|_| Error::Malformed)
}

/// Creates the accumulator of a response. Pass a different nonce for each response.
pub(crate) fn accumulator(wire: Wire, state: StateOptions, nonce: u64) -> Box<dyn Accumulate> {
    match wire {
        Wire::Responses => Box::new(responses::accumulator::Accumulator::new(state, nonce)),
        Wire::ChatCompletions => Box::new(chat_completions::accumulator::Accumulator::new(nonce)),
        Wire::AnthropicMessages => Box::new(anthropic_messages::accumulator::Accumulator::new(nonce)),
    }
}
