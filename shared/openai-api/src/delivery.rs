//! The forms in which a client gets the response of a turn: of either protocol, in one piece or as a stream.

use agent::outcome;
use axum::response::Response;
use contracts::stream::Event;
use fronts::{begun, live};
use runtime::stream::KeepAlive;
use serde_json::Value;
use turns::{
    refusal::Refusal,
    stream::{Events, ResponseStart},
};

pub use crate::error::refused;
use crate::{
    chat::{ChatTranslator, Completion},
    error::ApiError,
    http,
    response::{Frame, Outcome, Status},
    stream::{StreamEvent, Translator},
};

pub use fronts::deliver;

/// The form in which a client gets the response of a turn.
#[derive(Debug, Clone)]
pub enum Form {
    /// A `response` object, or its events.
    Response(Frame),
    /// A `chat.completion` object, or its chunks.
    Chat {
        /// The members of the completion besides its outcome.
        completion: Completion,
        /// True if a stream ends with the usage.
        include_usage: bool,
    },
}

/// Returns a response whose turn was started, without waiting for its end. The turn continues in the background.
///
/// # Errors
/// If the request was refused, or the turn has failed already.
pub async fn in_background<F>(start: ResponseStart<F>, frame: Frame) -> Result<Response, ApiError>
where
    F: Future<Output = Result<outcome::Response, Refusal>> + Send + 'static,
{
    let object = match begun(start).await.map_err(|refusal| refused(&refusal))? {
        Some(outcome) => {
            let mut form = Form::Response(frame);
            fronts::Form::load(&mut form).await;
            fronts::Form::whole(&form, &outcome)?
        }
        None => frame.in_progress(),
    };
    Ok(http::json(200, &object))
}

impl fronts::Form for Form {
    type Error = ApiError;
    type Translator = AnyTranslator;

    fn translator(self) -> AnyTranslator {
        match self {
            Self::Response(frame) => AnyTranslator::Response(Box::new(Translator::new(frame, None))),
            Self::Chat { completion, include_usage } => {
                AnyTranslator::Chat(ChatTranslator::new(completion, include_usage))
            }
        }
    }

    async fn load(&mut self) {
        if let Self::Response(frame) = self {
            frame.load_search().await;
        }
    }

    /// Returns the whole response. Fails if its turn failed; a cancelled turn and an incomplete answer are responses.
    fn whole(&self, outcome: &Outcome) -> Result<Value, ApiError> {
        match (self, outcome) {
            (Self::Response(_), Outcome::Failed { error, .. }) if outcome.status() == Status::Failed => {
                Err(error.clone().into())
            }
            (Self::Response(frame), _) => Ok(frame.with_outcome(outcome)),
            (Self::Chat { completion, .. }, _) => completion.with_outcome(outcome),
        }
    }

    fn late(&self, outcome: &Outcome) -> Value {
        match self {
            Self::Response(frame) => frame.with_outcome(outcome),
            Self::Chat { completion, .. } => {
                completion.with_outcome(outcome).unwrap_or_else(|error| error.body())
            }
        }
    }
}

/// A translator of either protocol, into formatted events.
#[derive(Debug)]
pub enum AnyTranslator {
    /// Of a response.
    Response(Box<Translator>),
    /// Of a chat completion.
    Chat(ChatTranslator),
}

impl fronts::Translator for AnyTranslator {
    fn start(&mut self) -> String {
        match self {
            Self::Response(translator) => to_sse(&translator.start()),
            Self::Chat(translator) => translator.start().concat(),
        }
    }

    async fn load(&mut self, event: Option<&Event>) {
        if let Self::Response(translator) = self {
            translator.load(event).await;
        }
    }

    fn event(&mut self, event: &Event) -> String {
        match self {
            Self::Response(translator) => to_sse(&translator.event(event)),
            Self::Chat(translator) => translator.event(event).concat(),
        }
    }

    fn finish(&mut self, outcome: &Outcome) -> String {
        match self {
            Self::Response(translator) => to_sse(&translator.finish(outcome)),
            Self::Chat(translator) => translator.finish(outcome).concat(),
        }
    }

    fn is_finished(&self) -> bool {
        match self {
            Self::Response(translator) => translator.is_finished(),
            Self::Chat(translator) => translator.is_finished(),
        }
    }
}

fn to_sse(events: &[StreamEvent]) -> String {
    events.iter().map(StreamEvent::to_sse).collect()
}

/// Returns the events of a response that has its outcome, after those that the client has.
#[must_use]
pub fn replay(frame: Frame, known: Option<u64>, outcome: Outcome, keep_alive: KeepAlive) -> Response {
    fronts::replay(AnyTranslator::Response(Box::new(Translator::new(frame, known))), outcome, keep_alive)
}

/// Returns the events of a response while its turn runs.
#[must_use]
pub fn follow(translator: Translator, events: Events, keep_alive: KeepAlive) -> Response {
    live(AnyTranslator::Response(Box::new(translator)), events, keep_alive)
}
