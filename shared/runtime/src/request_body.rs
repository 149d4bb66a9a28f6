//! Parses request bodies in the three supported encodings into one type.

use axum::{
    body::Bytes,
    extract::{FromRequest, Request, rejection::BytesRejection},
};
use contracts::{
    AgentExecuteRequest, Error, ErrorCode,
    encoding::{Encoding, multipart, text},
    read::SessionExport,
    request::{JsonRequest, parse_exports},
};
use http::{
    HeaderMap,
    header::{CONTENT_ENCODING, CONTENT_TYPE},
};

use crate::{
    Reply,
    form::{FormError, read_form},
    span,
};

/// A user turn or tool results, in any encoding.
#[derive(Debug)]
pub struct ExecuteBody(pub AgentExecuteRequest);

/// A body that must be JSON.
#[derive(Debug)]
pub struct JsonBody<T>(pub T);

/// Exported sessions: a JSON document, or JSON Lines.
#[derive(Debug)]
pub struct ImportBody(pub Vec<SessionExport>);

/// The media types of an import.
const EXPORT_MEDIA_TYPES: [&str; 3] = ["application/json", "application/jsonl", "application/x-ndjson"];

impl<S: Send + Sync> FromRequest<S> for ImportBody {
    type Rejection = Reply;

    async fn from_request(request: Request, state: &S) -> Result<Self, Reply> {
        let (headers, body) = read(request, state).await?;
        let announced = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let media_type = announced.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        if !body.is_empty() && !EXPORT_MEDIA_TYPES.contains(&media_type.as_str()) {
            let rule =
                format!("This path takes {}. Send the body as one of these.", EXPORT_MEDIA_TYPES.join(", "));
            return Err(Reply::error(
                Error::new(ErrorCode::UnsupportedMediaType, rule).with_details("Content-Type"),
            ));
        }
        parse_exports(&body).map(Self).map_err(Reply::errors)
    }
}

impl<S: Send + Sync> FromRequest<S> for ExecuteBody {
    type Rejection = Reply;

    async fn from_request(request: Request, state: &S) -> Result<Self, Reply> {
        let (headers, body) = read(request, state).await?;
        let read = match shape(&headers, &body)? {
            Encoding::Json => AgentExecuteRequest::parse(&body),
            Encoding::Text => {
                let headers = headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
                text::user_turn(headers, &body).map(AgentExecuteRequest::UserTurn)
            }
            Encoding::Multipart { boundary } => form(body.clone(), boundary).await,
        };
        let request = read.map_err(Reply::errors)?;
        span::record_turn(request.session_id(), request.turn_id());
        Ok(Self(request))
    }
}

impl<S: Send + Sync, T: JsonRequest> FromRequest<S> for JsonBody<T> {
    type Rejection = Reply;

    async fn from_request(request: Request, state: &S) -> Result<Self, Reply> {
        let (headers, body) = read(request, state).await?;
        let request = match shape(&headers, &body)? {
            Encoding::Json => T::parse(&body).map_err(Reply::errors)?,
            Encoding::Text | Encoding::Multipart { .. } => {
                let rule = "This path takes application/json alone. Send the body as that.";
                return Err(Reply::error(
                    Error::new(ErrorCode::UnsupportedMediaType, rule).with_details("Content-Type"),
                ));
            }
        };
        if let Some((session, turn)) = request.turn() {
            span::record_turn(session, turn);
        }
        Ok(Self(request))
    }
}

async fn read<S: Send + Sync>(request: Request, state: &S) -> Result<(HeaderMap, Bytes), Reply> {
    let headers = request.headers().clone();
    reject_content_encoding(&headers)?;
    match Bytes::from_request(request, state).await {
        Ok(body) => Ok((headers, body)),
        Err(BytesRejection::FailedToBufferBody(_)) | Err(_) => {
            Err(Reply::error(ErrorCode::PayloadTooLarge.into()))
        }
    }
}

/// Rejects compressed bodies, since nothing here decompresses them.
fn reject_content_encoding(headers: &HeaderMap) -> Result<(), Reply> {
    let packed = headers.get_all(CONTENT_ENCODING).iter().find(|coding| {
        let coding = coding.as_bytes().trim_ascii();
        !coding.is_empty() && !coding.eq_ignore_ascii_case(b"identity")
    });
    packed.map_or(Ok(()), |_| {
        let message =
            "Content-Encoding must be identity or left out: send the body as it is, not compressed.";
        Err(Reply::error(
            Error::new(ErrorCode::UnsupportedMediaType, message).with_details("Content-Encoding"),
        ))
    })
}

/// Returns the encoding that the headers announce. An empty body without a type counts as JSON, so that the client
/// hears about the missing body first.
fn shape<'a>(headers: &'a HeaderMap, body: &Bytes) -> Result<Encoding<'a>, Reply> {
    let announced = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if announced.is_none() && body.is_empty() {
        return Ok(Encoding::Json);
    }
    Encoding::from_content_type(announced).map_err(Reply::error)
}

async fn form(body: Bytes, boundary: &str) -> Result<AgentExecuteRequest, Vec<Error>> {
    let parts = read_form(body, boundary).await.map_err(|error| {
        let code = match error {
            FormError::Malformed => ErrorCode::BodyNotMultipart,
            FormError::TooManyParts => ErrorCode::MemberTooLarge,
        };
        vec![Error::new(code, error.to_string())]
    })?;
    let parts = parts.iter().map(|part| multipart::Part {
        name: &part.name,
        file_name: part.file_name.as_deref(),
        content_type: part.content_type.as_deref(),
        bytes: &part.bytes,
    });
    multipart::user_turn(parts).map(AgentExecuteRequest::UserTurn)
}
