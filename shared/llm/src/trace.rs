//! What a trace tells of a call: OpenTelemetry's names for generative AI, ids and counts alone (I14). And the trace that
//! the provider is told of, so that a gateway's own spans join it.

use agent::model::{Error, Reply};
use contracts::Usage;
use opentelemetry::{global, trace::Status};
use opentelemetry_http::HeaderInjector;
use reqwest::header::HeaderMap;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// The span around one call, retries included.
pub(crate) fn of_call(operation: &'static str, model: &str, host: Option<&str>) -> Span {
    let span = tracing::error_span!("call", otel.name = format!("{operation} {model}"), otel.kind = "client");
    span.set_attribute("gen_ai.operation.name", operation);
    span.set_attribute("gen_ai.request.model", model.to_owned());
    if let Some(host) = host {
        span.set_attribute("server.address", host.to_owned());
    }
    span
}

/// The call is over.
pub(crate) fn ended(span: &Span, reply: Result<&Reply, &Error>, usage: Option<Usage>) {
    match reply {
        Ok(reply) => {
            span.set_attribute("gen_ai.response.model", reply.model.clone());
            span.set_attribute("gen_ai.response.id", reply.response_id.clone());
        }
        Err(error) => failed(span, error),
    }
    let Some(usage) = usage else { return };
    let counted = [
        ("gen_ai.usage.input_tokens", Some(usage.prompt_tokens)),
        ("gen_ai.usage.output_tokens", Some(usage.completion_tokens)),
        ("gen_ai.usage.cache_read.input_tokens", usage.cached_tokens),
    ];
    for (name, count) in counted {
        if let Some(count) = count {
            span.set_attribute(name, i64::try_from(count).unwrap_or(i64::MAX));
        }
    }
}

/// The call came to nothing.
pub(crate) fn failed(span: &Span, error: &Error) {
    span.set_status(Status::error(error.to_string()));
}

/// The headers that name the trace; none where nobody makes spans.
pub(crate) fn headers() -> HeaderMap {
    let mut headers = HeaderMap::new();
    let context = Span::current().context();
    global::get_text_map_propagator(|propagator| {
        propagator.inject_context(&context, &mut HeaderInjector(&mut headers));
    });
    // An empty list says nothing.
    if headers.get("tracestate").is_some_and(|state| state.is_empty()) {
        headers.remove("tracestate");
    }
    headers
}
