//! AG-UI under `/v1/ag-ui`, as far as it changes something or follows a turn: the plain endpoint, and the routes of
//! CopilotKit's runtime.

use ag_ui_api::{
    error::ApiError,
    history::{self, History},
    http::{json, translate_errors, unknown},
    id,
    request::RunInput,
    run::{self, Run},
    stream::{RunFrame, RunTranslator, StepsReader, of_history, snapshots},
    thread::{self, Thread},
};
use axum::{
    Router,
    body::Bytes,
    extract::{Path, rejection::BytesRejection},
    middleware,
    response::{IntoResponse, Response},
    routing::{any, delete, post},
};
use contracts::read::StatusReason;
use fronts::{refused, replay, streamed};
use futures::{FutureExt, future::ready, stream::once};
use histories::{TurnRound, Turns};
use runtime::{refuse_conditions, stream::TextEvents};
use serde_json::json;
use service::app::{App, Invocation, cancel_turn};
use turns::{
    flow::{SessionOperation, StartConditions, change_session},
    ports::Deps,
    refusal::Refusal,
    stream::{self, ResponseStart, StartTimeouts},
    system::System,
};

use crate::openai::context::Context;

/// Returns the routes.
pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/v1/ag-ui", post(run_default))
        .route("/v1/ag-ui/agent/{agent}/run", post(run_agent))
        .route("/v1/ag-ui/agent/{agent}/connect", post(connect))
        .route("/v1/ag-ui/agent/{agent}/stop/{thread}", post(stop))
        .route("/v1/ag-ui/threads/{thread}", delete(delete_thread))
        .route("/v1/ag-ui/{*path}", any(unknown))
        .route_layer(middleware::from_fn(refuse_conditions))
        .layer(middleware::from_fn(translate_errors))
}

async fn run_default(context: Context, body: Result<Bytes, BytesRejection>) -> Result<Response, ApiError> {
    run(context, RunInput::parse(&body?, None)?).await
}

async fn run_agent(
    context: Context,
    Path(agent): Path<String>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    run(context, RunInput::parse(&body?, Some(&agent))?).await
}

/// Runs a turn, or resumes it with the results of the client's tools. A repeated run gets the turn of its first try.
async fn run(context: Context, input: RunInput) -> Result<Response, ApiError> {
    let thread = find(&context, &input.thread, &input.run).await?;
    let frame = frame(&input);
    match run::start(&context, &input, &thread).await? {
        Run::Started { id, start } => {
            let translator = RunTranslator::new(frame, id.clone(), String::new(), steps_of(&context, id));
            answer(&context, start, translator)
        }
        Run::Existing(turn) => {
            let has_part = input.messages.iter().any(|message| {
                id::turn_of_message(&message.id)
                    .is_some_and(|of| of.turn == turn.turn && of.round == turn.round)
            });
            // The client drops its part of the reply, which the stream brings again.
            let preamble = match has_part {
                true => snapshots(&read(&context, &turn, Some(&turn)).await?),
                false => String::new(),
            };
            let translator =
                RunTranslator::new(frame, turn.clone(), preamble, steps_of(&context, turn.clone()));
            attach(&context, turn, translator).await
        }
    }
}

/// Shows the history of a thread, and follows the turn that is running.
async fn connect(
    context: Context,
    Path(_): Path<String>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let input = RunInput::parse(&body?, None)?;
    let Thread { session, is_known, .. } = find(&context, &input.thread, &input.run).await?;
    let frame = frame(&input);
    if !is_known {
        return Ok(events(&context, of_history(&frame, None)));
    }
    let history = history::read(&context.app.reader, &context.caller, &session, None).await;
    let history = history.map_err(|refusal| refused::<ApiError>(&refusal))?;
    match history.running.clone() {
        None => Ok(events(&context, of_history(&frame, Some(&history)))),
        Some(turn) => {
            let steps = steps_of(&context, turn.clone());
            let translator = RunTranslator::new(frame, turn.clone(), snapshots(&history), steps);
            follow(&context, turn, translator).await
        }
    }
}

/// Cancels the turn of a thread.
async fn stop(context: Context, Path((_, thread)): Path<(String, String)>) -> Result<Response, ApiError> {
    let Thread { session, is_known, .. } = find(&context, &thread, "").await?;
    let turn =
        if is_known { context.last_turn(&session).await.map_err(|r| refused::<ApiError>(&r))? } else { None };
    let active = match turn.map(|turn| TurnRound::first(session, turn)) {
        None => None,
        Some(turn) => {
            let head = context.head(&turn).await.map_err(|refusal| refused::<ApiError>(&refusal))?;
            let is_active = |head: &turns::flow::TurnHead| {
                matches!(
                    head.status,
                    StatusReason::Running | StatusReason::WaitingForTools | StatusReason::WaitingForApproval
                )
            };
            head.filter(is_active).map(|_| turn)
        }
    };
    let Some(TurnRound { session, turn, .. }) = active else {
        let message = format!("No active run for thread '{thread}'.");
        return Ok(json(200, &json!({"stopped": false, "message": message})));
    };
    let invocation = Invocation { budget: context.budget, correlation: Some(context.correlation.0.clone()) };
    let cancelled = cancel_turn(&context.app.adapters, &context.caller, session, turn, &invocation).await;
    cancelled.map_err(|refusal| refused::<ApiError>(&refusal))?;
    let interrupt = json!({"type": "RUN_ERROR", "message": "Run stopped by user", "code": "STOPPED"});
    Ok(json(200, &json!({"stopped": true, "interrupt": interrupt})))
}

async fn delete_thread(context: Context, Path(thread): Path<String>) -> Result<Response, ApiError> {
    let Thread { session, is_known, .. } = find(&context, &thread, "").await?;
    if !is_known {
        return Err(thread::not_found(&thread));
    }
    let invocation = Invocation { budget: context.budget, correlation: Some(context.correlation.0.clone()) };
    let operation = SessionOperation::Delete(&invocation);
    let Context { app, caller, .. } = &context;
    let deleted = change_session(&app.adapters, app.session_policy, caller, &session, &operation).await;
    deleted.map_err(|refusal| refused::<ApiError>(&refusal))?;
    Ok(json(200, &json!({"threadId": thread, "deleted": true})))
}

async fn find(Context { app, caller, .. }: &Context, thread: &str, run: &str) -> Result<Thread, ApiError> {
    let found = thread::find(&app.reader, &app.id_keys, caller, (thread, run)).await;
    found.map_err(|refusal| refused(&refusal))
}

async fn read(context: &Context, turn: &TurnRound, until: Option<&TurnRound>) -> Result<History, ApiError> {
    let history = history::read(&context.app.reader, &context.caller, &turn.session, until).await;
    history.map_err(|refusal| refused(&refusal))
}

fn frame(input: &RunInput) -> RunFrame {
    RunFrame {
        thread: input.thread.clone(),
        run: input.run.clone(),
        parent_run: input.parent_run.clone(),
        version: input.version,
    }
}

/// Returns a reader of a turn's steps. A run without them lacks the details of server tools.
fn steps_of(Context { app, caller, .. }: &Context, turn: TurnRound) -> StepsReader {
    let (reader, caller) = (app.reader.clone(), caller.clone());
    Box::new(move || {
        let (reader, caller, turn) = (reader.clone(), caller.clone(), turn.clone());
        async move { history::steps(&reader, &caller, &turn).await.unwrap_or_default() }.boxed()
    })
}

fn answer<T>(
    context: &Context,
    start: ResponseStart<T>,
    translator: RunTranslator,
) -> Result<Response, ApiError>
where
    T: Future<Output = Result<agent::outcome::Response, Refusal>> + Send + 'static,
{
    streamed(start, translator, context.app.keep_alive).map_err(|refusal| refused(&refusal))
}

/// Shows a round of a turn from what is stored, or takes part in the turn that works on it.
async fn attach(context: &Context, turn: TurnRound, translator: RunTranslator) -> Result<Response, ApiError> {
    let snapshot = context.snapshot(&turn).await.map_err(|refusal| refused::<ApiError>(&refusal))?;
    if let Some(outcome) = history::outcome(&snapshot, turn.round) {
        return Ok(replay(translator, outcome, context.app.keep_alive));
    }
    // Its own request takes the turn over if its process died.
    match context.start(snapshot.request, StartConditions::default()).await {
        ResponseStart::Refused(Refusal::TurnInProgress { .. }) => follow(context, turn, translator).await,
        start => answer(context, start, translator),
    }
}

/// Follows a turn without working on it.
async fn follow(context: &Context, turn: TurnRound, translator: RunTranslator) -> Result<Response, ApiError> {
    let (writer, feed) = stream::open(true, None);
    let Context { app, caller, .. } = context.clone();
    let keep_alive = app.keep_alive;
    let reading = Box::pin(async move {
        let (clock, timing) = (System::new(), app.adapters.timing());
        app.reader.follow(&caller, turn.session, turn.turn, &writer, &clock, timing).await
    });
    let timeouts = StartTimeouts { streamed: keep_alive.heartbeat, buffered: keep_alive.whitespace_after };
    answer(context, feed.start(reading, timeouts).await, translator)
}

/// Returns a stream that is complete.
fn events(context: &Context, events: String) -> Response {
    TextEvents::new(once(ready(events)), context.app.keep_alive).into_response()
}
