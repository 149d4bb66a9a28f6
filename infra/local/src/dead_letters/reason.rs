//! The reason of a dead letter. It comes from the stored state of the message's turn, session or document.

use contracts::id::{OrgId, SessionId};
use knowledge::ports::{Message, Records};
use protocol::id::SessionKey;
use protocol::payload::{Kind, Payload};
use protocol::purge::Stage;
use protocol::queue_message::{FinalizeMessage, TurnMessage};
use protocol::turn::State;
use storage::key;
use turns::ports::{PayloadReads, Reads, Unavailable};

use super::Subject;
use crate::stores::Stores;

/// The reason that a message is a dead letter, as far as its turn's state tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// Something else writes to the queue.
    Unreadable,
    /// The session was purged, or there never was one.
    SessionGone,
    /// The session has no such turn.
    TurnMissing,
    /// A newer version wrote the stored data.
    DataTooNew,
    /// The turn is finalized, so the message has nothing left to do.
    Finalized,
    /// The turn is open. Its end is announced with another message.
    Open,
    /// The turn can be continued, or could when the message was sent. The sweep sends another one.
    Continuable,
    /// The turn has ended, so the message has nothing left to do.
    Ended,
    /// The turn is settled, and the object with this key, which its result is in, is missing.
    ObjectMissing(String),
    /// The turn is settled and not finalized.
    Settled,
    /// The purge of the session has not finished.
    PurgeUnfinished,
    /// The purge of the session has finished.
    PurgeDone,
    /// The session index was not updated.
    Index,
    /// A sweep.
    Sweep,
    /// The document was deleted, or there never was one.
    DocumentGone,
    /// The document is indexed, or can't be.
    DocumentDone,
    /// The document is still to be indexed or to be deleted.
    DocumentUnfinished,
}

impl Reason {
    /// Returns the text for an operator, with the remedy.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Unreadable => "not a message of its queue: find its writer, and drop it".to_owned(),
            Self::SessionGone => "its session was purged: drop it".to_owned(),
            Self::TurnMissing => "its session has no such turn: find its writer, and drop it".to_owned(),
            Self::DataTooNew => {
                "a newer version wrote the stored data: deploy that version, and redrive it".to_owned()
            }
            Self::Finalized => "its turn is finalized meanwhile: redrive it, which updates the index, or drop it".to_owned(),
            Self::Open => "its turn is open, and its end sends another message: drop it".to_owned(),
            Self::Continuable => {
                "its turn has not ended: redrive it, or drop it, since the sweep sends others".to_owned()
            }
            Self::Ended => "its turn has ended meanwhile: drop it".to_owned(),
            Self::ObjectMissing(key) => {
                format!("its turn is settled, and the object {key} is missing: restore the object, and redrive it")
            }
            Self::Settled => {
                "its turn is settled and not finalized: a store was unreachable or refused a request; redrive it".to_owned()
            }
            Self::PurgeUnfinished => "its session's purge has not finished: redrive it, or wait for the sweep".to_owned(),
            Self::PurgeDone => "its session's purge has finished: drop it".to_owned(),
            Self::Index => "the session index was not updated: restore the index, and redrive it".to_owned(),
            Self::Sweep => "a sweep, which the next one repeats: drop it".to_owned(),
            Self::DocumentGone => "its document is deleted: drop it".to_owned(),
            Self::DocumentDone => "its document is indexed, or failed with a reason, meanwhile: drop it".to_owned(),
            Self::DocumentUnfinished => {
                "its document is not yet indexed or deleted: restore the vector database and the stores, and redrive it".to_owned()
            }
        }
    }

    /// True if the message is about nothing that still exists.
    pub(super) fn is_obsolete(&self) -> bool {
        matches!(self, Self::SessionGone | Self::PurgeDone | Self::DocumentGone)
    }
}

/// Finds the reason in the stored state.
pub(super) async fn find(stores: &Stores, subject: &Subject) -> Result<Reason, Unavailable> {
    match subject {
        Subject::Finalize(message) => of_finalize_message(stores, message).await,
        Subject::Turn(TurnMessage::ContinueTurn { org, session, turn }) => {
            let key = session_key(org, session);
            if is_gone(stores, &key).await? {
                return Ok(Reason::SessionGone);
            }
            Ok(match stores.table.turn(&key.turn(turn.clone())).await? {
                None => Reason::TurnMissing,
                Some(turn) if turn.settlement().is_some() => Reason::Ended,
                Some(_) => Reason::Continuable,
            })
        }
        Subject::Knowledge(Message { org, document }) => {
            let stored = Records::record(&stores.table, org, document).await?;
            Ok(match stored {
                None => Reason::DocumentGone,
                Some(stored) if stored.record.needs_work() => Reason::DocumentUnfinished,
                Some(_) => Reason::DocumentDone,
            })
        }
    }
}

async fn of_finalize_message(stores: &Stores, message: &FinalizeMessage) -> Result<Reason, Unavailable> {
    match message {
        FinalizeMessage::Sweep => Ok(Reason::Sweep),
        // It belongs to the webhook queue.
        FinalizeMessage::WebhookLane { .. } => Ok(Reason::Unreadable),
        FinalizeMessage::SessionIndex { session: None, .. } => Ok(Reason::Index),
        FinalizeMessage::SessionIndex { org, session: Some(session) } => {
            Ok(if is_gone(stores, &session_key(org, session)).await? {
                Reason::SessionGone
            } else {
                Reason::Index
            })
        }
        FinalizeMessage::SessionPurge { org, session } => {
            Ok(match stores.table.purge(&session_key(org, session)).await? {
                Some(purge) if purge.stage != Stage::Done => Reason::PurgeUnfinished,
                Some(_) => Reason::PurgeDone,
                None => Reason::SessionGone,
            })
        }
        FinalizeMessage::TurnSettled { org, session, turn, .. } => {
            let key = session_key(org, session);
            if is_gone(stores, &key).await? {
                return Ok(Reason::SessionGone);
            }
            let Some(turn) = stores.table.turn(&key.turn(turn.clone())).await? else {
                return Ok(Reason::TurnMissing);
            };
            match &turn.state {
                State::Running { .. } | State::AwaitingTools { .. } => Ok(Reason::Open),
                State::Finalized(_) => Ok(Reason::Finalized),
                State::Settled(_) => {
                    let Some(writer) = turn.outcome_writer() else { return Ok(Reason::Settled) };
                    let outcome = Payload { turn: turn.key.clone(), kind: Kind::Outcome(writer.clone()) };
                    Ok(match stores.objects.get(&outcome).await? {
                        Some(_) => Reason::Settled,
                        None => Reason::ObjectMissing(key::object(&outcome)),
                    })
                }
            }
        }
    }
}

fn session_key(org: &OrgId, session: &SessionId) -> SessionKey {
    SessionKey { org: org.clone(), session: session.clone() }
}

/// True if the session was purged, or never existed.
async fn is_gone(stores: &Stores, key: &SessionKey) -> Result<bool, Unavailable> {
    Ok(stores.table.session(key).await?.is_none_or(|session| session.is_purged()))
}
