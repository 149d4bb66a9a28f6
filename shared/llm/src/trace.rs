//! Spans of calls, with OpenTelemetry's attributes for generative AI: only ids and counts (I14). Also the headers that
//! propagate the trace, so that a gateway's spans join it.

use agent::model::{Error, Reply, Wire};
use contracts::Usage;
use opentelemetry::{global, trace::Status};
use opentelemetry_http::HeaderInjector;
use reqwest::header::HeaderMap;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

use crate::{config::Config, key::KeyLocation};

/// Returns the provider's name by the conventions, which name the API that it offers.
fn provider_name(config: &Config) -> &'static str {
    match (&config.key_location, config.wire) {
        (KeyLocation::Signature(_), _) | (_, Wire::BedrockConverse) => "aws.bedrock",
        (_, Wire::AnthropicMessages) => "anthropic",
        (_, Wire::Responses | Wire::ChatCompletions) => "openai",
    }
}

/// Creates the span of a call, retries included.
pub(crate) fn call_span(operation: &'static str, model: &str, config: &Config, host: Option<&str>) -> Span {
    let span = tracing::error_span!("call", otel.name = format!("{operation} {model}"), otel.kind = "client");
    span.set_attribute("gen_ai.operation.name", operation);
    span.set_attribute("gen_ai.provider.name", provider_name(config));
    span.set_attribute("gen_ai.request.model", model.to_owned());
    if let Some(host) = host {
        span.set_attribute("server.address", host.to_owned());
    }
    span
}

/// Records the outcome and the usage of a call.
pub(crate) fn record_outcome(span: &Span, reply: Result<&Reply, &Error>, usage: Option<Usage>) {
    match reply {
        Ok(reply) => {
            span.set_attribute("gen_ai.response.model", reply.model.clone());
            span.set_attribute("gen_ai.response.id", reply.response_id.clone());
        }
        Err(error) => record_error(span, error),
    }
    let Some(usage) = usage else { return };
    let counts = [
        ("gen_ai.usage.input_tokens", Some(usage.prompt_tokens)),
        ("gen_ai.usage.output_tokens", Some(usage.completion_tokens)),
        ("gen_ai.usage.cache_read.input_tokens", usage.cached_tokens),
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
