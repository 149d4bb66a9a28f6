//! `POST /v1/responses`: runs a turn, or resumes one with the outputs of its functions.

use axum::{
    body::Bytes,
    extract::{State, rejection::BytesRejection},
    http::{HeaderMap, Uri},
    response::Response,
};
use openai_api::{
    delivery::{Form, deliver},
    error::ApiError,
    request::{CreateResponse, Input},
    response::Frame,
    snapshot,
};
use runtime::{AuthenticatedCaller, Correlation, api::RemainingTime};
use service::app::App;

use super::{context::Context, retry, start::Start, without_query};

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
    match &request.input {
        Input::Outputs(outputs) => {
            let form = |id, turn: &_| {
                let mut frame = snapshot::frame(id, turn);
                frame.completed_at = None;
                Form::Response(frame)
            };
            context.resume(&request.parent, outputs, request.stream, form).await
        }
        Input::Message(message) => {
            let start = Start { context: &context, request: &request, message };
            let (ids, started) = retry::start(&start, &headers, &body).await?;
            let frame = Frame::new(ids, context.created(), &request.options.repeated, "");
            deliver(started, Form::Response(frame), request.stream, context.app.keep_alive).await
        }
    }
}
