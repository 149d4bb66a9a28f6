//! Tools that fail or wait on request, for tests and local experiments with the agent loop.
//!
//! They are registered only if a function's setting asks for them, and are never part of [`super::built_in`].

use std::{fmt, sync::Arc, time::Duration};

use futures::{FutureExt, future::BoxFuture};
use serde::Deserialize;
use serde_json::json;

use super::{Definition, ExecutedBy, ServerTool, ToolError, ToolInput, ToolSuccess};

/// The maximum sleep.
const MAX_SLEEP_MS: u64 = 600_000;

/// The timer of the sleeping tool: a real one, or a simulation's.
#[derive(Clone)]
pub struct Sleep(Arc<dyn Fn(Duration) -> BoxFuture<'static, ()> + Send + Sync>);

impl Sleep {
    /// Creates a timer from this function.
    pub fn new<F>(sleep: impl Fn(Duration) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self(Arc::new(move |duration| sleep(duration).boxed()))
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sleep")
    }
}

/// Returns `diagnostics_fail` and `diagnostics_sleep`, to be added to the built-in tools.
#[must_use]
pub fn diagnostics(sleep: Sleep) -> Vec<Box<dyn ServerTool>> {
    let fail = definition("diagnostics_fail", "Fail, always. For tests.", json!({}), json!([]));
    let milliseconds = json!({ "milliseconds": {
        "type": "integer",
        "minimum": 0,
        "maximum": MAX_SLEEP_MS,
        "description": "How long to wait.",
    } });
    let wait = definition("diagnostics_sleep", "Wait. For tests.", milliseconds, json!(["milliseconds"]));
    vec![Box::new(Fail { definition: fail }), Box::new(Wait { definition: wait, sleep })]
}

fn definition(
    name: &str,
    description: &str,
    properties: serde_json::Value,
    required: serde_json::Value,
) -> Definition {
    Definition {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters: json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        }),
        usage: None,
        executed_by: ExecutedBy::Server,
        // Not every provider accepts numeric bounds in a strict schema.
        strict: false,
    }
}

struct Fail {
    definition: Definition,
}

impl ServerTool for Fail {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn run<'a>(&'a self, _: ToolInput<'a>) -> BoxFuture<'a, Result<ToolSuccess, ToolError>> {
        let failure = ToolError::Refused("This tool always fails.".to_owned());
        std::future::ready(Err(failure)).boxed()
    }
}

struct Wait {
    definition: Definition,
    sleep: Sleep,
}

#[derive(Deserialize)]
struct WaitArguments {
    // The model may write a whole number as `1.0`, which the schema accepts as an integer.
    milliseconds: f64,
}

impl ServerTool for Wait {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn run<'a>(&'a self, call: ToolInput<'a>) -> BoxFuture<'a, Result<ToolSuccess, ToolError>> {
        async move {
            let WaitArguments { milliseconds } = call.read()?;
            (self.sleep.0)(Duration::from_secs_f64(milliseconds.max(0.0) / 1_000.0)).await;
            Ok(json!({ "slept_ms": call.arguments.get("milliseconds") }).into())
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;
    use crate::tool::{Registry, TurnFacts, built_in, check};

    #[test]
    fn diagnostics_register_with_the_built_in_tools() {
        let mut tools = built_in();
        tools.extend(diagnostics(Sleep::new(|_| ready(()))));
        let registry = Registry::new(tools).unwrap();
        assert_eq!(registry.names().count(), 7);
        assert!(registry.definitions().all(|tool| check(tool).is_empty()));
    }

    #[test]
    fn fail_tool_fails_and_sleep_tool_waits() {
        let facts = TurnFacts::default();
        let run = |sleep, at: usize, arguments: &serde_json::Value| {
            diagnostics(sleep)[at].run(ToolInput { arguments, facts: &facts }).now_or_never()
        };
        let at_once = Sleep::new(|duration| {
            assert_eq!(duration, Duration::from_millis(20));
            ready(())
        });
        let arguments = json!({ "milliseconds": 20 });
        assert!(matches!(run(at_once.clone(), 0, &json!({})), Some(Err(ToolError::Refused(_)))));
        assert_eq!(run(at_once, 1, &arguments), Some(Ok(json!({ "slept_ms": 20 }).into())));
        assert_eq!(run(Sleep::new(|_| pending()), 1, &arguments), None);
    }
}
