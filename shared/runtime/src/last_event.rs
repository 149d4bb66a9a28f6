//! Extracts the `Last-Event-ID` header, with which a client resumes a stream.

use axum::extract::FromRequestParts;
use contracts::{
    Error, ErrorCode,
    stream::{EventId, InvalidEventId},
};
use http::{HeaderMap, HeaderName, request::Parts};

use crate::Reply;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The last event that the client has received. `None` on its first connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastEventId(pub Option<EventId>);

impl<S: Send + Sync> FromRequestParts<S> for LastEventId {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Reply> {
        parse_last_event_id(&parts.headers).map(Self).map_err(|rule| {
            let message = format!(
                "Last-Event-ID: {rule}. Send the id of the last event that you have, or leave the header out."
            );
            Reply::error(Error::new(ErrorCode::ParameterInvalid, message).with_details("Last-Event-ID"))
        })
    }
}

/// Clients that have no id yet send an empty one.
fn parse_last_event_id(headers: &HeaderMap) -> Result<Option<EventId>, InvalidEventId> {
    let Some(value) = headers.get(LAST_EVENT_ID).filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    value.to_str().map_err(|_| InvalidEventId)?.parse().map(Some)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn read(value: &'static [u8]) -> Result<Option<u64>, InvalidEventId> {
        let headers = HeaderMap::from_iter([(LAST_EVENT_ID, HeaderValue::from_bytes(value).unwrap())]);
        parse_last_event_id(&headers).map(|id| id.map(EventId::get))
    }

    #[test]
    fn invalid_last_event_id_is_rejected() {
        assert_eq!(parse_last_event_id(&HeaderMap::new()), Ok(None));
        assert_eq!((read(b""), read(b"0"), read(b"17")), (Ok(None), Ok(Some(0)), Ok(Some(17))));
        assert_eq!(read(b"9007199254740991"), Ok(Some(9_007_199_254_740_991)));
        for wrong in
            [b"x" as &[u8], b"-1", b"1.5", b"9007199254740992", b"99999999999999999999", b"\xff", b"1 2"]
        {
            assert_eq!(read(wrong), Err(InvalidEventId), "{wrong:?}");
        }
    }
}
