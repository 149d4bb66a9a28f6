//! Names what went wrong: from an HTTP status and its error body, or from a failed stream, to the
//! port's [`Error`].
//!
//! Pure. A code tells most, then the parameter at fault, then the words, which are compared with known phrases
//! and go nowhere else (I14), then the type, then the status.

use std::time::Duration;

use agent::model::Error;

use crate::wire::error::ErrorObject;
use crate::wire::event::IncompleteDetails;

mod code;
mod words;

/// What an error body may have; a longer one is read no further.
pub const MOST_BODY: usize = 64 << 10;

/// Parameters that hold an image or a file.
const ATTACHED: [&str; 4] = ["image_url", "file_data", "filename", "file_url"];

/// What was answered in place of a response.
#[derive(Debug, Clone, Copy)]
pub struct Refused<'a> {
    /// The HTTP status.
    pub status: u16,
    /// What the body says.
    pub error: &'a ErrorObject,
    /// What the headers ask for.
    pub retry_after: Option<Duration>,
    /// Whether the request was to go on from a stored response.
    pub chained: bool,
}

/// The error that a refusal stands for. Of a chained request, whatever is not about something else is about the
/// chain: servers that keep none say so in every way there is, and a request that tells all itself is the cure.
pub fn of_refused(refused: Refused<'_>) -> Error {
    let Refused { status, error, retry_after, chained } = refused;
    let named = match status {
        401 | 402 | 408 | 409 | 429 => of_code(error, retry_after),
        403 if error.moderated => Some(Error::ContentFiltered),
        _ => of_object(error, retry_after),
    };
    match named.unwrap_or_else(|| code::of_status(status, retry_after)) {
        // The request is the chain's only in a request that goes on from one.
        Error::ChainLost if !chained => Error::Rejected { status },
        Error::Rejected { .. } if status == 404 && error.param.as_deref() == Some("model") => {
            Error::ModelNotFound
        }
        Error::Rejected { .. } if chained && (400..500).contains(&status) => Error::ChainLost,
        Error::Rejected { .. } => Error::Rejected { status },
        named => named,
    }
}

/// The error that `response.failed` or a bare `error` event stands for.
pub fn of_failed(error: Option<&ErrorObject>) -> Error {
    let named = error.and_then(|error| of_object(error, None));
    named.unwrap_or(Error::UNAVAILABLE)
}

/// The error that `response.incomplete` stands for.
pub fn of_incomplete(details: Option<&IncompleteDetails>) -> Error {
    match details.and_then(|details| details.reason.as_deref()) {
        Some("content_filter") => Error::ContentFiltered,
        _ => Error::Incomplete,
    }
}

/// What the error says of itself, in the order of how much each member tells.
fn of_object(error: &ErrorObject, retry_after: Option<Duration>) -> Option<Error> {
    let code = error.code.as_deref().and_then(|code| code::of_code(code, retry_after));
    let words = || error.message.as_deref().and_then(words::of_words);
    let kind = || error.kind.as_deref().and_then(|kind| code::of_code(kind, retry_after));
    let model =
        || error.message.as_deref().is_some_and(words::of_unknown_model).then_some(Error::ModelNotFound);
    // Some say so of any request that they don't take, the published API of what its policy forbids: the words
    // have to tell which, and if they don't, it is the former.
    let prompt =
        || (error.code.as_deref() == Some("invalid_prompt")).then_some(Error::Rejected { status: 400 });
    code.or_else(|| of_param(error)).or_else(words).or_else(kind).or_else(model).or_else(prompt)
}

/// The code and the type alone, where words would be about limits and not about the input.
fn of_code(error: &ErrorObject, retry_after: Option<Duration>) -> Option<Error> {
    let said = [&error.code, &error.kind].into_iter().flatten();
    said.filter_map(|said| code::of_code(said, retry_after)).next()
}

/// Whatever a provider has against the previous response, the chain can't go on from it: it is unknown,
/// expired, or may not be used by this account.
fn of_param(error: &ErrorObject) -> Option<Error> {
    let param = error.param.as_deref()?;
    match param {
        "previous_response_id" | "response_id" => Some(Error::ChainLost),
        _ => ATTACHED.iter().any(|attached| param.ends_with(attached)).then_some(Error::AttachmentRefused),
    }
}

#[cfg(test)]
mod tests;
