//! The calls of a reply, put together from the pieces of a stream.

use agent::model::Error;

use crate::accumulator::MAX_TEXT;
use crate::chat_completions::chunk::CallPiece;
use crate::tool_calls::{MAX_CALLS, ReceivedCall};

/// The calls so far.
#[derive(Debug, Default)]
pub(super) struct CallPieces {
    calls: Vec<ReceivedCall>,
    /// The index of each call, if the server sends one.
    indices: Vec<Option<u64>>,
    /// The signature of each call, if it has one.
    signatures: Vec<Option<String>>,
    /// The bytes of all arguments.
    bytes: usize,
}

impl CallPieces {
    /// Adds a piece. It belongs to the newest call with its index, or else to the newest one. An id or a name that differs
    /// from that call's starts another call: some servers send index 0 with every call.
    pub(super) fn push(&mut self, piece: CallPiece) -> Result<(), Error> {
        self.bytes = self.bytes.saturating_add(piece.arguments.len());
        if self.bytes > MAX_TEXT {
            return Err(Error::Malformed);
        }
        let at = match self.position(&piece) {
            Some(at) => at,
            None if self.calls.len() == MAX_CALLS => return Err(Error::Malformed),
            None => {
                self.calls.push(ReceivedCall::default());
                self.indices.push(piece.index);
                self.signatures.push(None);
                self.calls.len() - 1
            }
        };
        let (Some(call), Some(signature)) = (self.calls.get_mut(at), self.signatures.get_mut(at)) else {
            return Err(Error::Malformed);
        };
        call.call_id = call.call_id.take().or(piece.id);
        if call.name.is_empty() {
            call.name = piece.name.unwrap_or_default();
        }
        call.arguments.push_str(&piece.arguments);
        *signature = signature.take().or(piece.signature);
        Ok(())
    }

    /// Returns the position of the call that a piece continues. `None` if it starts a call.
    fn position(&self, piece: &CallPiece) -> Option<usize> {
        let newest = match piece.index {
            None => self.calls.len().checked_sub(1)?,
            Some(index) => self.indices.iter().rposition(|known| *known == Some(index))?,
        };
        let call = self.calls.get(newest)?;
        let is_other_id = piece.id.is_some() && call.call_id.is_some() && piece.id != call.call_id;
        // A server without ids starts each call with its name.
        let starts_again =
            piece.id.is_none() && call.call_id.is_none() && piece.name.is_some() && !call.name.is_empty();
        (!is_other_id && !starts_again).then_some(newest)
    }

    /// Returns the calls. A call without arguments gets an empty object.
    pub(super) fn received(&self) -> Vec<ReceivedCall> {
        let complete = |call: &ReceivedCall| match call.arguments.trim() {
            "" => ReceivedCall { arguments: "{}".to_owned(), ..call.clone() },
            _ => call.clone(),
        };
        self.calls.iter().map(complete).collect()
    }

    /// Returns the signatures, each with the number of calls before it.
    pub(super) fn signatures(&self) -> impl Iterator<Item = (usize, &str)> {
        self.signatures.iter().enumerate().filter_map(|(at, signature)| Some((at, signature.as_deref()?)))
    }
}
