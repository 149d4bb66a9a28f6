//! The choice of a wire: the operation, headers, body, decoder and accumulator of each.

use std::borrow::Cow;

use agent::model::{Error, Request, Wire};
use bytes::Bytes;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::json;

use crate::accumulator::{Accumulate, StateOptions};
use crate::config::Config;
use crate::omissions::Hint;
use crate::{anthropic_messages, bedrock_converse, chat_completions, responses};

/// The version of Anthropic's API, unless the provider's `Headers` name another.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// The first version of Anthropic's API whose requests have no `temperature` and `top_p`. Versions are dates, so they
/// compare as text.
const ANTHROPIC_WITHOUT_SAMPLING: &str = "2026-10-21";

/// The header with the version of Anthropic's API.
const ANTHROPIC_VERSION_HEADER: HeaderName = HeaderName::from_static("anthropic-version");

/// The characters of a model id that are encoded in a path: all but the unreserved ones, as in the AWS SDKs. The server
/// verifies the signature over this form.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Returns the operation that answers a request to this model, relative to the base URL and percent-encoded.
pub(crate) fn operation(wire: Wire, model: &str) -> Cow<'static, str> {
    match wire {
        Wire::Responses => "responses".into(),
        Wire::ChatCompletions => "chat/completions".into(),
        Wire::AnthropicMessages => "messages".into(),
        Wire::BedrockConverse => {
            format!("model/{}/converse-stream", utf8_percent_encode(model, ENCODED)).into()
        }
    }
}

/// Returns the media type of a response.
pub(crate) fn media_type(wire: Wire) -> &'static str {
    match wire {
        Wire::Responses | Wire::ChatCompletions | Wire::AnthropicMessages => "text/event-stream",
        Wire::BedrockConverse => "application/vnd.amazon.eventstream",
    }
}

/// Returns the headers that the wire requires, besides the common ones.
pub(crate) fn headers(wire: Wire) -> HeaderMap {
    match wire {
        Wire::Responses | Wire::ChatCompletions | Wire::BedrockConverse => HeaderMap::new(),
        Wire::AnthropicMessages => {
            HeaderMap::from_iter([(ANTHROPIC_VERSION_HEADER, HeaderValue::from_static(ANTHROPIC_VERSION))])
        }
    }
}

/// The body of a request.
#[derive(Debug)]
pub(crate) struct Body {
    /// The bytes.
    pub(crate) bytes: Bytes,
    /// The settings that it has and could do without.
    pub(crate) hints: Vec<Hint>,
    /// The names of the settings that it leaves out.
    pub(crate) omitted: Vec<&'static str>,
}

/// Builds the body of a request without the settings that its model `refused`.
///
/// # Errors
///
/// [`Error::UnsupportedFeature`] if the wire can't carry the request.
pub(crate) fn body(config: &Config, request: &Request, refused: &[Hint]) -> Result<Body, Error> {
    let Config { wire, send_identifiers, .. } = *config;
    if let Some(feature) = wire.unsupported_setting(&request.settings) {
        return Err(Error::UnsupportedFeature { feature });
    }
    let lacking: &[Hint] = if omits_sampling(config) { &[Hint::Temperature, Hint::TopP] } else { &[] };
    let removed: Vec<Hint> =
        lacking.iter().chain(refused).copied().filter(|hint| hint.is_set(&request.settings)).collect();
    let request = &*without(request, &removed);
    let asks_for_usage = wire == Wire::ChatCompletions && !refused.contains(&Hint::StreamUsage);
    let hints = Hint::all_of(&request.settings).chain(asks_for_usage.then_some(Hint::StreamUsage)).collect();
    let omitted = omitted_settings(wire, request).into_iter();
    let omitted = omitted.chain(removed.iter().filter_map(|hint| hint.setting())).collect();
    let bytes = match wire {
        Wire::Responses => {
            let tool_types = responses::builder::ToolTypes {
                has_freeform: config.has_freeform_tools(),
                searches_web: config.searches_web(),
            };
            let mut body = responses::builder::build(request, tool_types);
            if !send_identifiers {
                (body.prompt_cache_key, body.safety_identifier) = (None, None);
            }
            serde_json::to_vec(&body)
        }
        Wire::ChatCompletions => {
            let mut body = chat_completions::builder::build(request, send_identifiers);
            body.stream_options = body.stream_options.filter(|_| asks_for_usage);
            serde_json::to_vec(&body)
        }
        Wire::AnthropicMessages => {
            serde_json::to_vec(&anthropic_messages::builder::build(request, send_identifiers))
        }
        Wire::BedrockConverse => {
            serde_json::to_vec(&bedrock_converse::builder::build(request, send_identifiers))
        }
    };
    let bytes = bytes.map(Bytes::from).map_err(|_| Error::Malformed)?;
    Ok(Body { bytes, hints, omitted })
}

/// Returns the request without these settings.
fn without<'a>(request: &'a Request, removed: &[Hint]) -> Cow<'a, Request> {
    if removed.is_empty() {
        return Cow::Borrowed(request);
    }
    let mut request = request.clone();
    removed.iter().for_each(|hint| hint.clear(&mut request.settings));
    Cow::Owned(request)
}

/// True if the version of the provider's API has no sampling settings.
fn omits_sampling(config: &Config) -> bool {
    let version = config.headers.get(ANTHROPIC_VERSION_HEADER).and_then(|version| version.to_str().ok());
    config.wire == Wire::AnthropicMessages
        && version.is_some_and(|version| version >= ANTHROPIC_WITHOUT_SAMPLING)
}

/// Returns the names of the settings that the wire has no member for. They are hints, and are not sent.
fn omitted_settings(wire: Wire, request: &Request) -> Vec<&'static str> {
    match wire {
        Wire::Responses | Wire::ChatCompletions => Vec::new(),
        Wire::AnthropicMessages => anthropic_messages::builder::omitted_settings(&request.settings).collect(),
        Wire::BedrockConverse => bedrock_converse::builder::omitted_settings(request).collect(),
    }
}

/// Builds the body of a probe. Its conversation is a number, which every provider refuses before it calls a model.
pub(crate) fn probe_body(wire: Wire, model: &str) -> String {
    let body = match wire {
        Wire::Responses => json!({ "model": model, "input": 0, "max_output_tokens": 16 }),
        Wire::ChatCompletions | Wire::AnthropicMessages => {
            json!({ "model": model, "messages": 0, "max_tokens": 16 })
        }
        Wire::BedrockConverse => json!({ "messages": 0 }),
    };
    body.to_string()
}

/// Creates the accumulator of a response. Pass a different nonce for each response.
pub(crate) fn accumulator(wire: Wire, state: StateOptions, nonce: u64) -> Box<dyn Accumulate> {
    match wire {
        Wire::Responses => Box::new(responses::accumulator::Accumulator::new(state, nonce)),
        Wire::ChatCompletions => Box::new(chat_completions::accumulator::Accumulator::new(nonce)),
        Wire::AnthropicMessages => Box::new(anthropic_messages::accumulator::Accumulator::new(nonce)),
        Wire::BedrockConverse => Box::new(bedrock_converse::accumulator::Accumulator::new(nonce)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sampling_is_sent_to_anthropic_versions_that_have_it() {
        let config = |wire, version: Option<&'static str>| {
            let header = version.map(|version| (ANTHROPIC_VERSION_HEADER, HeaderValue::from_static(version)));
            Config { wire, headers: header.into_iter().collect(), ..Config::default() }
        };
        for (wire, version, expected) in [
            (Wire::AnthropicMessages, None, false),
            (Wire::AnthropicMessages, Some("2023-06-01"), false),
            (Wire::AnthropicMessages, Some("2026-10-21"), true),
            (Wire::Responses, Some("2026-10-21"), false),
        ] {
            assert_eq!(omits_sampling(&config(wire, version)), expected, "{wire:?} {version:?}");
        }
    }

    #[test]
    fn model_id_is_encoded_in_the_operation() {
        for (model, expected) in [
            ("amazon.nova-pro-v1:0", "model/amazon.nova-pro-v1%3A0/converse-stream"),
            (
                "arn:aws:bedrock:us-east-1:1:inference-profile/a_b~c",
                "model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fa_b~c/converse-stream",
            ),
        ] {
            assert_eq!(operation(Wire::BedrockConverse, model), expected);
        }
    }
}
