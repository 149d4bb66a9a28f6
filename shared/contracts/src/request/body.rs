//! Bodies in JSON: size, syntax and validation, up to every violation.

use super::{
    json::{Json, ParseError},
    limits,
    violations::Violations,
};
use crate::{
    error::{Error, ErrorCode},
    id::{SessionId, TurnId},
};

/// A request that is accepted only as JSON.
pub trait JsonRequest: Sized {
    /// Parses the body.
    ///
    /// # Errors
    /// Every violation. Never empty.
    fn parse(body: &[u8]) -> Result<Self, Vec<Error>>;

    /// Returns the turn that the body names. None if the path names it, or if there is none.
    fn turn(&self) -> Option<(&SessionId, &TurnId)> {
        None
    }
}

/// Makes a type with a `parse` of its own a request.
macro_rules! json_request {
    ($type:ty) => {
        impl crate::request::JsonRequest for $type {
            fn parse(body: &[u8]) -> Result<Self, Vec<crate::error::Error>> {
                Self::parse(body)
            }
        }
    };
}

pub(super) use json_request;

/// Parses a body within the size limit.
pub(super) fn parse_body(body: &[u8]) -> Result<Json<'_>, Vec<Error>> {
    check_body_size(body.len())?;
    parse_json(body)
}

/// Rejects a body of more than [`limits::MAX_BODY_BYTES`].
pub(crate) fn check_body_size(bytes: usize) -> Result<(), Vec<Error>> {
    if bytes > limits::MAX_BODY_BYTES {
        let limit = limits::MAX_BODY_BYTES;
        return Err(vec![Error::new(
            ErrorCode::PayloadTooLarge,
            format!("The body has {bytes} bytes, at most {limit} (4 MiB) are allowed"),
        )]);
    }
    Ok(())
}

/// Parses a text of any size.
pub(super) fn parse_json(body: &[u8]) -> Result<Json<'_>, Vec<Error>> {
    Json::parse(body).map_err(|why| {
        let code = match why {
            ParseError::Empty => ErrorCode::BodyMissing,
            ParseError::TooDeep | ParseError::TooMany => ErrorCode::MemberTooLarge,
            ParseError::ByteOrderMark | ParseError::NotUtf8(_) | ParseError::NotJson(_) => {
                ErrorCode::BodyNotJson
            }
        };
        vec![Error::new(code, format!("The body {why}"))]
    })
}

/// Validates a tree with a reader. Returns the value only if there are no violations.
pub(crate) fn validate<T>(
    json: &Json<'_>,
    read: fn(&Json<'_>, &mut Violations) -> Option<T>,
) -> Result<T, Vec<Error>> {
    let mut violations = Violations::default();
    match read(json, &mut violations) {
        Some(value) if violations.is_clean() => Ok(value),
        // No value and no violation: a bug of the service.
        _ if violations.is_clean() => Err(vec![Error::from(ErrorCode::Internal)]),
        _ => Err(violations.into_errors()),
    }
}
