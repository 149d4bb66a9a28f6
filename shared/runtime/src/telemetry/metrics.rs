//! CloudWatch metrics in the embedded metric format. A log line with a known message also lists those of its fields
//! that are metrics. Nothing else is sent.

use std::time::{SystemTime, UNIX_EPOCH};

use contracts::log;
use serde_json::{Map, Value, json};

/// A field that is a metric.
struct Metric {
    name: &'static str,
    unit: &'static str,
}

const fn count(name: &'static str) -> Metric {
    Metric { name, unit: "Count" }
}

const fn milliseconds(name: &'static str) -> Metric {
    Metric { name, unit: "Milliseconds" }
}

/// The metrics of one kind of log line.
struct LineMetrics {
    /// The line's message.
    message: &'static str,
    /// The metric that counts the lines: 1 for each.
    line_count: &'static str,
    /// The metrics among its fields.
    fields: &'static [Metric],
    /// Set if the metric has one series per function, instead of one in total.
    per_function: bool,
}

/// The log lines with metrics. They are documented in docs/reference/logs.md, and `template.yaml` has alarms on them.
const LINE_METRICS: [LineMetrics; 6] = [
    LineMetrics {
        message: log::REQUEST,
        line_count: "requests",
        fields: &[milliseconds("elapsed_ms")],
        per_function: true,
    },
    LineMetrics {
        message: log::TURN,
        line_count: "turns",
        fields: &[
            count("turns_failed"),
            count("takeovers"),
            count("tool_rounds"),
            count("prompt_tokens"),
            count("completion_tokens"),
            count("cached_tokens"),
            count("cost_micros"),
            milliseconds("turn_ms"),
            milliseconds("model_ms"),
            milliseconds("first_text_ms"),
            milliseconds("client_tool_ms"),
            milliseconds("server_tool_ms"),
        ],
        per_function: false,
    },
    LineMetrics {
        message: log::SWEEP,
        line_count: "sweeps",
        fields: &[count("examined"), count("salvaged"), count("ended"), count("failed")],
        per_function: false,
    },
    LineMetrics {
        message: log::RETRIEVAL_SKIPPED,
        line_count: "retrievals_skipped",
        fields: &[],
        per_function: false,
    },
    LineMetrics {
        message: log::MODEL_CALL_FAILED,
        line_count: "model_calls_failed",
        fields: &[],
        per_function: false,
    },
    LineMetrics { message: log::DATA_TOO_NEW, line_count: "data_too_new", fields: &[], per_function: false },
];

/// The names of all metrics.
#[cfg(test)]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    LINE_METRICS
        .iter()
        .flat_map(|line| std::iter::once(line.line_count).chain(line.fields.iter().map(|metric| metric.name)))
}

/// The metrics destination of a function.
#[derive(Debug, Clone)]
pub(crate) struct Metrics {
    /// The namespace in CloudWatch.
    pub(crate) namespace: String,
    /// The function's name in `template.yaml`.
    pub(crate) function: &'static str,
}

impl Metrics {
    /// Adds the embedded metrics to a line's fields, if the line has any.
    pub(super) fn count(&self, message: &str, fields: &mut Map<String, Value>) {
        let Some(line) = LINE_METRICS.iter().find(|line| line.message == message) else { return };
        let is_present = |metric: &&Metric| fields.get(metric.name).is_some_and(Value::is_number);
        let line_count = count(line.line_count);
        let metrics: Vec<Value> = std::iter::once(&line_count)
            .chain(line.fields.iter().filter(is_present))
            .map(|metric| json!({ "Name": metric.name, "Unit": metric.unit }))
            .collect();
        let dimensions: &[&str] = if line.per_function { &["function"] } else { &[] };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let directive = json!({
            "Timestamp": u64::try_from(now.as_millis()).unwrap_or(u64::MAX),
            "CloudWatchMetrics": [
                { "Namespace": self.namespace, "Dimensions": [dimensions], "Metrics": metrics },
            ],
        });
        fields.insert(line.line_count.to_owned(), Value::from(1));
        fields.insert("function".to_owned(), Value::from(self.function));
        fields.insert("_aws".to_owned(), directive);
    }
}
