//! `POST /v1/responses`: runs a turn, or resumes one with the outputs of its functions.

use axum::{
    body::Bytes,
    extract::{State, rejection::BytesRejection},
    http::{HeaderMap, Uri},
    response::Response,
};
use openai_api::{
    delivery::{Form, deliver, in_background},
    error::ApiError,
    rate_limits::with_rate_limits,
    request::{CreateResponse, Input},
    response::Frame,
    snapshot,
    start::{resume, start_response},
};
use runtime::{AuthenticatedCaller, Correlation, api::RemainingTime};
use service::{app::App, respond::Work};
use turns::stream::ResponseStart;

use super::{context::Context, files, without_query};

pub(super) async fn create(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    correlation: Correlation,
    RemainingTime(budget): RemainingTime,
    uri: Uri,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    without_query(&uri)?;
    let body = body?;
    let request = CreateResponse::parse(&body)?;
    let context = Context::new(app, caller, correlation, budget);
    let (rate_limits, now) = (context.rate_limits.clone(), context.now);
    let response = run(context, &request, &headers, &body).await;
    Ok(with_rate_limits(response, rate_limits.get(), now))
}

/// Runs the turn of a request, or resumes it.
async fn run(
    context: Context,
    request: &CreateResponse,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Response, ApiError> {
    match &request.input {
        Input::Outputs(outputs) => {
            let resumed = resume(&context, &request.parent, outputs).await?;
            let mut frame = snapshot::frame(resumed.id, &resumed.snapshot);
            frame.completed_at = None;
            answer(&context.app, resumed.started, frame, request).await
        }
        Input::Message(message) => {
            let message = files::with_contents(&context, message).await?;
            let (ids, started) = start_response(&context, (request, &message), headers, body).await?;
            let frame = Frame::new(ids, context.created(), &request.options.repeated, "");
            answer(&context.app, started, frame, request).await
        }
    }
}

/// Answers a request whose turn was started, as it asks for.
async fn answer(
    app: &App,
    started: ResponseStart<Work>,
    frame: Frame,
    request: &CreateResponse,
) -> Result<Response, ApiError> {
    if request.background && !request.stream {
        return in_background(started, frame).await;
    }
    deliver(started, Form::Response(frame), request.stream, app.keep_alive).await
}
