//! Logs: JSON lines on standard output, as Lambda collects them (docs/logs.md).
//!
//! Ids, sizes and durations are logged; prompts, answers and secrets never are (I14). [`traces`] says what becomes of spans.

mod line;
mod metrics;
#[cfg(test)]
mod tests;
pub mod traces;

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

/// The crates of this repository that a function is made of.
const OURS: [&str; 19] = [
    "agent",
    "authorizer",
    "contracts",
    "execute",
    "llm",
    "local",
    "protocol",
    "providers",
    "retrieval",
    "runtime",
    "service",
    "session_index",
    "session_read",
    "settings",
    "storage",
    "tls",
    "tool_continuation",
    "turn_finalizer",
    "turns",
];

/// Starts logging. The level is `AWS_LAMBDA_LOG_LEVEL` or `RUST_LOG`; `info` by default. With `METRICS_NAMESPACE`
/// CloudWatch counts what the log of `function` says.
pub fn start(function: &'static str) {
    let mut env = Env::of_process();
    let metrics = env.read(&settings::METRICS_NAMESPACE).map(|namespace| Metrics { namespace, function });
    let level = env.read(&settings::AWS_LAMBDA_LOG_LEVEL).or_else(|| env.read(&settings::RUST_LOG));
    // A second start in one process is harmless: the first one stays.
    let tracer = traces::tracer(function, &mut env);
    let _ = subscriber(level.as_deref().unwrap_or("info"), metrics, tracer, std::io::stdout).try_init();
    if env.read(&settings::OTEL_EXPORTER_OTLP_ENDPOINT).is_some() && !traces::are_sent() {
        tracing::warn!(
            "traces can't be sent: the collector's address or this machine's certificates are of no use"
        );
    }
}

/// What writes the log of this level, or of these levels of these crates (`info,storage=debug`); of `info` where it is neither.
pub(crate) fn subscriber<W>(
    level: &str,
    metrics: Option<Metrics>,
    tracer: SdkTracer,
    writer: W,
) -> impl Subscriber + Send + Sync + use<W>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    // Lambda's own span around ours would repeat the request's id under another name.
    let filter = |level| format!("lambda_runtime=warn,{level}").parse::<Targets>();
    let filter = filter(level).or_else(|_| filter("info")).unwrap_or_default();
    tracing_subscriber::fmt()
        .fmt_fields(JsonFields::new())
        .event_format(line::Flat { metrics })
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
                // Spans are asked for their context; nothing reads a current one, and a stream enters them hundreds of times.
                .with_context_activation(false),
        )
        .with(FilterFn::new(may_be_written).with_max_level_hint(LevelFilter::DEBUG))
}

/// Whether an event or a span may be written, whatever level is asked for: below INFO libraries print keys, and
/// below DEBUG whole requests, bearer tokens and what came back (I14).
fn may_be_written(metadata: &Metadata<'_>) -> bool {
    let most = if is_ours(metadata.target()) { Level::DEBUG } else { Level::INFO };
    *metadata.level() <= most
}

fn is_ours(target: &str) -> bool {
    let name = target.split("::").next().unwrap_or(target);
    OURS.contains(&name)
}
