//! Metrics: what CloudWatch counts of the log, in its embedded metric format. A line of a known message carries the
//! names of those of its fields that are metrics; nothing else is sent anywhere.

use std::time::{SystemTime, UNIX_EPOCH};

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

/// What is counted of a line.
struct Counted {
    /// The line's message.
    message: &'static str,
    /// The metric that counts the lines themselves: 1 each.
    each: &'static str,
    /// The metrics among its fields.
    fields: &'static [Metric],
    /// Whether each function has its own, instead of all together.
    per_function: bool,
}

/// The lines that are counted. docs/logs.md lists them, and `template.yaml` has alarms on them.
const COUNTED: [Counted; 6] = [
    Counted {
        message: "request",
        each: "requests",
        fields: &[milliseconds("elapsed_ms")],
        per_function: true,
    },
    Counted {
        message: "turn",
        each: "turns",
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
    Counted {
        message: "sweep",
        each: "sweeps",
        fields: &[count("looked_at"), count("salvaged"), count("ended"), count("failed")],
        per_function: false,
    },
    Counted {
        message: "retrieval was skipped",
        each: "retrievals_skipped",
        fields: &[],
        per_function: false,
    },
    Counted { message: "a model call failed", each: "model_calls_failed", fields: &[], per_function: false },
    Counted {
        message: "stored data is newer than this code",
        each: "data_too_new",
        fields: &[],
        per_function: false,
    },
];

/// The names of all metrics.
#[cfg(test)]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    COUNTED.iter().flat_map(|counted| {
        std::iter::once(counted.each).chain(counted.fields.iter().map(|metric| metric.name))
    })
}

/// Where a function's lines are counted.
#[derive(Debug, Clone)]
pub(crate) struct Metrics {
    /// The namespace in CloudWatch.
    pub(crate) namespace: String,
    /// The function's name in `template.yaml`.
    pub(crate) function: &'static str,
}

impl Metrics {
    /// Adds to a line's fields what makes CloudWatch count it, if it is one that is counted.
    pub(super) fn count(&self, message: &str, fields: &mut Map<String, Value>) {
        let Some(counted) = COUNTED.iter().find(|counted| counted.message == message) else { return };
        let there = |metric: &&Metric| fields.get(metric.name).is_some_and(Value::is_number);
        let each = count(counted.each);
        let metrics: Vec<Value> = std::iter::once(&each)
            .chain(counted.fields.iter().filter(there))
            .map(|metric| json!({ "Name": metric.name, "Unit": metric.unit }))
            .collect();
        let dimensions: &[&str] = if counted.per_function { &["function"] } else { &[] };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let directive = json!({
            "Timestamp": u64::try_from(now.as_millis()).unwrap_or(u64::MAX),
            "CloudWatchMetrics": [
                { "Namespace": self.namespace, "Dimensions": [dimensions], "Metrics": metrics },
            ],
        });
        fields.insert(counted.each.to_owned(), Value::from(1));
        fields.insert("function".to_owned(), Value::from(self.function));
        fields.insert("_aws".to_owned(), directive);
    }
}
