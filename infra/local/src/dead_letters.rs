//! `aptix admin dead-letters`: lists the messages that the finalizer gave up, with the reasons, and redrives or drops
//! them.
//!
//! The reason comes from the state of the message's turn and not from an error text: logs have those. Redriving a
//! message never does harm, because the finalizer checks every message against the table. Messages are received to be
//! read, and become visible again at the end.

use std::collections::HashSet;
use std::str::FromStr;

use aws_sdk_sqs::types::{Message, MessageAttributeValue, MessageSystemAttributeName};
use contracts::Timestamp;
use contracts::id::{OrgId, SessionId, TurnId};
use protocol::id::SessionKey;
use protocol::payload::{Kind, Payload};
use protocol::purge::Stage;
use protocol::queue_message::{FinalizeMessage, REDRIVE_REASON};
use protocol::turn::State;
use storage::key;
use turns::ports::{PayloadReads, Reads, Unavailable};

use crate::queues::{Error, Queues};
use crate::stores::Stores;

/// Messages that one command reads, at most.
const MAX_MESSAGES: usize = 1_000;
/// Messages of one receive.
const BATCH: i32 = 10;
/// Wait of a receive. Long enough that SQS asks all its servers.
const WAIT_SECONDS: i32 = 1;
/// The reason in the audit log if the operator states none.
const UNSTATED_REASON: &str = "none";
/// Characters of an operator's reason, at most.
const MAX_REASON_CHARS: usize = 200;
/// Time for which a message that is being read stays invisible to others.
const VISIBILITY_SECONDS: i32 = 120;

/// The messages that a command is about. Without a condition, all.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// The id of the message.
    pub message: Option<String>,
    /// The org.
    pub org: Option<OrgId>,
    /// The session.
    pub session: Option<SessionId>,
    /// The turn.
    pub turn: Option<TurnId>,
}

/// A sentence of an operator about a redrive, for the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedriveReason(String);

/// The text is no reason for a redrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be one line of at most {MAX_REASON_CHARS} characters")]
pub struct InvalidReason;

impl FromStr for RedriveReason {
    type Err = InvalidReason;

    fn from_str(text: &str) -> Result<Self, InvalidReason> {
        let text = text.trim();
        let is_valid =
            (1..=MAX_REASON_CHARS).contains(&text.chars().count()) && !text.contains(char::is_control);
        is_valid.then(|| Self(text.to_owned())).ok_or(InvalidReason)
    }
}

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
}

impl Reason {
    /// Returns the text for an operator, with the remedy.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Unreadable => "not a finalize message: find its writer, and drop it".to_owned(),
            Self::SessionGone => "its session was purged: drop it".to_owned(),
            Self::TurnMissing => "its session has no such turn: find its writer, and drop it".to_owned(),
            Self::DataTooNew => {
                "a newer version wrote the stored data: deploy that version, and redrive it".to_owned()
            }
            Self::Finalized => "its turn is finalized meanwhile: redrive it, which updates the index, or drop it".to_owned(),
            Self::Open => "its turn is open, and its end sends another message: drop it".to_owned(),
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
        }
    }
}

/// A message in the dead-letter queue.
#[derive(Debug, Clone)]
pub struct DeadLetter {
    /// The parsed message, if it is one of the finalizer's.
    pub message: Option<FinalizeMessage>,
    /// The reason.
    pub reason: Reason,
    /// The time at which it was sent.
    pub sent: Option<Timestamp>,
    /// The number of receives, reads by this command included.
    pub receives: u64,
    received: Message,
}

impl DeadLetter {
    /// The id of the message, by which the finalizer's log names it.
    #[must_use]
    pub fn id(&self) -> &str {
        self.received.message_id().unwrap_or_default()
    }

    /// The org, session and turn that the message is about.
    #[must_use]
    pub fn subject(&self) -> (Option<&OrgId>, Option<&SessionId>, Option<&TurnId>) {
        match &self.message {
            Some(FinalizeMessage::TurnSettled { org, session, turn, .. }) => {
                (Some(org), Some(session), Some(turn))
            }
            Some(FinalizeMessage::SessionPurge { org, session }) => (Some(org), Some(session), None),
            Some(FinalizeMessage::SessionIndex { org, session }) => (Some(org), session.as_ref(), None),
            Some(FinalizeMessage::Sweep) | None => (None, None, None),
        }
    }

    fn is_selected(&self, selection: &Selection) -> bool {
        let (org, session, turn) = self.subject();
        let Selection { message, org: wanted_org, session: wanted_session, turn: wanted_turn } = selection;
        message.as_ref().is_none_or(|message| message == self.id())
            && wanted_org.as_ref().is_none_or(|wanted| Some(wanted) == org)
            && wanted_session.as_ref().is_none_or(|wanted| Some(wanted) == session)
            && wanted_turn.as_ref().is_none_or(|wanted| Some(wanted) == turn)
    }
}

/// A way to remove dead letters from their queue.
enum Removal<'a> {
    /// Delete them.
    Drop,
    /// Send them to the finalize queue before.
    Redrive { reason: &'a str },
}

impl Queues {
    /// Returns the selected dead letters with their reasons, of the first 1,000.
    ///
    /// # Errors
    /// Fails if a queue or a store does not respond.
    pub async fn dead_letters(&self, selection: &Selection) -> Result<Vec<DeadLetter>, Error> {
        let letters = self.receive().await?;
        for letter in &letters {
            self.make_visible(letter).await?;
        }
        Ok(letters.into_iter().filter(|letter| letter.is_selected(selection)).collect())
    }

    /// Moves the selected dead letters back to the finalize queue. Returns how many. The finalizer logs each with the
    /// reason.
    ///
    /// # Errors
    /// Fails if a queue or a store does not respond. What was moved until then stays moved.
    pub async fn redrive(
        &self,
        selection: &Selection,
        reason: Option<&RedriveReason>,
    ) -> Result<usize, Error> {
        let removal = Removal::Redrive { reason: reason.map_or(UNSTATED_REASON, |reason| reason.0.as_str()) };
        self.take_out(|letter| letter.is_selected(selection), &removal).await
    }

    /// Deletes the selected dead letters whose session was purged. If the selection names a message, deletes it whatever
    /// its reason. Returns how many were deleted.
    ///
    /// # Errors
    /// Fails if a queue or a store does not respond. What was deleted until then stays deleted.
    pub async fn drop_letters(&self, selection: &Selection) -> Result<usize, Error> {
        let droppable = |letter: &DeadLetter| {
            let is_obsolete = matches!(letter.reason, Reason::SessionGone | Reason::PurgeDone);
            letter.is_selected(selection) && (is_obsolete || selection.message.is_some())
        };
        self.take_out(droppable, &Removal::Drop).await
    }

    /// Removes dead letters from their queue. A crash during a redrive leaves a message in both queues, which the finalizer
    /// tolerates.
    async fn take_out(
        &self,
        is_wanted: impl Fn(&DeadLetter) -> bool,
        removal: &Removal<'_>,
    ) -> Result<usize, Error> {
        let mut count = 0;
        for letter in self.receive().await? {
            if !is_wanted(&letter) {
                self.make_visible(&letter).await?;
                continue;
            }
            if let Removal::Redrive { reason } = removal {
                let mut attributes = letter.received.message_attributes.clone().unwrap_or_default();
                let reason =
                    MessageAttributeValue::builder().data_type("String").string_value(*reason).build();
                let reason = reason.map_err(|error| Error::queue(&self.queue_url, error))?;
                attributes.insert(REDRIVE_REASON.to_owned(), reason);
                let body = letter.received.body().unwrap_or_default();
                let message = serde_json::from_str::<FinalizeMessage>(body).ok();
                let sent = self
                    .sqs
                    .send_message()
                    .queue_url(&self.queue_url)
                    .message_body(body)
                    .set_message_group_id(message.and_then(|message| message.group()))
                    .set_message_attributes(Some(attributes))
                    .send();
                sent.await.map_err(|error| Error::queue(&self.queue_url, error))?;
            }
            let receipt = letter.received.receipt_handle().unwrap_or_default();
            let deleted =
                self.sqs.delete_message().queue_url(&self.dead_letters_url).receipt_handle(receipt).send();
            deleted.await.map_err(|error| Error::queue(&self.dead_letters_url, error))?;
            count += 1;
        }
        Ok(count)
    }

    /// Receives the dead letters until the queue is empty, and diagnoses them.
    async fn receive(&self) -> Result<Vec<DeadLetter>, Error> {
        let (mut letters, mut ids) = (Vec::new(), HashSet::new());
        while letters.len() < MAX_MESSAGES {
            let received = self
                .sqs
                .receive_message()
                .queue_url(&self.dead_letters_url)
                .max_number_of_messages(BATCH)
                .visibility_timeout(VISIBILITY_SECONDS)
                .wait_time_seconds(WAIT_SECONDS)
                .message_system_attribute_names(MessageSystemAttributeName::All)
                .message_attribute_names("All")
                .send()
                .await
                .map_err(|error| Error::queue(&self.dead_letters_url, error))?;
            let received = received.messages.unwrap_or_default();
            if received.is_empty() {
                break;
            }
            for message in received {
                // A standard queue may deliver a message twice.
                if ids.insert(message.message_id.clone()) {
                    letters.push(self.diagnose(message).await?);
                }
            }
        }
        letters.sort_by_key(|letter| letter.sent);
        Ok(letters)
    }

    async fn make_visible(&self, letter: &DeadLetter) -> Result<(), Error> {
        let receipt = letter.received.receipt_handle().unwrap_or_default();
        let change = self.sqs.change_message_visibility().queue_url(&self.dead_letters_url);
        let change = change.receipt_handle(receipt).visibility_timeout(0).send().await;
        change.map(|_| ()).map_err(|error| Error::queue(&self.dead_letters_url, error))
    }

    async fn diagnose(&self, received: Message) -> Result<DeadLetter, Error> {
        let message: Option<FinalizeMessage> =
            received.body().and_then(|body| serde_json::from_str(body).ok());
        let reason = match &message {
            Some(message) => match reason(&self.stores, message).await {
                Ok(reason) => reason,
                Err(error) if error.newer().is_some() => Reason::DataTooNew,
                Err(error) => return Err(Error::stores(&self.stores, error)),
            },
            None => Reason::Unreadable,
        };
        let attribute = |name| received.attributes().and_then(|attributes| attributes.get(&name));
        let sent = attribute(MessageSystemAttributeName::SentTimestamp).and_then(|sent| sent.parse().ok());
        let receives = attribute(MessageSystemAttributeName::ApproximateReceiveCount);
        let receives = receives.and_then(|count| count.parse().ok()).unwrap_or_default();
        Ok(DeadLetter { message, reason, sent: sent.map(Timestamp::from_millis), receives, received })
    }
}

/// Finds the reason in the stored state.
async fn reason(stores: &Stores, message: &FinalizeMessage) -> Result<Reason, Unavailable> {
    match message {
        FinalizeMessage::Sweep => Ok(Reason::Sweep),
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
