//! What is known of a call after its exchange. The texts are for the model, and clients see them too (I14).

use agent::tool::remote::RemoteOutcome;
use egress::{Failure, Response};
use http::StatusCode;

use crate::{result_text, secrecy::Secrecy};

/// The most bytes of a target's message in a text.
pub(crate) const MAX_MESSAGE_BYTES: usize = 4_096;

/// The outcome of a call, and what it says of the target.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub(crate) outcome: RemoteOutcome,
    /// True if the target can't be reached, doesn't respond or fails.
    pub(crate) is_outage: bool,
}

/// An outcome that says nothing of the target.
impl From<RemoteOutcome> for Answer {
    fn from(outcome: RemoteOutcome) -> Self {
        Self { outcome, is_outage: false }
    }
}

/// A call of a connection whose breaker is open.
pub(crate) fn paused(connection: &str) -> RemoteOutcome {
    RemoteOutcome::NotSent(format!(
        "Nothing was sent: the connection {connection} has failed several times in a row, and is called again in a moment. \
         Continue without the tool, or try again later."
    ))
}

/// True if an exchange shows that the target is down.
pub(crate) fn is_outage(exchanged: &Result<Response, Failure>) -> bool {
    match exchanged {
        Ok(response) => response.status.is_server_error(),
        Err(failure) => matches!(failure, Failure::NotConnected(_) | Failure::Broken(_)),
    }
}

/// A stored tool that this version can't read.
pub(crate) fn unusable() -> RemoteOutcome {
    RemoteOutcome::NotSent("The tool is not usable. Continue without it.".to_owned())
}

/// Returns the outcome of an exchange.
///
/// A status of 2xx is the target's word that it performed the call, and one of 4xx that it didn't. Every other response
/// says nothing: a proxy may have given up on a target that still works.
pub(crate) fn of(exchanged: Result<Response, Failure>, tool: &str, secrecy: &Secrecy) -> RemoteOutcome {
    let response = match exchanged {
        Ok(response) => response,
        Err(failure) if failure.is_unsent() => {
            return RemoteOutcome::NotSent(format!(
                "Nothing was sent: {failure}. Continue without the tool, or try again later."
            ));
        }
        Err(failure) => {
            return RemoteOutcome::Unknown(format!("The outcome of the call isn't known: {failure}."));
        }
    };
    let status = response.status;
    let message = || {
        let text = secrecy.hide(&String::from_utf8_lossy(&response.body));
        match text.trim() {
            "" => ".".to_owned(),
            text => format!(": {}", agent::text::truncate(text.to_owned(), MAX_MESSAGE_BYTES)),
        }
    };
    let number = status.as_u16();
    match number {
        200..=299 => RemoteOutcome::Done(result_text::of(&response, tool, secrecy)),
        // A timeout, "too early" and a closed connection leave open how far the target got.
        408 | 425 | 499 => RemoteOutcome::Unknown(format!(
            "The outcome of the call isn't known. The target answered with status {number}{}",
            message()
        )),
        400..=499 => {
            RemoteOutcome::Refused(format!("The target refused the call with status {number}{}", message()))
        }
        _ if is_unfollowed(status) => RemoteOutcome::Refused(format!(
            "The target answered with a redirect ({number}), which isn't followed. An operator has to correct the URL."
        )),
        _ => RemoteOutcome::Unknown(format!(
            "The outcome of the call isn't known. The target answered with status {number}{}",
            message()
        )),
    }
}

/// True for a redirect that asks for the same request elsewhere. Others may follow a call that was performed.
fn is_unfollowed(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::MOVED_PERMANENTLY | StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
    )
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::HeaderMap;

    use super::*;

    fn outcome(status: u16, body: &str) -> RemoteOutcome {
        let body = Bytes::from(body.to_owned());
        let status = StatusCode::from_u16(status).unwrap();
        of(Ok(Response { status, headers: HeaderMap::new(), body }), "t", &Secrecy::of(Some("s3cret")))
    }

    #[test]
    fn status_says_what_is_known() {
        for status in [200, 201, 202, 204, 299] {
            assert!(matches!(outcome(status, "{}"), RemoteOutcome::Done(_)), "{status}");
        }
        for status in [400, 401, 403, 404, 409, 422, 429, 301, 307, 308] {
            assert!(matches!(outcome(status, ""), RemoteOutcome::Refused(_)), "{status}");
        }
        for status in [100, 302, 303, 304, 408, 425, 499, 500, 502, 503, 504, 599] {
            assert!(matches!(outcome(status, ""), RemoteOutcome::Unknown(_)), "{status}");
        }
    }

    #[test]
    fn failure_before_the_send_is_not_sent_and_after_it_unknown() {
        let none = Secrecy::of(None);
        for failure in
            [Failure::NotConnected("x"), Failure::NotAllowed, Failure::Refused(egress::Refusal::NotFound)]
        {
            assert!(matches!(of(Err(failure), "t", &none), RemoteOutcome::NotSent(_)));
        }
        assert!(matches!(of(Err(Failure::Broken("x")), "t", &none), RemoteOutcome::Unknown(_)));
    }

    #[test]
    fn message_of_the_target_is_bounded_and_has_no_secret() {
        let RemoteOutcome::Refused(text) = outcome(403, "bad key s3cret") else { panic!("not refused") };
        assert!(text.contains("bad key [secret]") && !text.contains("s3cret"), "{text}");
        let RemoteOutcome::Refused(text) = outcome(400, &"x".repeat(100_000)) else { panic!("not refused") };
        assert!(text.len() < MAX_MESSAGE_BYTES + 200, "{}", text.len());
    }
}
