//! Starts and resumes the turn of a request: where it begins, what it continues from, and whether it is a repetition.
//!
//! A request of OpenAI's APIs names no turn, so the decisions are made here, on what [`Turns`] reads: a new session, the
//! session of the previous response, or a fork of it. The function gives the port to the turns.

mod repetition;
mod resumption;
mod turn;

use contracts::{Error, ErrorCode};
use turns::stream::ResponseStart;

use crate::{error::ApiError, id::ResponseId};

pub use histories::Turns;
pub use repetition::{retry_count, start_response};
pub use resumption::{Resumed, no_calls, resume};

/// A response and the start of its turn.
pub type Started<W> = (ResponseId, ResponseStart<W>);

fn internal() -> ApiError {
    Error::from(ErrorCode::Internal).into()
}
