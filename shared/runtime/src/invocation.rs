//! Facts about an invocation, as fields of its log lines. The names are the same as in Powertools for AWS Lambda, so that its
//! queries and dashboards work.

use std::sync::atomic::{AtomicBool, Ordering};

use lambda_http::Context;
use tracing::Span;

/// True until the process handles its first invocation.
static IS_COLD: AtomicBool = AtomicBool::new(true);

/// The fields that all lines of an invocation share.
#[derive(Debug, Clone)]
pub struct Invocation {
    cold_start: bool,
    function_version: Option<String>,
    xray_trace_id: Option<String>,
}

impl Invocation {
    /// Reads an invocation's context. To be called once for each, since the first is the cold start.
    #[must_use]
    pub fn new(context: &Context) -> Self {
        let version = &context.env_config.version;
        Self {
            cold_start: IS_COLD.swap(false, Ordering::Relaxed),
            function_version: Some(version.clone()).filter(|version| !version.is_empty()),
            xray_trace_id: context.xray_trace_id.as_deref().and_then(trace_root).map(str::to_owned),
        }
    }

    /// Records the fields on a span, which declares `cold_start`, `function_version` and `xray_trace_id`.
    pub fn record(&self, span: &Span) {
        span.record("cold_start", self.cold_start);
        if let Some(version) = &self.function_version {
            span.record("function_version", version.as_str());
        }
        if let Some(trace) = &self.xray_trace_id {
            span.record("xray_trace_id", trace.as_str());
        }
    }
}

/// Returns the trace id in the header of X-Ray: `Root=1-…;Parent=…;Sampled=1`.
fn trace_root(header: &str) -> Option<&str> {
    header.split(';').find_map(|part| part.trim().strip_prefix("Root="))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xray_trace_id_is_the_root_of_the_header() {
        let header = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1";
        assert_eq!(trace_root(header), Some("1-5759e988-bd862e3fe1be46a994272793"));
        assert_eq!(trace_root("Parent=53995c3f42cd8ad8"), None);
    }

    #[test]
    fn only_the_first_invocation_is_cold() {
        let _ = Invocation::new(&Context::default());
        let later = Invocation::new(&Context::default());
        assert!(!later.cold_start);
        assert_eq!((later.function_version, later.xray_trace_id), (None, None));
    }
}
