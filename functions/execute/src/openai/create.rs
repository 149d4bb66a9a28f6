//! `POST /v1/responses`: runs a turn, or resumes one with the outputs of its functions.

use axum::{
    body::Bytes,
    extract::rejection::BytesRejection,
    http::{HeaderMap, Uri},
    response::Response,
};
use contracts::{id::SessionId, request::ChatMessage};
use futures::{TryFutureExt, future::try_join};
use histories::{Chat, Hint, Started, Step, resume_chat, start_next};
use openai_api::{
    delivery::{Form, deliver, in_background, refused},
    error::ApiError,
    rate_limits::with_rate_limits,
    request::{CreateResponse, Input, Parent},
    response::Frame,
    retry::IDEMPOTENCY_KEY,
    snapshot,
    start::{resume, retry_count, start_response},
};
use service::respond::Work;
use turns::stream::ResponseStart;

use super::{
    context::Context,
    conversations::{self, PendingItems},
    file_search, files, without_query,
};

pub(super) async fn create(
    mut context: Context,
    uri: Uri,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    without_query(&uri)?;
    let body = body?;
    let (mut parsed, mut taken_over) = (context.body(&body).await?, None);
    if let Some(session) = parsed.conversation() {
        let Context { app, caller, .. } = &context;
        let read = app.reader.start_read(caller, &session).map_err(|refusal| refused(&refusal));
        let pending = conversations::pending(app, caller, session.clone());
        let (mut pending, read) = try_join(pending, read).await?;
        context.read = read;
        parsed = parsed.with_earlier_items(std::mem::take(&mut pending.input));
        taken_over = Some((session, pending));
    }
    let request = CreateResponse::parse(&parsed)?;
    if let Some(search) = &request.file_search {
        context.scope = file_search::scope(&context, search).await?;
    }
    let (rate_limits, now) = (context.rate_limits.clone(), context.now);
    let response = run(context, &request, &headers, &body, taken_over).await;
    Ok(request.ignored.warn(with_rate_limits(response, rate_limits.get(), now)))
}

/// Runs the turn of a request, or resumes it.
async fn run(
    context: Context,
    request: &CreateResponse,
    headers: &HeaderMap,
    body: &[u8],
    taken_over: Option<(SessionId, PendingItems)>,
) -> Result<Response, ApiError> {
    context.admit(&request.ignored).await?;
    match &request.input {
        Input::Outputs(outputs, message) => {
            let results = (outputs.as_slice(), message.as_ref());
            let resumed = resume(&context, &request.parent, results, request.options.unstored).await?;
            let mut frame = snapshot::frame(resumed.id, &resumed.snapshot);
            frame.completed_at = None;
            answer(&context, resumed.started, (frame, ""), request).await
        }
        Input::Chat(messages, hints) => chat(context, request, (messages, hints), headers, body).await,
        Input::Message(message) => {
            let message = files::with_contents(&context.app, &context.caller, context.now, message).await?;
            let (ids, started) = start_response(&context, (request, &message), headers, body).await?;
            if let Some((session, pending)) = taken_over
                && !matches!(started, ResponseStart::Refused(_))
            {
                pending.remove(&context.app, &context.caller, session).await?;
            }
            let frame = Frame::new(ids, context.created(), &request.options.repeated, "");
            answer(&context, started, (frame, &message.text), request).await
        }
    }
}

/// Runs the turn of a request that brings its chat, or resumes it.
async fn chat(
    context: Context,
    request: &CreateResponse,
    (messages, hints): (&[ChatMessage], &[Hint]),
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Response, ApiError> {
    let is_retry = retry_count(headers)?.is_some_and(|count| count > 0);
    let chat = request.chat(messages, hints, is_retry);
    let next = match resume_chat(&context, &chat).await? {
        Step::Resumed(resumed) => {
            let Started { id, resumed, start } = *resumed;
            let mut frame = match &resumed {
                Some(snapshot) => snapshot::frame(id.into(), snapshot),
                None => Frame::new(id.into(), context.created(), &request.options.repeated, ""),
            };
            frame.completed_at = None;
            return answer(&context, start, (frame, ""), request).await;
        }
        Step::Next(next) => next,
    };
    let parent = next.previous.clone().map_or(Parent::None, |previous| Parent::Response(previous.into()));
    let mut request = request.clone().after(parent);
    let query = next.message.text.clone();
    // A named request finds its turn by its name, any other by its messages.
    let (ids, started) = match headers.contains_key(IDEMPOTENCY_KEY) {
        true => {
            request.ancestry = next.ancestry;
            start_response(&context, (&request, &next.message), headers, body).await?
        }
        false => {
            let chat = Chat { options: request.options.clone(), ..chat };
            let Started { id, start, .. } = start_next(&context, &chat, next).await?;
            (id.into(), start)
        }
    };
    let frame = Frame::new(ids, context.created(), &request.options.repeated, "");
    answer(&context, started, (frame, &query), &request).await
}

/// Answers a request whose turn was started, as it asks for. Beside the frame is the text that a new turn searches for.
async fn answer(
    context: &Context,
    started: ResponseStart<Work>,
    (frame, query): (Frame, &str),
    request: &CreateResponse,
) -> Result<Response, ApiError> {
    let frame = match frame.has_search() {
        true => {
            let passages = file_search::passages(context, &frame.id);
            frame.with_search(query, request.includes_results, passages)
        }
        false => frame,
    };
    if request.background && !request.stream {
        return in_background(started, frame).await;
    }
    deliver(started, Form::Response(frame), request.stream, context.app.keep_alive).await
}
