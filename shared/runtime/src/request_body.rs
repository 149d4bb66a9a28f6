//! Requests in the three calling shapes, normalized into one value (DD-001).

use axum::{
    body::Bytes,
    extract::{FromRequest, Request, rejection::BytesRejection},
};
use contracts::{
    AgentExecuteRequest, Error, ErrorCode, ToolContinuation,
    read::SessionExport,
    request::{FeedbackRequest, ForkRequest, RerunRequest, SessionEdit, exports, limits::MAX_FORM_PARTS},
    shape::{Shape, multipart, text},
};
use futures::stream;
use http::{
    HeaderMap,
    header::{CONTENT_ENCODING, CONTENT_TYPE},
};

use crate::{Reply, span};

/// A request of either scenario, in any shape.
#[derive(Debug)]
pub struct ExecuteBody(pub AgentExecuteRequest);

/// A body that has one shape: JSON.
#[derive(Debug)]
pub struct JsonBody<T>(pub T);

/// Exported sessions: a document, or one a line.
#[derive(Debug)]
pub struct Exports(pub Vec<SessionExport>);

/// The media types that exports come with.
const OF_EXPORTS: [&str; 3] = ["application/json", "application/jsonl", "application/x-ndjson"];

/// What is sent as JSON alone.
pub trait InJson: Sized {
    /// Reads it.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    fn parse(body: &[u8]) -> Result<Self, Vec<Error>>;
    /// Tells the request's span what it is about, where the path doesn't say.
    fn note(&self);
}

impl InJson for ToolContinuation {
    fn parse(body: &[u8]) -> Result<Self, Vec<Error>> {
        Self::parse(body)
    }

    fn note(&self) {
        span::about_turn(&self.session_id, &self.turn_id);
    }
}

impl InJson for RerunRequest {
    fn parse(body: &[u8]) -> Result<Self, Vec<Error>> {
        Self::parse(body)
    }

    fn note(&self) {}
}

impl InJson for FeedbackRequest {
    fn parse(body: &[u8]) -> Result<Self, Vec<Error>> {
        Self::parse(body)
    }

    fn note(&self) {}
}

impl InJson for SessionEdit {
    fn parse(body: &[u8]) -> Result<Self, Vec<Error>> {
        Self::parse(body)
    }

    fn note(&self) {}
}

impl InJson for ForkRequest {
    fn parse(body: &[u8]) -> Result<Self, Vec<Error>> {
        Self::parse(body)
    }

    fn note(&self) {}
}

impl<S: Send + Sync> FromRequest<S> for Exports {
    type Rejection = Reply;

    async fn from_request(request: Request, state: &S) -> Result<Self, Reply> {
        let (headers, body) = read(request, state).await?;
        let announced = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let media_type = announced.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        if !body.is_empty() && !OF_EXPORTS.contains(&media_type.as_str()) {
            let rule = format!("This path takes {}. Send the body as one of these.", OF_EXPORTS.join(", "));
            return Err(Reply::error(
                Error::new(ErrorCode::UnsupportedMediaType, rule).with_details("Content-Type"),
            ));
        }
        exports(&body).map(Self).map_err(Reply::errors)
    }
}

impl<S: Send + Sync> FromRequest<S> for ExecuteBody {
    type Rejection = Reply;

    async fn from_request(request: Request, state: &S) -> Result<Self, Reply> {
        let (headers, body) = read(request, state).await?;
        let read = match shape(&headers, &body)? {
            Shape::Json => AgentExecuteRequest::parse(&body),
            Shape::Text => {
                let headers = headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
                text::user_turn(headers, &body).map(AgentExecuteRequest::UserTurn)
            }
            Shape::Multipart { boundary } => form(body.clone(), boundary).await,
        };
        let request = read.map_err(Reply::errors)?;
        span::about_turn(request.session_id(), request.turn_id());
        Ok(Self(request))
    }
}

impl<S: Send + Sync, T: InJson> FromRequest<S> for JsonBody<T> {
    type Rejection = Reply;

    async fn from_request(request: Request, state: &S) -> Result<Self, Reply> {
        let (headers, body) = read(request, state).await?;
        let asked = match shape(&headers, &body)? {
            Shape::Json => T::parse(&body).map_err(Reply::errors)?,
            Shape::Text | Shape::Multipart { .. } => {
                let rule = "This path takes application/json alone. Send the body as that.";
                return Err(Reply::error(
                    Error::new(ErrorCode::UnsupportedMediaType, rule).with_details("Content-Type"),
                ));
            }
        };
        asked.note();
        Ok(Self(asked))
    }
}

async fn read<S: Send + Sync>(request: Request, state: &S) -> Result<(HeaderMap, Bytes), Reply> {
    let headers = request.headers().clone();
    as_it_is(&headers)?;
    match Bytes::from_request(request, state).await {
        Ok(body) => Ok((headers, body)),
        Err(BytesRejection::FailedToBufferBody(_)) | Err(_) => {
            Err(Reply::error(ErrorCode::PayloadTooLarge.into()))
        }
    }
}

/// Nothing here unpacks bodies, so one that was packed is refused before it is taken for something else.
fn as_it_is(headers: &HeaderMap) -> Result<(), Reply> {
    let packed = headers.get_all(CONTENT_ENCODING).iter().find(|coding| {
        let coding = coding.to_str().unwrap_or_default().trim();
        !coding.is_empty() && !coding.eq_ignore_ascii_case("identity")
    });
    packed.map_or(Ok(()), |_| {
        let message =
            "Content-Encoding must be identity or left out: send the body as it is, not compressed.";
        Err(Reply::error(
            Error::new(ErrorCode::UnsupportedMediaType, message).with_details("Content-Encoding"),
        ))
    })
}

/// The announced shape. Whoever sends nothing at all is told that first, whatever the type.
fn shape<'a>(headers: &'a HeaderMap, body: &Bytes) -> Result<Shape<'a>, Reply> {
    let announced = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if announced.is_none() && body.is_empty() {
        return Ok(Shape::Json);
    }
    Shape::of_content_type(announced).map_err(Reply::error)
}

/// One part of a form, read whole.
struct Read {
    name: String,
    file_name: Option<String>,
    content_type: Option<String>,
    bytes: Bytes,
}

async fn form(body: Bytes, boundary: &str) -> Result<AgentExecuteRequest, Vec<Error>> {
    let whole = stream::once(async { Ok::<_, std::convert::Infallible>(body) });
    let mut form = multer::Multipart::new(whole, boundary);
    let mut parts = Vec::new();
    while let Some(part) = form.next_field().await.map_err(|_| malformed())? {
        if parts.len() == MAX_FORM_PARTS {
            let message = format!("The form has more than {MAX_FORM_PARTS} parts");
            return Err(vec![Error::new(ErrorCode::MemberTooLarge, message)]);
        }
        parts.push(Read {
            name: part.name().unwrap_or_default().to_owned(),
            file_name: part.file_name().map(str::to_owned),
            content_type: part.content_type().map(ToString::to_string),
            bytes: part.bytes().await.map_err(|_| malformed())?,
        });
    }
    let parts = parts.iter().map(|part| multipart::Part {
        name: &part.name,
        file_name: part.file_name.as_deref(),
        content_type: part.content_type.as_deref(),
        bytes: &part.bytes,
    });
    multipart::user_turn(parts).map(AgentExecuteRequest::UserTurn)
}

fn malformed() -> Vec<Error> {
    vec![Error::new(
        ErrorCode::BodyNotMultipart,
        "The body is not the multipart form that its Content-Type announces",
    )]
}
