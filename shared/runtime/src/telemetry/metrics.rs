//! CloudWatch metrics in the embedded metric format. A log line with a known message also lists the fields
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
    /// The metric that counts the lines: 1 for each. `None` if nothing counts them.
    line_count: Option<&'static str>,
    /// The metrics among its fields.
    fields: &'static [Metric],
    /// Set if the metric has one series per function, instead of one in total.
    per_function: bool,
}

/// The log lines with metrics. They are documented in docs/reference/logs.md, and `template.yaml` has alarms on them.
/// Each metric costs money, so a test refuses one that neither an alarm nor the dashboard uses.
const LINE_METRICS: [LineMetrics; 12] = [
    LineMetrics {
        message: log::REQUEST,
        line_count: None,
        fields: &[milliseconds("elapsed_ms")],
        per_function: true,
    },
    LineMetrics {
        message: log::TURN,
        line_count: Some("turns"),
        fields: &[
            count("turns_failed"),
            count("takeovers"),
            count("prompt_tokens"),
            count("completion_tokens"),
            count("cached_tokens"),
            count("cost_micros"),
            milliseconds("turn_ms"),
        ],
        per_function: false,
    },
    LineMetrics {
        message: log::SWEEP,
        line_count: Some("sweeps"),
        fields: &[count("salvaged"), count("ended"), count("failed")],
        per_function: false,
    },
    LineMetrics {
        message: log::RETRIEVAL_SKIPPED,
        line_count: Some("retrievals_skipped"),
        fields: &[],
        per_function: false,
    },
    LineMetrics {
        message: log::MODEL_CALL_FAILED,
        line_count: Some("model_calls_failed"),
        fields: &[],
        per_function: false,
    },
    LineMetrics {
        message: log::APPROVAL_EXPIRED,
        line_count: Some("approvals_expired"),
        fields: &[],
        per_function: false,
    },
    LineMetrics {
        message: log::EFFECT_UNKNOWN,
        line_count: Some("effects_unknown"),
        fields: &[],
        per_function: false,
    },
    LineMetrics {
        message: log::WEBHOOK_DEAD,
        line_count: Some("webhooks_dead"),
        fields: &[],
        per_function: false,
    },
    LineMetrics {
        message: log::WEBHOOK_DISABLED,
        line_count: Some("webhooks_disabled"),
        fields: &[],
        per_function: false,
    },
    LineMetrics {
        message: log::BUDGET_EXCEEDED,
        line_count: Some("budgets_exceeded"),
        fields: &[],
        per_function: false,
    },
    LineMetrics {
        message: log::DATA_TOO_NEW,
        line_count: Some("data_too_new"),
        fields: &[],
        per_function: false,
    },
    LineMetrics {
        message: log::JWKS_FETCH_FAILED,
        line_count: Some("jwks_fetches_failed"),
        fields: &[],
        per_function: false,
    },
];

/// The names of all metrics.
#[cfg(test)]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    LINE_METRICS
        .iter()
        .flat_map(|line| line.line_count.into_iter().chain(line.fields.iter().map(|metric| metric.name)))
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
        let line_count = line.line_count.map(count);
        let metrics: Vec<Value> = line_count
            .iter()
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
        if let Some(Metric { name, .. }) = line_count {
            fields.insert(name.to_owned(), Value::from(1));
        }
        fields.insert("function".to_owned(), Value::from(self.function));
        fields.insert("_aws".to_owned(), directive);
    }
}
