//! Preconditions of writes: `If-Match` and `If-None-Match` (RFC 9110 §13.1). A write honours them or refuses them, since
//! a client that sends one relies on it.

use axum::{
    extract::{FromRequestParts, Request},
    middleware::Next,
    response::{IntoResponse, Response},
};
use contracts::{Error, ErrorCode};
use http::{
    HeaderMap, HeaderName,
    header::{IF_MATCH, IF_NONE_MATCH},
    request::Parts,
};

use crate::Reply;

/// The precondition of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteCondition {
    /// Neither header is present.
    None,
    /// `If-None-Match: *`: the resource doesn't exist.
    Absent,
    /// `If-Match: *`: the resource exists.
    Present,
    /// `If-Match`: the resource has one of these entity tags, which are given without quotes. Weak tags are left out, since
    /// they never match here.
    Matches(Vec<String>),
}

impl<S: Send + Sync> FromRequestParts<S> for WriteCondition {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Reply> {
        Self::read(&parts.headers)
    }
}

impl WriteCondition {
    fn read(headers: &HeaderMap) -> Result<Self, Reply> {
        match (tags(headers, IF_MATCH)?.as_deref(), tags(headers, IF_NONE_MATCH)?.as_deref()) {
            (None, None) => Ok(Self::None),
            (Some(_), Some(_)) => {
                Err(refused("If-None-Match", "can't be combined with If-Match. Send one of them"))
            }
            (None, Some(["*"])) => Ok(Self::Absent),
            (None, Some(_)) => Err(refused("If-None-Match", "must be * on a write")),
            (Some(["*"]), None) => Ok(Self::Present),
            (Some(tags), None) if tags.contains(&"*") => {
                Err(refused("If-Match", "must be * alone, or entity tags"))
            }
            (Some(tags), None) => {
                let strong = tags.iter().filter(|tag| !tag.starts_with("W/"));
                Ok(Self::Matches(strong.map(|tag| tag.trim_matches('"').to_owned()).collect()))
            }
        }
    }
}

/// Returns the members of a header. `None` if the request doesn't have it.
///
/// # Errors
/// If the header is empty or no text: without its condition the write could lose a change.
fn tags(headers: &HeaderMap, name: HeaderName) -> Result<Option<Vec<&str>>, Reply> {
    if !headers.contains_key(&name) {
        return Ok(None);
    }
    let values: Result<Vec<&str>, _> = headers.get_all(&name).iter().map(|value| value.to_str()).collect();
    let tags: Vec<&str> = values.unwrap_or_default().into_iter().flat_map(|value| value.split(',')).collect();
    let tags: Vec<&str> = tags.into_iter().map(str::trim).filter(|tag| !tag.is_empty()).collect();
    if tags.is_empty() {
        Err(refused(header_name(&name), "must be * or entity tags"))
    } else {
        Ok(Some(tags))
    }
}

/// Refuses a write with a precondition, for routes that don't evaluate it.
pub async fn refuse_conditions(request: Request, next: Next) -> Response {
    let present = [IF_MATCH, IF_NONE_MATCH].into_iter().find(|name| request.headers().contains_key(name));
    match present {
        Some(name) => {
            refused(header_name(&name), "isn't supported by this operation. Omit it").into_response()
        }
        None => next.run(request).await,
    }
}

fn header_name(name: &HeaderName) -> &'static str {
    if *name == IF_MATCH { "If-Match" } else { "If-None-Match" }
}

fn refused(header: &str, rule: &str) -> Reply {
    let message = format!("{header} {rule}.");
    Reply::error(Error::new(ErrorCode::ParameterInvalid, message).with_details(header))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn read(lines: &[(HeaderName, &[u8])]) -> Option<WriteCondition> {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(name, HeaderValue::from_bytes(value).unwrap());
        }
        WriteCondition::read(&headers).ok()
    }

    #[test]
    fn condition_has_strong_tags_of_all_lines() {
        assert_eq!(read(&[]), Some(WriteCondition::None));
        assert_eq!(read(&[(IF_MATCH, b" * ")]), Some(WriteCondition::Present));
        assert_eq!(read(&[(IF_NONE_MATCH, b"*")]), Some(WriteCondition::Absent));
        let tags = read(&[(IF_MATCH, b"\"a\", W/\"b\" ,\"c\""), (IF_MATCH, b"d")]);
        assert_eq!(tags, Some(WriteCondition::Matches(["a", "c", "d"].map(str::to_owned).into())));
        assert_eq!(read(&[(IF_MATCH, b"W/\"a\"")]), Some(WriteCondition::Matches(Vec::new())));
    }

    #[test]
    fn condition_without_a_meaning_is_refused() {
        let refused: [&[(HeaderName, &[u8])]; 7] = [
            &[(IF_MATCH, b"")],
            &[(IF_MATCH, b" , ")],
            &[(IF_MATCH, b"\xff")],
            &[(IF_MATCH, b"*, \"a\"")],
            &[(IF_NONE_MATCH, b"\"a\"")],
            &[(IF_NONE_MATCH, b"")],
            &[(IF_MATCH, b"*"), (IF_NONE_MATCH, b"*")],
        ];
        for lines in refused {
            assert_eq!(read(lines), None, "{lines:?}");
        }
    }
}
