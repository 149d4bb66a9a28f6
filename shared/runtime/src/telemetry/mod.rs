//! Logs: JSON lines on standard output, which Lambda collects (docs/reference/logs.md).
//!
//! Logs contain ids, sizes and durations, and never prompts, answers or secrets (I14). For spans see [`traces`].

mod line;
mod metrics;
#[cfg(test)]
mod tests;
pub mod traces;

use line::FlatJson;
use metrics::Metrics;
use opentelemetry_sdk::trace::SdkTracer;
use settings::Env;
use tracing::{Level, Metadata, Subscriber};
use tracing_subscriber::{
    filter::{FilterFn, LevelFilter, Targets},
    fmt::{MakeWriter, format::JsonFields},
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

/// The crates of this repository that a function consists of.
const OUR_CRATES: &[&str] = &[
    "ag_ui_api",
    "agent",
    "anthropic_api",
    "authorizer",
    "breaker",
    "contracts",
    "egress",
    "execute",
    "fronts",
    "llm",
    "histories",
    "indexing",
    "knowledge",
    "knowledge_indexer",
    "mcp_api",
    "mcp_client",
    "openai_api",
    "local",
    "protocol",
    "remote_tools",
    "retrieval",
    "runtime",
    "service",
    "session_read",
    "settings",
    "sigv4",
    "storage",
    "tls",
    "tool_continuation",
    "turn_finalizer",
    "turns",
];

/// Starts logging. `AWS_LAMBDA_LOG_LEVEL` or `RUST_LOG` sets the level; the default is `info`. With
/// `METRICS_NAMESPACE`, CloudWatch extracts metrics from the log of `function`.
pub fn start(function: &'static str) {
    let mut env = Env::from_process();
    let metrics = env.read(&settings::METRICS_NAMESPACE).map(|namespace| Metrics { namespace, function });
    let level = env.read(&settings::AWS_LAMBDA_LOG_LEVEL).or_else(|| env.read(&settings::RUST_LOG));
    // A second start in the same process is harmless: the first one remains.
    let tracer = traces::tracer(function, &mut env);
    let format = FlatJson { service: Some(function), metrics };
    let _ = subscriber(level.as_deref().unwrap_or("info"), format, tracer, std::io::stdout).try_init();
    if env.read(&settings::OTEL_EXPORTER_OTLP_ENDPOINT).is_some() && !traces::enabled() {
        tracing::warn!("trace exporter unavailable");
    }
}

/// Creates the log subscriber. `level` is one level, or levels per crate (`info,storage=debug`). An invalid value
/// means `info`.
pub(crate) fn subscriber<W>(
    level: &str,
    format: FlatJson,
    tracer: SdkTracer,
    writer: W,
) -> impl Subscriber + Send + Sync + use<W>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    // Lambda's own span would repeat the request's id under another name.
    let filter = |level| format!("lambda_runtime=warn,{level}").parse::<Targets>();
    let filter = filter(level).or_else(|_| filter("info")).unwrap_or_default();
    tracing_subscriber::fmt()
        .fmt_fields(JsonFields::new())
        .event_format(format)
        .with_writer(writer)
        .with_max_level(LevelFilter::TRACE)
        .finish()
        .with(filter)
        .with(
            tracing_opentelemetry::layer()
                .with_tracer(tracer)
                .with_location(false)
                .with_threads(false)
                .with_target(false)
                .with_tracked_inactivity(false)
                // Nothing reads a current OpenTelemetry context, and a stream would enter the spans hundreds of
                // times.
                .with_context_activation(false),
        )
        .with(FilterFn::new(is_loggable).with_max_level_hint(LevelFilter::DEBUG))
}

/// True if an event or span may be logged, whatever the configured level. Below INFO, libraries print keys. Below
/// DEBUG they print whole requests, bearer tokens and responses (I14).
fn is_loggable(metadata: &Metadata<'_>) -> bool {
    let max_level = if is_ours(metadata.target()) { Level::DEBUG } else { Level::INFO };
    *metadata.level() <= max_level
}

fn is_ours(target: &str) -> bool {
    let name = target.split("::").next().unwrap_or(target);
    OUR_CRATES.contains(&name)
}
