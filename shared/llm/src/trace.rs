//! Spans of calls, with OpenTelemetry's attributes for generative AI: only ids and counts (I14). Also the headers that
//! propagate the trace, so that a gateway's spans join it.

use agent::model::{Error, Reply, Wire};
use contracts::{Usage, gen_ai};
use opentelemetry::{global, trace::Status};
use opentelemetry_http::HeaderInjector;
use reqwest::header::HeaderMap;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

use crate::{config::Config, key::KeyLocation};

/// Returns the provider's name by the conventions, which name the API that it offers.
fn provider_name(config: &Config) -> &'static str {
    match (&config.key_location, config.wire) {
        (KeyLocation::Signature(_), _) | (_, Wire::BedrockConverse) => gen_ai::AWS_BEDROCK,
        (_, Wire::AnthropicMessages) => gen_ai::ANTHROPIC,
        (_, Wire::Responses | Wire::ChatCompletions) => gen_ai::OPENAI,
    }
}

/// Creates the span of a call, retries included.
pub(crate) fn call_span(operation: &'static str, model: &str, config: &Config, host: Option<&str>) -> Span {
    let span = tracing::error_span!("call", otel.name = format!("{operation} {model}"), otel.kind = "client");
    span.set_attribute(gen_ai::OPERATION_NAME, operation);
    span.set_attribute(gen_ai::PROVIDER_NAME, provider_name(config));
    span.set_attribute(gen_ai::REQUEST_MODEL, model.to_owned());
    if operation == gen_ai::CHAT {
        span.set_attribute(gen_ai::REQUEST_STREAM, true);
    }
    if let Some(host) = host {
        span.set_attribute("server.address", host.to_owned());
    }
    span
}

/// Records the outcome and the usage of a call.
pub(crate) fn record_outcome(span: &Span, reply: Result<&Reply, &Error>, usage: Option<Usage>) {
    match reply {
        Ok(reply) => {
            span.set_attribute(gen_ai::RESPONSE_MODEL, reply.model.clone());
            span.set_attribute(gen_ai::RESPONSE_ID, reply.response_id.clone());
        }
        Err(error) => record_error(span, error),
    }
    let Some(usage) = usage else { return };
    let counts = [
        (gen_ai::USAGE_INPUT_TOKENS, Some(usage.prompt_tokens)),
        (gen_ai::USAGE_OUTPUT_TOKENS, Some(usage.completion_tokens)),
        (gen_ai::USAGE_CACHE_READ_INPUT_TOKENS, usage.cached_tokens),
        (gen_ai::USAGE_CACHE_WRITE_INPUT_TOKENS, usage.cache_write_tokens),
        (gen_ai::USAGE_REASONING_OUTPUT_TOKENS, usage.reasoning_tokens),
    ];
    for (name, count) in counts {
        if let Some(count) = count {
            span.set_attribute(name, i64::try_from(count).unwrap_or(i64::MAX));
        }
    }
}

/// Records the error of a call.
pub(crate) fn record_error(span: &Span, error: &Error) {
    span.set_status(Status::error(error.to_string()));
}

/// Returns the headers that propagate the trace. Empty if tracing is off.
pub(crate) fn propagation_headers() -> HeaderMap {
    let mut headers = HeaderMap::new();
    let context = Span::current().context();
    global::get_text_map_propagator(|propagator| {
        propagator.inject_context(&context, &mut HeaderInjector(&mut headers));
    });
    // An empty `tracestate` carries no information.
    if headers.get("tracestate").is_some_and(|state| state.is_empty()) {
        headers.remove("tracestate");
    }
    headers
}
