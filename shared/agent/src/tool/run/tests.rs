use std::{
    future::{pending, poll_fn},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
};

use futures::{FutureExt, future::BoxFuture};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::tool::{AGENT_CHANGE_MODE, ServerTool, built_in, merge};

/// A tool that behaves as its test says, and counts.
pub(in crate::tool) struct Scripted {
    pub(in crate::tool) definition: Definition,
    behaviour: Behaviour,
    seen: Arc<Seen>,
}

#[derive(Clone, Copy)]
enum Behaviour {
    Echo,
    Fail,
    Hang,
    Large,
}

#[derive(Default)]
struct Seen {
    calls: AtomicUsize,
    running: AtomicUsize,
    most: AtomicUsize,
}

impl Scripted {
    pub(in crate::tool) fn named(name: &str) -> Self {
        let definition = Definition {
            name: name.to_owned(),
            description: "Scripted.".to_owned(),
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
        Self { definition, behaviour: Behaviour::Echo, seen: Arc::default() }
    }
}

impl ServerTool for Scripted {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn run<'a>(&'a self, call: ToolInput<'a>) -> BoxFuture<'a, Result<Produced, Failure>> {
        async move {
            self.seen.calls.fetch_add(1, Ordering::Relaxed);
            let running = self.seen.running.fetch_add(1, Ordering::Relaxed) + 1;
            self.seen.most.fetch_max(running, Ordering::Relaxed);
            // Later calls finish first.
            let turns = 20 - call.arguments["n"].as_u64().unwrap_or_default().min(20);
            for _ in 0..turns {
                give_way().await;
            }
            self.seen.running.fetch_sub(1, Ordering::Relaxed);
            let effects = vec![Effect::Warn("note".to_owned())];
            match self.behaviour {
                Behaviour::Echo => Ok(Produced { result: call.arguments.clone(), effects }),
                Behaviour::Fail => Err(Failure::Unavailable("The index")),
                Behaviour::Hang => pending().await,
                Behaviour::Large => Ok(Produced { result: "x".repeat(300_000).into(), effects }),
            }
        }
        .boxed()
    }
}

/// Lets the others run once.
async fn give_way() {
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

/// A timer whose timers fire after a thousand looks at them.
struct Looks;

impl Timer for Looks {
    fn monotonic(&self) -> Duration {
        Duration::from_millis(7)
    }
    async fn sleep(&self, _: Duration) {
        for _ in 0..1_000 {
            give_way().await;
        }
    }
}

fn drive<T>(future: impl Future<Output = T> + Send) -> T {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..100_000 {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
    }
    panic!("did not end");
}

fn call(id: &str, name: &str, arguments: &str) -> FunctionCall {
    FunctionCall { call_id: id.to_owned(), name: name.to_owned(), arguments: arguments.to_owned() }
}

fn registry(scripted: Vec<Scripted>) -> Registry {
    let mut tools = built_in();
    tools.extend(scripted.into_iter().map(|tool| Box::new(tool) as Box<dyn ServerTool>));
    Registry::new(tools).unwrap()
}

fn run(registry: &Registry, calls: &[FunctionCall], limits: &Limits) -> Vec<Executed> {
    let offered = merge(registry, [], registry.names(), 0).tools;
    drive(run_all(registry, &offered, calls, &Facts::default(), limits, &Looks))
}

fn error(ran: &Executed) -> &str {
    match &ran.outcome {
        ToolOutcome::ErrorMessage(message) => message,
        ToolOutcome::ResultJson(json) => panic!("{json}"),
    }
}

#[test]
fn results_come_in_the_order_of_the_calls_whichever_ends_first() {
    let registry = registry(vec![Scripted::named("echo")]);
    let calls: Vec<_> = (0..20).map(|n| call(&n.to_string(), "echo", &format!(r#"{{"n":{n}}}"#))).collect();
    let ran = run(&registry, &calls, &Limits::default());
    assert_eq!(ran.iter().map(|ran| ran.call.clone()).collect::<Vec<_>>(), calls);
    for (n, ran) in ran.iter().enumerate() {
        assert_eq!(ran.outcome, ToolOutcome::ResultJson(format!(r#"{{"n":{n}}}"#)));
        assert_eq!(ran.effects.len(), 1);
    }
}

#[test]
fn a_few_run_beside_each_other_and_never_more() {
    let echo = Scripted::named("echo");
    let seen = echo.seen.clone();
    let calls: Vec<_> = (0..20).map(|n| call(&n.to_string(), "echo", r#"{"n":0}"#)).collect();
    run(&registry(vec![echo]), &calls, &Limits::default());
    assert_eq!(seen.most.load(Ordering::Relaxed), 4);
    assert_eq!(seen.calls.load(Ordering::Relaxed), 20);
}

#[test]
fn whatever_goes_wrong_is_a_failed_result_without_effects() {
    let with = |name: &str, behaviour| Scripted { behaviour, ..Scripted::named(name) };
    let registry = registry(vec![
        with("fails", Behaviour::Fail),
        with("hangs", Behaviour::Hang),
        with("large", Behaviour::Large),
        with("echo", Behaviour::Echo),
    ]);
    let calls = [
        call("1", "hangs", r#"{"n":1}"#),
        call("2", "fails", r#"{"n":1}"#),
        call("3", "large", r#"{"n":1}"#),
        call("4", "none", r#"{"n":1}"#),
        call("5", "echo", r#"{"n":"x"}"#),
        call("6", "echo", "nonsense"),
        call("7", "echo", r#"{"n":1}"#),
    ];
    let ran = run(&registry, &calls, &Limits::default());
    assert_eq!(error(&ran[0]), "The tool did not finish within 30000 ms and was stopped.");
    assert!(error(&ran[1]).starts_with("The index is unavailable"));
    assert!(error(&ran[2]).starts_with("The tool's result is too large: 300002 bytes, at most 262144"));
    assert!(error(&ran[3]).contains("There are: ") && error(&ran[3]).contains("echo"));
    assert!(error(&ran[4]).contains("`/n`: value is not of type \"integer\""));
    assert!(error(&ran[5]).contains("not a JSON text"));
    assert!(ran[..6].iter().all(|ran| ran.effects.is_empty()));
    assert_eq!(ran[6].outcome, ToolOutcome::ResultJson(r#"{"n":1}"#.to_owned()));
}

#[test]
fn a_tool_that_the_turn_does_not_offer_is_not_run() {
    let echo = Scripted::named("echo");
    let seen = echo.seen.clone();
    let registry = registry(vec![echo]);
    let offered = merge(&registry, [], [], 0).tools;
    let calls = [call("1", "echo", r#"{"n":1}"#)];
    let ran = drive(run_all(&registry, &offered, &calls, &Facts::default(), &Limits::default(), &Looks));
    assert_eq!(
        error(&ran[0]),
        format!("There is no such tool in this turn. There are: {AGENT_CHANGE_MODE}.")
    );
    assert_eq!(seen.calls.load(Ordering::Relaxed), 0);
}

#[test]
fn a_tool_that_a_redeploy_took_away_is_told_so() {
    let offered = merge(&registry(vec![Scripted::named("old")]), [], ["old"], 0).tools;
    let calls = [call("1", "old", r#"{"n":1}"#)];
    let now = registry(vec![]);
    let ran = drive(run_all(&now, &offered, &calls, &Facts::default(), &Limits::default(), &Looks));
    assert!(error(&ran[0]).contains("no longer available"));
}

#[test]
fn calls_past_the_limit_are_answered_but_not_run() {
    let echo = Scripted::named("echo");
    let seen = echo.seen.clone();
    let calls: Vec<_> = (0..5).map(|n| call(&n.to_string(), "echo", r#"{"n":0}"#)).collect();
    let ran = run(&registry(vec![echo]), &calls, &Limits { calls: 3, ..Limits::default() });
    assert_eq!((ran.len(), seen.calls.load(Ordering::Relaxed)), (5, 3));
    assert!(error(&ran[3]).contains("at most 3 calls"));
}

#[test]
fn what_ran_is_told_to_model_and_client_alike() {
    let ran = run(&registry(vec![]), &[call("c", "agent_list_modes", "")], &Limits::default()).remove(0);
    assert_eq!(ran.outcome, ToolOutcome::ResultJson(r#"{"modes":[]}"#.to_owned()));
    assert_eq!(ran.output(), ToolOutput { call: ran.call.clone(), outcome: ran.outcome.clone() });
    let told = ToolResult { tool_call_id: "c".to_owned(), execution_ms: 0, outcome: ran.outcome.clone() };
    assert_eq!(ran.result(), told);
}

fn arguments() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3i64..3).prop_map(Value::from),
        (-3.0..3.0).prop_map(Value::from),
        "[ab]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[nsx]", inner, 0..3)
                .prop_map(|members| members.into_iter().collect::<serde_json::Map<_, _>>().into()),
        ]
    })
}

/// The scripted tool's schema, said a second time without a schema.
fn fits(value: &Value) -> bool {
    value.as_object().is_some_and(|members| {
        let whole =
            |n: &Value| n.as_u64().is_some() || n.as_f64().is_some_and(|n| n >= 0.0 && n.fract() == 0.0);
        members.get("n").is_some_and(whole)
            && members.get("s").is_none_or(|s| s == "a" || s == "b")
            && members.keys().all(|name| name == "n" || name == "s")
    })
}

proptest! {
    #[test]
    fn arguments_that_do_not_fit_never_reach_the_tool(value in arguments(), junk in "[{}\\[\\]\",:na1 ]{0,20}") {
        let echo = Scripted::named("echo");
        let seen = echo.seen.clone();
        let calls = [call("1", "echo", &value.to_string()), call("2", "echo", &junk)];
        let ran = run(&registry(vec![echo]), &calls, &Limits::default());
        let junk_fits = serde_json::from_str(&junk).is_ok_and(|value| fits(&value));
        let expected = usize::from(fits(&value)) + usize::from(junk_fits);
        prop_assert_eq!(seen.calls.load(Ordering::Relaxed), expected);
        prop_assert_eq!(matches!(ran[0].outcome, ToolOutcome::ResultJson(_)), fits(&value));
    }
}

#[test]
fn no_call_may_take_longer_than_its_turn() {
    let limits = Limits::default();
    assert_eq!(limits.within(Duration::from_secs(3)).timeout, Duration::from_secs(3));
    assert_eq!(limits.within(Duration::from_secs(300)), limits);
}
