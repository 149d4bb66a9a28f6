//! What came in place of a response: an error status, its advice, and the start of its body.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::Response;
use tokio::time::timeout;

use crate::failure::{self, Refused};
use crate::retry::Attempt;
use crate::retry::headers::Advice;
use crate::told::Told;
use crate::wire::error::ErrorObject;

/// An error body that takes longer is done without.
const ERROR_BODY: Duration = Duration::from_secs(5);

/// An error status and what came with it.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// The status.
    pub(crate) status: u16,
    /// The start of its body.
    pub(crate) body: Vec<u8>,
    advice: Advice,
    told: Told,
}

impl Refusal {
    /// Reads what there is, and no more than an error may have.
    pub(crate) async fn read(response: Response) -> Self {
        let status = response.status().as_u16();
        let advice = Advice::read(response.headers(), Timestamp::now());
        let told = Told::of_headers(response.headers());
        let body = timeout(ERROR_BODY, error_body(response)).await.unwrap_or_default();
        Self { status, body, advice, told }
    }

    /// The attempt that ended in it. `chained`: the request was to go on from a stored response.
    pub(crate) fn attempt(self, before: u32, chained: bool) -> Attempt {
        let Self { status, body, advice, told } = self;
        let said = ErrorObject::of_body(&body);
        let retry_after = advice.retry_after;
        let error = failure::of_refused(Refused { status, error: &said, retry_after, chained });
        Attempt {
            status: Some(status),
            advice,
            told: told.with(&said),
            ..Attempt::without_response(before, error)
        }
    }
}

/// The start of an error's body, as far as it comes.
async fn error_body(mut response: Response) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(piece)) = response.chunk().await {
        let room = failure::MOST_BODY - body.len();
        body.extend_from_slice(piece.get(..room).unwrap_or(&piece));
        if body.len() == failure::MOST_BODY {
            break;
        }
    }
    body
}
