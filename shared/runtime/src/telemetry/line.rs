//! One log line: one flat JSON object.

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

/// Writes an event's fields beside those of every span around it, so that a search needs to know the name of a
/// field and not which span it came from. Where two have the same name, the inner one counts, and the event's own
/// before all; but what a library says of itself, to be debugged, hides nothing of ours.
pub(crate) struct Flat {
    /// Where lines are counted, if they are.
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

impl<S, N> FormatEvent<S, N> for Flat
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
            let Some(of_span) = extensions.get::<FormattedFields<N>>() else { continue };
            let of_span = read(&of_span.fields);
            if *span.metadata().level() <= Level::INFO {
                fields.extend(of_span);
            } else {
                of_span.into_iter().for_each(|(name, value)| _ = fields.entry(name).or_insert(value));
            }
        }
        let mut own = String::new();
        context.format_fields(Writer::new(&mut own), event)?;
        fields.extend(read(&own));
        // What only traces tell.
        fields.retain(|name, _| !name.starts_with("otel."));
        let mut timestamp = String::new();
        SystemTime.format_time(&mut Writer::new(&mut timestamp))?;
        let level = event.metadata().level().as_str();
        let message = fields.remove("message");
        if let (Some(metrics), Some(Value::String(message))) = (&self.metrics, &message) {
            metrics.count(message, &mut fields);
        }
        let line = Line { timestamp, level, message, fields };
        writeln!(writer, "{}", serde_json::to_string(&line).map_err(|_| fmt::Error)?)
    }
}

/// What a `JsonFields` wrote: an object, or nothing at all.
fn read(written: &str) -> Map<String, Value> {
    serde_json::from_str(written).unwrap_or_default()
}
