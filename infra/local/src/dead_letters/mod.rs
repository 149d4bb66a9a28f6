//! `aptix admin dead-letters`: lists the messages that the functions gave up, with the reasons,
//! and redrives or drops them.
//!
//! The reason comes from the state of the message's turn or document and not from an error text: logs have those. Redriving a
//! message never does harm, because the functions check every message against the table. Messages are received to be
//! read, and become visible again at the end.

mod reason;

use std::collections::HashSet;
use std::str::FromStr;

use aws_sdk_sqs::types::{Message, MessageAttributeValue, MessageSystemAttributeName};
use contracts::Timestamp;
use contracts::id::{OrgId, SessionId, TurnId};
use protocol::queue_message::{FinalizeMessage, REDRIVE_REASON, TurnMessage, group_of};
use serde::de::DeserializeOwned;

pub use self::reason::Reason;
use crate::queues::{Error, QueueUrls, Queues};

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

/// The content of a message.
#[derive(Debug, Clone)]
pub enum Subject {
    /// A message of the finalize queue.
    Finalize(FinalizeMessage),
    /// A message of the turn queue.
    Turn(TurnMessage),
    /// A message of the knowledge queue.
    Knowledge(knowledge::ports::Message),
}

impl Subject {
    fn parse<T: DeserializeOwned>(received: &Message, subject: impl FnOnce(T) -> Self) -> Option<Self> {
        received.body().and_then(|body| serde_json::from_str(body).ok()).map(subject)
    }
}

/// A message in a dead-letter queue.
#[derive(Debug, Clone)]
pub struct DeadLetter {
    /// The parsed message, if it is one of its queue.
    pub message: Option<Subject>,
    /// The reason.
    pub reason: Reason,
    /// The time at which it was sent.
    pub sent: Option<Timestamp>,
    /// The number of receives, reads by this command included.
    pub receives: u64,
    received: Message,
    /// The queue that it came from, and the one that it is in.
    urls: QueueUrls,
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
        let message = match &self.message {
            Some(Subject::Finalize(message)) => message,
            Some(Subject::Turn(TurnMessage::ContinueTurn { org, session, turn })) => {
                return (Some(org), Some(session), Some(turn));
            }
            Some(Subject::Knowledge(message)) => return (Some(&message.org), None, None),
            None => return (None, None, None),
        };
        match message {
            FinalizeMessage::TurnSettled { org, session, turn, .. } => (Some(org), Some(session), Some(turn)),
            FinalizeMessage::SessionPurge { org, session } => (Some(org), Some(session), None),
            FinalizeMessage::SessionIndex { org, session } => (Some(org), session.as_ref(), None),
            FinalizeMessage::WebhookLane { org, session, .. } => (Some(org), Some(session), None),
            FinalizeMessage::Sweep => (None, None, None),
        }
    }

    /// The id of the document that the message is about.
    #[must_use]
    pub fn document(&self) -> Option<&str> {
        match &self.message {
            Some(Subject::Knowledge(message)) => Some(message.document.as_str()),
            Some(Subject::Finalize(_) | Subject::Turn(_)) | None => None,
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
    /// Send them to their queue before.
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

    /// Moves the selected dead letters back to their queues. Returns how many. The function that handles one logs the
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

    /// Deletes the selected dead letters whose session was purged or whose document was deleted. If the selection names a message, deletes it whatever
    /// its reason. Returns how many were deleted.
    ///
    /// # Errors
    /// Fails if a queue or a store does not respond. What was deleted until then stays deleted.
    pub async fn drop_letters(&self, selection: &Selection) -> Result<usize, Error> {
        let droppable = |letter: &DeadLetter| {
            letter.is_selected(selection) && (letter.reason.is_obsolete() || selection.message.is_some())
        };
        self.take_out(droppable, &Removal::Drop).await
    }

    /// Removes dead letters from their queue. A crash during a redrive leaves a message in both queues, which the functions
    /// tolerate.
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
            let QueueUrls { queue, dead_letters } = &letter.urls;
            if let Removal::Redrive { reason } = removal {
                let mut attributes = letter.received.message_attributes.clone().unwrap_or_default();
                let reason =
                    MessageAttributeValue::builder().data_type("String").string_value(*reason).build();
                let reason = reason.map_err(|error| Error::queue(queue, error))?;
                attributes.insert(REDRIVE_REASON.to_owned(), reason);
                let sent = self
                    .sqs
                    .send_message()
                    .queue_url(queue)
                    .message_body(letter.received.body().unwrap_or_default())
                    .set_message_group_id(letter.subject().0.map(group_of))
                    .set_message_attributes(Some(attributes))
                    .send();
                sent.await.map_err(|error| Error::queue(queue, error))?;
            }
            let receipt = letter.received.receipt_handle().unwrap_or_default();
            let deleted = self.sqs.delete_message().queue_url(dead_letters).receipt_handle(receipt).send();
            deleted.await.map_err(|error| Error::queue(dead_letters, error))?;
            count += 1;
        }
        Ok(count)
    }

    /// Receives the dead letters until the queues are empty, and diagnoses them.
    async fn receive(&self) -> Result<Vec<DeadLetter>, Error> {
        let mut letters = Vec::new();
        self.receive_from(&self.finalize, &mut letters, |message| Subject::parse(message, Subject::Finalize))
            .await?;
        if let Some(urls) = &self.turns {
            self.receive_from(urls, &mut letters, |message| Subject::parse(message, Subject::Turn)).await?;
        }
        if let Some(urls) = &self.knowledge {
            let parse = |message: &Message| Subject::parse(message, Subject::Knowledge);
            self.receive_from(urls, &mut letters, parse).await?;
        }
        letters.sort_by_key(|letter| letter.sent);
        Ok(letters)
    }

    async fn receive_from(
        &self,
        urls: &QueueUrls,
        letters: &mut Vec<DeadLetter>,
        parse: impl Fn(&Message) -> Option<Subject>,
    ) -> Result<(), Error> {
        let mut ids = HashSet::new();
        while letters.len() < MAX_MESSAGES {
            let received = self
                .sqs
                .receive_message()
                .queue_url(&urls.dead_letters)
                .max_number_of_messages(BATCH)
                .visibility_timeout(VISIBILITY_SECONDS)
                .wait_time_seconds(WAIT_SECONDS)
                .message_system_attribute_names(MessageSystemAttributeName::All)
                .message_attribute_names("All")
                .send()
                .await
                .map_err(|error| Error::queue(&urls.dead_letters, error))?;
            let received = received.messages.unwrap_or_default();
            if received.is_empty() {
                break;
            }
            for message in received {
                // A standard queue may deliver a message twice.
                if ids.insert(message.message_id.clone()) {
                    letters.push(self.diagnose(parse(&message), message, urls.clone()).await?);
                }
            }
        }
        Ok(())
    }

    async fn make_visible(&self, letter: &DeadLetter) -> Result<(), Error> {
        let receipt = letter.received.receipt_handle().unwrap_or_default();
        let url = &letter.urls.dead_letters;
        let change = self.sqs.change_message_visibility().queue_url(url);
        let change = change.receipt_handle(receipt).visibility_timeout(0).send().await;
        change.map(|_| ()).map_err(|error| Error::queue(url, error))
    }

    async fn diagnose(
        &self,
        message: Option<Subject>,
        received: Message,
        urls: QueueUrls,
    ) -> Result<DeadLetter, Error> {
        let reason = match &message {
            Some(message) => match reason::find(&self.stores, message).await {
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
        Ok(DeadLetter { message, reason, sent: sent.map(Timestamp::from_millis), receives, received, urls })
    }
}
