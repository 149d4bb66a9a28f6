//! A protocol's side of a delivery.

use std::future::ready;

use axum::response::IntoResponse;
use contracts::{Error, stream::Event};
use serde_json::Value;

use crate::Outcome;

/// The form in which a client of a protocol gets the response of a turn.
pub trait Form: Send + Sized + 'static {
    /// An error of the protocol.
    type Error: From<Error> + IntoResponse + Send;
    /// The translator of a stream.
    type Translator: Translator;

    /// Returns the translator of the response's stream.
    fn translator(self) -> Self::Translator;

    /// Loads what the response in one piece needs beside its outcome. Few protocols need anything.
    fn load(&mut self) -> impl Future<Output = ()> + Send {
        ready(())
    }

    /// Returns the response in one piece.
    ///
    /// # Errors
    /// If the protocol has no response with this outcome, but an error.
    fn whole(&self, outcome: &Outcome) -> Result<Value, Self::Error>;

    /// Returns the response in one piece for a client that has read a success before the outcome was known.
    fn late(&self, outcome: &Outcome) -> Value;
}

/// A translator of a turn's stream into formatted server-sent events. An empty text is no event.
pub trait Translator: Send + 'static {
    /// Returns the events before any text.
    fn start(&mut self) -> String;

    /// Loads what the translation of the next event needs, or of the outcome if there is none. Few protocols need anything.
    fn load(&mut self, _event: Option<&Event>) -> impl Future<Output = ()> + Send {
        ready(())
    }

    /// Translates an event of the turn.
    fn event(&mut self, event: &Event) -> String;

    /// Returns the last events of a connection that the turn outlasts. A protocol that can resume a stream has none.
    fn outlasted(&mut self) -> String {
        String::new()
    }

    /// Returns the remaining events of a response with this outcome.
    fn finish(&mut self, outcome: &Outcome) -> String;

    /// True if the last event was returned.
    fn is_finished(&self) -> bool;
}
