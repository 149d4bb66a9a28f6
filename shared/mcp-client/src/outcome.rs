//! Outcomes of calls.

use std::time::Duration;

use crate::{
    message::{MAX_ERROR_TEXT, RpcError},
    reader::ReadError,
    result::CallResult,
    text::excerpt,
};

/// The outcome of a call.
#[derive(Debug)]
pub enum Outcome {
    /// The server performed the call. Its result may report a failure of the tool.
    Done(CallResult),
    /// The server refused the call and performed nothing.
    Refused(Refusal),
    /// The server didn't get the call.
    NotSent(NotSent),
    /// The call was sent and has no valid response: the server may have performed it, or may still do so.
    Unknown(Unknown),
}

/// A refusal of a server. Its text is for the model, with the server's message as data.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A status between 400 and 499.
    #[error("The server refused the call with status {status}{}", suffix(.message))]
    Status {
        /// The status.
        status: u16,
        /// The message of the error in the body.
        message: String,
    },
    /// An error of JSON-RPC that is found before a tool runs.
    #[error("The server refused the call with code {code}{}", suffix(.message))]
    Error {
        /// The code.
        code: i64,
        /// The server's message.
        message: String,
    },
    /// The server asks for input of a user before it performs the call.
    #[error(
        "The server asks for more input (`input_required`), which isn't supported. It performed nothing."
    )]
    InputRequired,
}

/// The reason why a call wasn't sent.
#[derive(Debug, thiserror::Error)]
pub enum NotSent {
    /// [`Observer::may_send`](crate::Observer::may_send) returned false.
    #[error("The call wasn't sent, because its turn may not send it any more.")]
    NotPermitted,
    /// The call can't be written.
    #[error("The call wasn't sent: {0}.")]
    Invalid(&'static str),
    /// No connection to the server.
    #[error("The call wasn't sent, because the server can't be reached.")]
    Connection(#[source] reqwest::Error),
    /// The server answered before it had the call.
    #[error("The call wasn't sent, because the server closed it with status {0}.")]
    Closed(u16),
    /// The time ran out before the connection was ready.
    #[error("The call wasn't sent, because no connection was ready within {0:?}.")]
    Timeout(Duration),
    /// The caller cancelled the call.
    #[error("The call wasn't sent, because it was cancelled.")]
    Cancelled,
}

/// The reason why it is unknown if a call was performed.
#[derive(Debug, thiserror::Error)]
pub enum Unknown {
    /// The connection broke after the call was sent.
    #[error("The connection broke before the server's response.")]
    Connection(#[source] reqwest::Error),
    /// No response in time.
    #[error("The server didn't respond within {0:?}.")]
    Timeout(Duration),
    /// The caller cancelled the call after it was sent.
    #[error("The call was cancelled after it was sent.")]
    Cancelled,
    /// A status that doesn't say that nothing was performed.
    #[error("The server failed with status {status}{}", suffix(.message))]
    Status {
        /// The status.
        status: u16,
        /// The message of the error in the body.
        message: String,
    },
    /// An error of JSON-RPC that a running tool can cause.
    #[error("The server failed with code {code}{}", suffix(.message))]
    Error {
        /// The code.
        code: i64,
        /// The server's message.
        message: String,
    },
    /// The response isn't whole and valid.
    #[error("The call was sent, and {0}.")]
    Read(#[from] ReadError),
}

/// Returns the end of a sentence that may quote a server.
fn suffix(message: &str) -> String {
    if message.is_empty() { ".".to_owned() } else { format!(": {message}") }
}

/// Returns the outcome of a call with an error of JSON-RPC. The refused codes are those of a request that is invalid
/// (-32600 to -32602), or that the transport rejects (-32020 to -32022).
pub(crate) fn of_error(error: &RpcError) -> Outcome {
    let (code, message) = (error.code, excerpt(&error.message, MAX_ERROR_TEXT));
    match code {
        -32602..=-32600 | -32022..=-32020 => Outcome::Refused(Refusal::Error { code, message }),
        _ => Outcome::Unknown(Unknown::Error { code, message }),
    }
}

/// Returns the outcome of a call with a status outside 200 to 299. A timeout (408), an early replay (425) and a closed
/// connection (499) are the words of a proxy, which doesn't know what the server behind it does.
pub(crate) fn of_status(status: u16, error: Option<&RpcError>) -> Outcome {
    let message = error.map(|error| excerpt(&error.message, MAX_ERROR_TEXT)).unwrap_or_default();
    match status {
        408 | 425 | 499 => Outcome::Unknown(Unknown::Status { status, message }),
        400..=499 => Outcome::Refused(Refusal::Status { status, message }),
        // These ask for the same request elsewhere, so nothing was performed. Others may follow a performed call.
        301 | 307 | 308 => {
            let message = "a redirect, which isn't followed. An operator has to correct the URL".to_owned();
            Outcome::Refused(Refusal::Status { status, message })
        }
        _ => Outcome::Unknown(Unknown::Status { status, message }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn codes_and_statuses_decide_between_refused_and_unknown() {
        let error = |code| RpcError { code, message: "no".to_owned(), data: Value::Null };
        for code in [-32600, -32601, -32602, -32020, -32021, -32022] {
            assert!(matches!(of_error(&error(code)), Outcome::Refused(_)), "{code}");
        }
        for code in [-32700, -32603, -32599, -32019, -32023, -32000, 0, 1, i64::MIN] {
            assert!(matches!(of_error(&error(code)), Outcome::Unknown(_)), "{code}");
        }
        for status in [400, 401, 403, 404, 405, 409, 413, 422, 429, 451, 301, 307, 308] {
            assert!(matches!(of_status(status, None), Outcome::Refused(_)), "{status}");
        }
        for status in [302, 303, 304, 408, 425, 499, 500, 502, 503, 504, 599] {
            assert!(matches!(of_status(status, None), Outcome::Unknown(_)), "{status}");
        }
    }

    #[test]
    fn messages_quote_the_server_visibly() {
        let error = RpcError { code: -32602, message: "no\u{202e}pe".to_owned(), data: Value::Null };
        let Outcome::Refused(refusal) = of_error(&error) else { panic!() };
        assert_eq!(refusal.to_string(), "The server refused the call with code -32602: no\\u{202e}pe");
        let Outcome::Unknown(unknown) = of_status(502, None) else { panic!() };
        assert_eq!(unknown.to_string(), "The server failed with status 502.");
    }
}
