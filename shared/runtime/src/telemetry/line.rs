//! Formats log lines: one flat JSON object each.

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::{
    fmt::{
        FmtContext, FormatEvent, FormatFields, FormattedFields,
        format::Writer,
        time::{FormatTime, SystemTime},
    },
    registry::LookupSpan,
};

use super::metrics::Metrics;

/// Merges an event's fields with the fields of all its spans, so that a search needs only the name of a field. Inner spans
/// override outer ones, and the event overrides all. Debug spans of libraries never override anything.
#[derive(Default)]
pub(crate) struct FlatJson {
    /// The function's name, which every line has.
    pub(crate) service: Option<&'static str>,
    /// The metrics to add, if the deployment has any.
    pub(crate) metrics: Option<Metrics>,
}

#[derive(Serialize)]
struct Line {
    timestamp: String,
    level: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Value>,
    #[serde(flatten)]
    fields: Map<String, Value>,
}

impl<S, N> FormatEvent<S, N> for FlatJson
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut fields = Map::new();
        for span in context.event_scope().into_iter().flat_map(|scope| scope.from_root()) {
            let extensions = span.extensions();
            let Some(span_fields) = extensions.get::<FormattedFields<N>>() else { continue };
            let span_fields = read(&span_fields.fields);
            if *span.metadata().level() <= Level::INFO {
                fields.extend(span_fields);
            } else {
                span_fields.into_iter().for_each(|(name, value)| _ = fields.entry(name).or_insert(value));
            }
        }
        let mut own = String::new();
        context.format_fields(Writer::new(&mut own), event)?;
        fields.extend(read(&own));
        // These fields are meant for traces only.
        fields.retain(|name, _| {
            let of_traces = ["otel.", "error.type", "server.address"];
            !of_traces.iter().chain(&contracts::gen_ai::PREFIXES).any(|of_traces| name.starts_with(of_traces))
        });
        let mut timestamp = String::new();
        SystemTime.format_time(&mut Writer::new(&mut timestamp))?;
        let level = event.metadata().level().as_str();
        if let Some(service) = self.service {
            fields.insert("service".to_owned(), Value::from(service));
        }
        let message = fields.remove("message");
        if let (Some(metrics), Some(Value::String(message))) = (&self.metrics, &message) {
            metrics.count(message, &mut fields);
        }
        let line = Line { timestamp, level, message, fields };
        writeln!(writer, "{}", serde_json::to_string(&line).map_err(|_| fmt::Error)?)
    }
}

/// Parses the output of `JsonFields`: an object, or nothing.
fn read(written: &str) -> Map<String, Value> {
    serde_json::from_str(written).unwrap_or_default()
}
