//! A fake server tool for tests.

use std::{
    future::{pending, poll_fn},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::Poll,
};

use futures::{FutureExt, future::BoxFuture};
use serde_json::json;

use super::{Definition, Effect, ExecutedBy, ServerTool, ToolError, ToolInput, ToolSuccess};

/// A tool with configurable behaviour that counts its calls.
pub(super) struct FakeTool {
    pub(super) definition: Definition,
    pub(super) behaviour: Behaviour,
    pub(super) counts: Arc<CallCounts>,
}

/// The behaviour of a [`FakeTool`].
#[derive(Clone, Copy)]
pub(super) enum Behaviour {
    Echo,
    Fail,
    Hang,
    Large,
}

/// Counts of a [`FakeTool`]'s calls.
#[derive(Default)]
pub(super) struct CallCounts {
    pub(super) calls: AtomicUsize,
    running: AtomicUsize,
    pub(super) peak: AtomicUsize,
}

impl FakeTool {
    pub(super) fn named(name: &str) -> Self {
        let definition = Definition {
            name: name.to_owned(),
            description: "A fake.".to_owned(),
            parameters: json!({
                "type": "object",
                "properties": { "n": { "type": "integer", "minimum": 0 }, "s": { "enum": ["a", "b"] } },
                "required": ["n"],
                "additionalProperties": false,
            }),
            usage: None,
            executed_by: ExecutedBy::Server,
            strict: false,
        };
        Self { definition, behaviour: Behaviour::Echo, counts: Arc::default() }
    }
}

impl ServerTool for FakeTool {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn run<'a>(&'a self, call: ToolInput<'a>) -> BoxFuture<'a, Result<ToolSuccess, ToolError>> {
        async move {
            self.counts.calls.fetch_add(1, Ordering::Relaxed);
            let running = self.counts.running.fetch_add(1, Ordering::Relaxed) + 1;
            self.counts.peak.fetch_max(running, Ordering::Relaxed);
            // Later calls finish first.
            let polls = 20 - call.arguments["n"].as_u64().unwrap_or_default().min(20);
            for _ in 0..polls {
                yield_once().await;
            }
            self.counts.running.fetch_sub(1, Ordering::Relaxed);
            let effects = vec![Effect::Warn("note".to_owned())];
            match self.behaviour {
                Behaviour::Echo => Ok(ToolSuccess { result: call.arguments.clone(), effects }),
                Behaviour::Fail => Err(ToolError::Unavailable("The index")),
                Behaviour::Hang => pending().await,
                Behaviour::Large => Ok(ToolSuccess { result: "x".repeat(300_000).into(), effects }),
            }
        }
        .boxed()
    }
}

/// Yields to the other futures once.
pub(super) async fn yield_once() {
    let mut waited = false;
    poll_fn(|context| {
        if waited {
            return Poll::Ready(());
        }
        waited = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
