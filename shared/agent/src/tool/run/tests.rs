use std::{
    sync::atomic::Ordering,
    task::{Context, Poll, Waker},
};

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::tool::{
    AGENT_CHANGE_MODE, ServerTool, built_in,
    fake_tool::{Behaviour, FakeTool, yield_once},
    remote::{CallTerms, EffectClass},
    select_tools,
};

/// A timer that fires after it was polled a thousand times.
struct PollTimer;

impl Timer for PollTimer {
    fn monotonic(&self) -> Duration {
        Duration::from_millis(7)
    }
    async fn sleep(&self, _: Duration) {
        for _ in 0..1_000 {
            yield_once().await;
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

fn registry(scripted: Vec<FakeTool>) -> Registry {
    let mut tools = built_in();
    tools.extend(scripted.into_iter().map(|tool| Box::new(tool) as Box<dyn ServerTool>));
    Registry::new(tools).unwrap()
}

fn run(registry: &Registry, calls: &[FunctionCall], limits: &Limits) -> Vec<ExecutedCall> {
    let offered = select_tools(registry, [], registry.names(), 0).tools;
    run_offered(registry, &offered, calls, limits)
}

fn run_offered(
    registry: &Registry,
    definitions: &[Definition],
    calls: &[FunctionCall],
    limits: &Limits,
) -> Vec<ExecutedCall> {
    let tools = OfferedTools { registry, definitions, remote: &[], used: &BTreeMap::new() };
    drive(run_calls(&tools, calls, &TurnFacts::default(), limits, &PollTimer, &Target::default()))
}

/// Answers remote calls with their arguments, and fails those of `refuses`.
#[derive(Default)]
struct Target(std::sync::Mutex<Vec<usize>>);

impl RemoteRunner for Target {
    async fn run(&self, call: ValidRemoteCall<'_>) -> Result<ToolSuccess, ToolError> {
        self.0.lock().unwrap().push(call.at);
        match call.tool.definition.name.as_str() {
            "refuses" => Err(ToolError::Refused("No.".to_owned())),
            _ => Ok(ToolSuccess::from(call.arguments)),
        }
    }
}

fn error(executed: &ExecutedCall) -> &str {
    match &executed.outcome {
        ToolOutcome::ErrorMessage(message) => message,
        ToolOutcome::ResultJson(json) => panic!("{json}"),
    }
}

#[test]
fn results_keep_the_order_of_the_calls() {
    let registry = registry(vec![FakeTool::named("echo")]);
    let calls: Vec<_> = (0..20).map(|n| call(&n.to_string(), "echo", &format!(r#"{{"n":{n}}}"#))).collect();
    let executed = run(&registry, &calls, &Limits::default());
    assert_eq!(executed.iter().map(|executed| executed.call.clone()).collect::<Vec<_>>(), calls);
    for (n, executed) in executed.iter().enumerate() {
        assert_eq!(executed.outcome, ToolOutcome::ResultJson(format!(r#"{{"n":{n}}}"#)));
        assert_eq!(executed.effects.len(), 1);
    }
}

#[test]
fn concurrency_is_limited() {
    let echo = FakeTool::named("echo");
    let counts = echo.counts.clone();
    let calls: Vec<_> = (0..20).map(|n| call(&n.to_string(), "echo", r#"{"n":0}"#)).collect();
    run(&registry(vec![echo]), &calls, &Limits::default());
    assert_eq!(counts.peak.load(Ordering::Relaxed), 4);
    assert_eq!(counts.calls.load(Ordering::Relaxed), 20);
}

#[test]
fn failed_calls_have_a_message_and_no_effects() {
    let with = |name: &str, behaviour| FakeTool { behaviour, ..FakeTool::named(name) };
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
    let executed = run(&registry, &calls, &Limits::default());
    assert_eq!(error(&executed[0]), "The tool did not finish within 30000 ms and was stopped.");
    assert!(error(&executed[1]).starts_with("The index is unavailable"));
    assert!(error(&executed[2]).starts_with("The tool's result is too large: 300002 bytes, at most 262144"));
    assert!(error(&executed[3]).contains("There are: ") && error(&executed[3]).contains("echo"));
    assert!(error(&executed[4]).contains("`/n`: value is not of type \"integer\""));
    assert!(error(&executed[5]).contains("not a JSON text"));
    assert!(executed[..6].iter().all(|executed| executed.effects.is_empty()));
    assert_eq!(executed[6].outcome, ToolOutcome::ResultJson(r#"{"n":1}"#.to_owned()));
}

#[test]
fn tool_that_is_not_offered_is_not_run() {
    let echo = FakeTool::named("echo");
    let counts = echo.counts.clone();
    let registry = registry(vec![echo]);
    let offered = select_tools(&registry, [], [], 0).tools;
    let calls = [call("1", "echo", r#"{"n":1}"#)];
    let executed = run_offered(&registry, &offered, &calls, &Limits::default());
    assert_eq!(
        error(&executed[0]),
        format!("There is no such tool in this turn. There are: {AGENT_CHANGE_MODE}.")
    );
    assert_eq!(counts.calls.load(Ordering::Relaxed), 0);
}

#[test]
fn remote_calls_run_beside_built_in_ones_in_the_model_s_order() {
    let remote = |name: &str| RemoteTool {
        definition: FakeTool::named(name).definition,
        connection: "shop".to_owned(),
        revision: 1,
        class: EffectClass::Read,
        terms: CallTerms::default(),
        target: Value::Null,
    };
    let registry = registry(vec![FakeTool::named("echo")]);
    let mut definitions = select_tools(&registry, [], registry.names(), 0).tools;
    let tools = [remote("get"), remote("refuses"), remote("hidden")];
    definitions.extend(tools[..2].iter().map(|tool| tool.definition.clone()));
    let clients = Definition { executed_by: ExecutedBy::Client, ..tools[2].definition.clone() };
    definitions.push(clients);
    let offered = OfferedTools {
        registry: &registry,
        definitions: &definitions,
        remote: &tools,
        used: &BTreeMap::new(),
    };
    let calls = [
        call("1", "get", r#"{"n":1}"#),
        call("2", "echo", r#"{"n":2}"#),
        call("3", "get", r#"{"n":-1}"#),
        call("4", "refuses", r#"{"n":4}"#),
        call("5", "hidden", r#"{"n":"x"}"#),
        call("6", "get", r#"{"n":6}"#),
    ];
    let (limits, target) = (Limits { calls: 5, ..Limits::default() }, Target::default());
    let valid: Vec<usize> = offered.remote_calls(&calls, &limits).iter().map(|call| call.at).collect();
    let executed = drive(run_calls(&offered, &calls, &TurnFacts::default(), &limits, &PollTimer, &target));
    assert_eq!(executed.iter().map(|executed| executed.call.clone()).collect::<Vec<_>>(), calls);
    assert_eq!(executed[0].outcome, ToolOutcome::ResultJson(r#"{"n":1}"#.to_owned()));
    assert_eq!(executed[1].outcome, ToolOutcome::ResultJson(r#"{"n":2}"#.to_owned()));
    assert!(error(&executed[2]).contains("`/n`"));
    assert_eq!(error(&executed[3]), "No.");
    assert!(error(&executed[5]).contains("at most 5 calls"));
    assert_eq!((valid.clone(), target.0.into_inner().unwrap()), (vec![0, 3], valid));
}

#[test]
fn removed_tool_is_reported() {
    let offered = select_tools(&registry(vec![FakeTool::named("old")]), [], ["old"], 0).tools;
    let calls = [call("1", "old", r#"{"n":1}"#)];
    let now = registry(vec![]);
    let executed = run_offered(&now, &offered, &calls, &Limits::default());
    assert!(error(&executed[0]).contains("no longer available"));
}

#[test]
fn calls_past_the_limit_fail_without_running() {
    let echo = FakeTool::named("echo");
    let counts = echo.counts.clone();
    let calls: Vec<_> = (0..5).map(|n| call(&n.to_string(), "echo", r#"{"n":0}"#)).collect();
    let executed = run(&registry(vec![echo]), &calls, &Limits { calls: 3, ..Limits::default() });
    assert_eq!((executed.len(), counts.calls.load(Ordering::Relaxed)), (5, 3));
    assert!(error(&executed[3]).contains("at most 3 calls"));
}

#[test]
fn model_and_client_get_the_same_outcome() {
    let executed = run(&registry(vec![]), &[call("c", "agent_list_modes", "")], &Limits::default()).remove(0);
    assert_eq!(executed.outcome, ToolOutcome::ResultJson(r#"{"modes":[]}"#.to_owned()));
    assert_eq!(
        executed.output(),
        ToolOutput { call: executed.call.clone(), outcome: executed.outcome.clone() }
    );
    let expected =
        ToolResult { tool_call_id: "c".to_owned(), execution_ms: 0, outcome: executed.outcome.clone() };
    assert_eq!(executed.result(), expected);
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

/// The fake tool's schema as plain code, for comparison.
fn fits(value: &Value) -> bool {
    value.as_object().is_some_and(|members| {
        let is_whole_number =
            |n: &Value| n.as_u64().is_some() || n.as_f64().is_some_and(|n| n >= 0.0 && n.fract() == 0.0);
        members.get("n").is_some_and(is_whole_number)
            && members.get("s").is_none_or(|s| s == "a" || s == "b")
            && members.keys().all(|name| name == "n" || name == "s")
    })
}

proptest! {
    #[test]
    fn invalid_arguments_never_reach_the_tool(value in arguments(), junk in "[{}\\[\\]\",:na1 ]{0,20}") {
        let echo = FakeTool::named("echo");
        let counts = echo.counts.clone();
        let calls = [call("1", "echo", &value.to_string()), call("2", "echo", &junk)];
        let executed = run(&registry(vec![echo]), &calls, &Limits::default());
        let junk_fits = serde_json::from_str(&junk).is_ok_and(|value| fits(&value));
        let expected = usize::from(fits(&value)) + usize::from(junk_fits);
        prop_assert_eq!(counts.calls.load(Ordering::Relaxed), expected);
        prop_assert_eq!(matches!(executed[0].outcome, ToolOutcome::ResultJson(_)), fits(&value));
    }
}

#[test]
fn timeout_is_capped_at_the_turns_remaining_time() {
    let limits = Limits::default();
    assert_eq!(limits.capped_at(Duration::from_secs(3)).timeout, Duration::from_secs(3));
    assert_eq!(limits.capped_at(Duration::from_secs(300)), limits);
}
