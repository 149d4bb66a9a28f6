//! Keys of the index GSI1.

use contracts::{
    Fingerprint, Timestamp,
    id::{OrgId, UserId, WebhookId},
};
use protocol::{
    approval::ApprovalId,
    id::{SessionKey, TurnKey},
    webhook::LaneKey,
};
use turns::ports::Audience;

use super::part::{encode_part, partition};

/// GSI1 partition key: the sessions of an org.
#[must_use]
pub fn org_index(org: &OrgId) -> String {
    format!("O#{}", encode_part(org.as_str()))
}

/// GSI1 partition key: a shard of the sessions of an org.
#[must_use]
pub fn org_shard(org: &OrgId, shard: u8) -> String {
    format!("{}#{shard:02}", org_index(org))
}

/// GSI1 partition keys: every shard of the sessions of an org.
pub fn org_shards(org: &OrgId) -> impl Iterator<Item = String> {
    (0..16).map(|shard| org_shard(org, shard))
}

/// The shard of a session in its org's list. Any fixed function of the session will do.
#[must_use]
pub fn list_shard(session: &SessionKey) -> u8 {
    purge_shard(session)
}

/// GSI1 partition key: the sessions that a user takes part in.
#[must_use]
pub fn user_index(org: &OrgId, user: &UserId) -> String {
    format!("O#{}#U#{}", encode_part(org.as_str()), encode_part(user.as_str()))
}

/// GSI1 sort key: a session by the time of its last activity.
#[must_use]
pub fn activity(at: Timestamp, session: &SessionKey) -> String {
    format!("{at}#{}", encode_part(session.session.as_str()))
}

/// GSI1 lower bound: sessions last active at this time or later.
#[must_use]
pub fn activity_from(at: Option<Timestamp>) -> String {
    // Timestamps begin with a digit.
    at.map_or_else(|| "0".to_owned(), |at| at.to_string())
}

/// GSI1 upper bound: sessions last active at this time or earlier.
#[must_use]
pub fn activity_to(at: Option<Timestamp>) -> String {
    // `$` sorts after the `#` that ends a timestamp, and `:` after every digit.
    at.map_or_else(|| ":".to_owned(), |at| format!("{at}$"))
}

/// The shard of an open turn: the first digit of its fingerprint. So it never changes and needs no attribute of its
/// own.
#[must_use]
pub fn shard(fingerprint: &Fingerprint) -> u8 {
    fingerprint
        .to_string()
        .chars()
        .next()
        .and_then(|digit| digit.to_digit(16))
        .and_then(|digit| u8::try_from(digit).ok())
        .unwrap_or(0)
}

/// GSI1 partition key: a shard of the open turns.
#[must_use]
pub fn open_index(shard: u8) -> String {
    format!("OPEN#{shard:02}")
}

/// GSI1 sort key: an open turn by its due time.
#[must_use]
pub fn turn_due(at: Timestamp, turn: &TurnKey) -> String {
    let TurnKey { session, turn } = turn;
    format!(
        "{at}#{}#{}#{}",
        encode_part(session.org.as_str()),
        encode_part(session.session.as_str()),
        encode_part(turn.as_str())
    )
}

/// GSI1 partition key: the calls of an org whose outcome is unknown.
#[must_use]
pub fn unknown_index(org: &OrgId) -> String {
    format!("UNKNOWN#{}", encode_part(org.as_str()))
}

/// GSI1 sort key: a call with an unknown outcome by its time.
#[must_use]
pub fn unknown_at(at: Timestamp, session: &SessionKey, hash: &Fingerprint) -> String {
    format!("{at}#{}#{hash}", encode_part(session.session.as_str()))
}

/// GSI1 partition key: one approval of an org, by its id.
#[must_use]
pub fn approval_index(org: &OrgId, id: &ApprovalId) -> String {
    format!("APPROVAL#{}#{}", encode_part(org.as_str()), id.as_str())
}

/// GSI1 partition key: the approvals of an org that an audience may answer.
#[must_use]
pub fn approvals_index(org: &OrgId, audience: &Audience) -> String {
    let org = encode_part(org.as_str());
    match audience {
        Audience::All => format!("APPROVALS#{org}#ALL"),
        Audience::Operators => format!("APPROVALS#{org}#OPERATORS"),
        Audience::AgentEditors => format!("APPROVALS#{org}#EDITORS"),
        Audience::User(user) => format!("APPROVALS#{org}#U#{}", encode_part(user.as_str())),
    }
}

/// GSI1 sort key: an approval by its expiry.
#[must_use]
pub fn approval_at(expires: Timestamp, id: &ApprovalId) -> String {
    format!("{expires}#{}", id.as_str())
}

/// GSI1 partition key: the deliveries of a webhook.
#[must_use]
pub fn webhook_index(org: &OrgId, webhook: &WebhookId) -> String {
    format!("{}#HOOK#{webhook}", org_index(org))
}

/// GSI1 sort key: a delivery by its time.
#[must_use]
pub fn delivery_at(at: Timestamp, session: &SessionKey, place: &str) -> String {
    format!("{at}#{}#{place}", encode_part(session.session.as_str()))
}

/// GSI1 partition key: a shard of the lanes that are due.
#[must_use]
pub fn lane_index(shard: u8) -> String {
    format!("HOOK#{shard:02}")
}

/// GSI1 sort key: a lane by its due time.
#[must_use]
pub fn lane_due(at: Timestamp, lane: &LaneKey) -> String {
    let SessionKey { org, session } = &lane.session;
    format!("{at}#{}#{}#{}", encode_part(org.as_str()), encode_part(session.as_str()), lane.webhook)
}

/// The shard of a session's purge record. Any fixed function of the session will do.
#[must_use]
pub fn purge_shard(session: &SessionKey) -> u8 {
    shard(&Fingerprint::hash_bytes(partition(session).as_bytes()))
}

/// GSI1 partition key: a shard of the purges.
#[must_use]
pub fn purge_index(shard: u8) -> String {
    format!("PURGE#{shard:02}")
}

/// GSI1 sort key: a purge by its due time.
#[must_use]
pub fn purge_due(at: Timestamp, session: &SessionKey) -> String {
    format!("{at}#{}#{}", encode_part(session.org.as_str()), encode_part(session.session.as_str()))
}
