//! Keys of the table's items.

use agent::context::{ContextId, ContextKind};
use contracts::{
    Day, Fingerprint,
    id::{OrgId, SessionId, TurnId, UserId, WebhookId},
    stream::EventId,
};
use protocol::{
    approval::ApprovalId,
    budget::MeterKey,
    detail::ModeChangePosition,
    id::{SessionKey, TurnKey},
    usage::UsageEntry,
    webhook::{LaneKey, LanePosition},
};
use turns::ports::{DocumentId, UsageKeyHolder};

use knowledge::{DocumentId as KnowledgeId, VectorStoreId};

use super::index::{org_index, shard};
use super::part::{decode_part, encode_part, partition};

/// An item of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item<'a> {
    /// A session. Replaced by start and finalize.
    ///
    /// Key: `O#{org}#S#{session}` / `SESSION`
    /// GSI1: `O#{org}` / `{last activity}#{session}`
    Session(&'a SessionKey),
    /// The head of a turn. Replaced by every transition, and at most 1 KB.
    ///
    /// Key: `O#{org}#S#{session}` / `TURN#{turn}`
    /// LSI1: `Seq`. GSI1 while open: `OPEN#{shard}` / `{due}#{org}#{session}#{turn}`
    Turn(&'a TurnKey),
    /// The details of a turn's request. Written once.
    ///
    /// Key: `O#{org}#S#{session}` / `TURN#{turn}#REQUEST`
    Request(&'a TurnKey),
    /// The result of a turn. Written when the turn is finalized.
    ///
    /// Key: `O#{org}#S#{session}` / `TURN#{turn}#RESULT`
    Result(&'a TurnKey),
    /// A participant of a session. Orders that user's list of sessions.
    ///
    /// Key: `O#{org}#S#{session}` / `USER#{user}`
    /// GSI1: `O#{org}#U#{user}` / `{own last activity}#{session}`
    Participant(&'a SessionKey, &'a UserId),
    /// One user's feedback on a turn. Replaced when that user submits it again.
    ///
    /// Key: `O#{org}#S#{session}` / `FEEDBACK#{turn}#{the user's id, as a hash}`
    Feedback(&'a TurnKey, &'a UserId),
    /// A mode change. Written once.
    ///
    /// Key: `O#{org}#S#{session}` / `MODE#{sequence, ten digits}#{n, one hexadecimal digit}`
    ModeChange(&'a SessionKey, ModeChangePosition),
    /// A checkpoint of a streamed turn, written once per second. Expires after an hour.
    ///
    /// Key: `O#{org}#S#{session}` / `STREAM#{turn}#{end position, sixteen digits}`
    Checkpoint(&'a TurnKey, EventId),
    /// The calls with effects that a round sends. Written once, before the first is sent.
    ///
    /// Key: `O#{org}#S#{session}` / `EFFECTS#{turn}#{round, ten digits}`
    Intent(&'a TurnKey, u32),
    /// A call whose outcome is unknown. Removed when a person resolves it.
    ///
    /// Key: `O#{org}#S#{session}` / `UNKNOWN#{hash of the call}`
    /// GSI1: `UNKNOWN#{org}` / `{time}#{session}#{hash of the call}`
    UnknownEffect(&'a SessionKey, &'a Fingerprint),
    /// An approval of a call. Its answer is written once.
    ///
    /// Key: `O#{org}#S#{session}` / `APPROVAL#{turn}#{id}`
    /// GSI1: `APPROVAL#{org}#{id}` / `{expiry}`
    Approval(&'a TurnKey, &'a ApprovalId),
    /// An approval in the list of those who may answer. Leaves the list with the answer.
    ///
    /// Key: `O#{org}#S#{session}` / `APPROVAL#{turn}#{id}#{n}`
    /// GSI1: `APPROVALS#{org}#{audience}` / `{expiry}#{id}`
    ListedApproval(&'a TurnKey, &'a ApprovalId, usize),
    /// An event for a webhook, with the state of its delivery. Expires after 30 days.
    ///
    /// Key: `O#{org}#S#{session}` / `HOOK#{webhook}#{turn's sequence, ten digits}#{number, three digits}`
    /// GSI1: `O#{org}#HOOK#{webhook}` / `{time}#{session}#{turn's sequence, ten digits}#{number, three digits}`
    Delivery(&'a LaneKey, LanePosition),
    /// The lane of a session for a webhook: the lease of its sender, and the next place.
    ///
    /// Key: `O#{org}#S#{session}` / `HOOKS#{webhook}`
    /// GSI1 while events are left: `HOOK#{shard}` / `{due}#{org}#{session}#{webhook}`
    Lane(&'a LaneKey),
    /// The purge record of a deleted session.
    ///
    /// Key: `O#{org}#S#{session}` / `PURGE`
    /// GSI1 while work is left: `PURGE#{shard}` / `{due}#{org}#{session}`
    Purge(&'a SessionKey),
    /// A document of an org: the content that is live. Replaced by every change.
    ///
    /// Key: `O#{org}` / `AGENT#{id}` for an agent, `CONV#{id}` for a conversation context, `MODE#{key}` for a mode,
    /// `BUDGETS`, or `SETTINGS`
    Document(&'a OrgId, &'a DocumentId),
    /// The health of a webhook. Replaced by senders.
    ///
    /// Key: `O#{org}` / `HOOKSTATE#{webhook}`
    WebhookHealth(&'a OrgId, &'a WebhookId),
    /// The record of a document for the org's agents. Replaced by every change.
    ///
    /// Key: `O#{org}` / `KNOWLEDGE#{id}`
    Knowledge(&'a OrgId, &'a KnowledgeId),
    /// A vector store of the org. Replaced by every change.
    ///
    /// Key: `O#{org}` / `VECTORSTORE#{id}`
    VectorStore(&'a OrgId, &'a VectorStoreId),
    /// The org of a client application whose tokens name none. Read by the authorizer.
    ///
    /// Key: `CLIENTS` / `{client's id}`
    ClientOrg(&'a str),
    /// The API key that requests of an org or of one user count against. Read by the authorizer.
    ///
    /// Key: `USAGE_KEYS` / `{org}`, or `{org}#{the user's id, as a hash}`
    UsageKey(&'a UsageKeyHolder),
    /// The additional model providers. Read at the start of functions with `MODEL_PROVIDERS=table`.
    ///
    /// Key: `DEPLOYMENT` / `MODEL_PROVIDERS`
    ModelProviders,
    /// A meter of a budget: the sums of a window, and an attribute per turn that isn't over. Expires a month after its
    /// window.
    ///
    /// Key: `O#{org}#METER#{scope}#{subject's hash}` / `{window}#{start}`
    Meter(&'a MeterKey),
    /// Counters of a day's usage: one item per user, agent, model and shard of sessions. Added to when a turn is
    /// finalized.
    ///
    /// Key: `O#{org}#USAGE#{day}` / `{user's hash}#{hash of agent and model}#{shard}`
    Usage(&'a UsageEntry),
    /// A version of a context. Written once.
    ///
    /// Key: `O#{org}#{AGENT, CONV or MODE}#{id}` / `VERSION#{number, ten digits}`
    ContextVersion(&'a OrgId, &'a ContextId, u32),
}

/// The prefix of participants' sort keys.
pub(crate) const USER_PREFIX: &str = "USER#";

/// The partition of client applications. The authorizer's role may read this one and [`USAGE_KEYS_PARTITION`].
pub(crate) const CLIENTS_PARTITION: &str = "CLIENTS";

/// The partition of the API keys of callers.
pub(crate) const USAGE_KEYS_PARTITION: &str = "USAGE_KEYS";

/// The prefix of the sort keys of documents for agents.
pub(crate) const KNOWLEDGE_PREFIX: &str = "KNOWLEDGE#";

/// The prefix of the sort keys of vector stores.
pub(crate) const VECTOR_STORE_PREFIX: &str = "VECTORSTORE#";

/// The prefix of the sort keys of lanes.
const LANE_PREFIX: &str = "HOOKS#";

/// The prefix of sort keys of a context's versions.
const VERSION_PREFIX: &str = "VERSION#";

/// The prefix of the sort keys of mode changes, in a session's partition, and of modes, in an org's partition.
pub(crate) const MODE_PREFIX: &str = "MODE#";

impl Item<'_> {
    /// The partition key.
    #[must_use]
    pub fn pk(&self) -> String {
        match self {
            Self::Session(session)
            | Self::Participant(session, _)
            | Self::ModeChange(session, _)
            | Self::UnknownEffect(session, _)
            | Self::Purge(session) => partition(session),
            Self::Turn(turn)
            | Self::Request(turn)
            | Self::Result(turn)
            | Self::Feedback(turn, _)
            | Self::Intent(turn, _)
            | Self::Approval(turn, _)
            | Self::ListedApproval(turn, _, _)
            | Self::Checkpoint(turn, _) => partition(&turn.session),
            Self::Delivery(lane, _) | Self::Lane(lane) => partition(&lane.session),
            Self::Document(org, _)
            | Self::Knowledge(org, _)
            | Self::VectorStore(org, _)
            | Self::WebhookHealth(org, _) => org_index(org),
            Self::ClientOrg(_) => CLIENTS_PARTITION.to_owned(),
            Self::UsageKey(_) => USAGE_KEYS_PARTITION.to_owned(),
            Self::ModelProviders => "DEPLOYMENT".to_owned(),
            Self::Meter(meter) => {
                let scope = meter.scope.name();
                format!("{}#METER#{scope}#{}", org_index(&meter.org), short_hash(&meter.subject))
            }
            Self::Usage(entry) => usage_partition(&entry.key.org, entry.key.day),
            Self::ContextVersion(org, id, _) => format!("{}#{}", org_index(org), context_part(id)),
        }
    }

    /// The sort key.
    #[must_use]
    pub fn sk(&self) -> String {
        match self {
            Self::Session(_) => "SESSION".to_owned(),
            Self::Purge(_) => "PURGE".to_owned(),
            Self::Document(_, DocumentId::Context(id)) => context_part(id),
            Self::Document(_, DocumentId::Budgets) => "BUDGETS".to_owned(),
            Self::Document(_, DocumentId::OrgSettings) => "SETTINGS".to_owned(),
            Self::Knowledge(_, id) => format!("{KNOWLEDGE_PREFIX}{}", id.as_str()),
            Self::VectorStore(_, id) => format!("{VECTOR_STORE_PREFIX}{}", id.as_str()),
            Self::ClientOrg(client) => encode_part(client),
            Self::ModelProviders => "MODEL_PROVIDERS".to_owned(),
            // Hashed, because both ids of the maximum length would be too long.
            Self::UsageKey(UsageKeyHolder { org, user }) => {
                let org = encode_part(org.as_str());
                user.as_ref().map_or_else(
                    || org.clone(),
                    |user| format!("{org}#{}", Fingerprint::hash_bytes(user.as_str().as_bytes())),
                )
            }
            Self::Meter(meter) => format!("{}#{}", meter.window.name(), meter.start),
            Self::Turn(turn) => format!("TURN#{}", encode_part(turn.turn.as_str())),
            Self::Request(turn) => format!("TURN#{}#REQUEST", encode_part(turn.turn.as_str())),
            Self::Result(turn) => format!("TURN#{}#RESULT", encode_part(turn.turn.as_str())),
            Self::Participant(_, user) => format!("{USER_PREFIX}{}", encode_part(user.as_str())),
            // Hashed, because an id of the maximum length would leave no space for the turn's id.
            Self::Feedback(turn, user) => {
                format!("{}{}", feedback_prefix(turn), Fingerprint::hash_bytes(user.as_str().as_bytes()))
            }
            // With enough digits for every id, so that keys sort in stream order.
            Self::Checkpoint(turn, end) => {
                format!("STREAM#{}#{:016}", encode_part(turn.turn.as_str()), end.get())
            }
            Self::Intent(turn, round) => format!("{}{round:010}", intent_prefix(turn)),
            Self::Approval(turn, id) => format!("{}{}", approval_prefix(turn), id.as_str()),
            Self::ListedApproval(turn, id, n) => format!("{}{}#{n:02}", approval_prefix(turn), id.as_str()),
            Self::UnknownEffect(_, hash) => format!("UNKNOWN#{hash}"),
            Self::Delivery(lane, place) => format!("{}{}", delivery_prefix(lane), place_part(*place)),
            Self::Lane(lane) => format!("{LANE_PREFIX}{}", lane.webhook),
            Self::WebhookHealth(_, webhook) => format!("HOOKSTATE#{webhook}"),
            // Hashed, because the ids together may be longer than a key. The shard keeps the sessions of a busy user
            // from writing the same item.
            Self::Usage(entry) => {
                let kind = format!("{}#{}", entry.key.agent, entry.key.model.as_deref().unwrap_or_default());
                let shard = shard(&Fingerprint::hash_bytes(entry.session.as_str().as_bytes()));
                format!("{}{}#{shard:02}", usage_prefix(&entry.key.user), short_hash(&kind))
            }
            Self::ContextVersion(_, _, number) => format!("{VERSION_PREFIX}{number:010}"),
            Self::ModeChange(_, ModeChangePosition { sequence, number }) => {
                format!("{MODE_PREFIX}{sequence:010}#{number:x}")
            }
        }
    }
}

/// The prefix of the sort keys of a kind of contexts.
pub(crate) fn context_prefix(kind: ContextKind) -> &'static str {
    match kind {
        ContextKind::Agent => "AGENT#",
        ContextKind::Conversation => "CONV#",
        ContextKind::Mode => MODE_PREFIX,
        ContextKind::Connection => "CONNECTION#",
        ContextKind::Webhook => "WEBHOOK#",
    }
}

fn context_part(id: &ContextId) -> String {
    format!("{}{}", context_prefix(id.kind()), encode_part(id.as_str()))
}

/// The prefix of the sort keys of a turn's feedback.
pub(crate) fn feedback_prefix(turn: &TurnKey) -> String {
    format!("FEEDBACK#{}#", encode_part(turn.turn.as_str()))
}

/// The prefix of the sort keys of a turn's intents.
pub(crate) fn intent_prefix(turn: &TurnKey) -> String {
    format!("EFFECTS#{}#", encode_part(turn.turn.as_str()))
}

/// The prefix of the sort keys of a turn's approvals.
pub(crate) fn approval_prefix(turn: &TurnKey) -> String {
    format!("APPROVAL#{}#", encode_part(turn.turn.as_str()))
}

/// Parses the sort key of an approval, or of its place in a list.
pub(crate) fn parse_approval(sk: &str) -> Option<(TurnId, ApprovalId)> {
    let (turn, rest) = sk.strip_prefix("APPROVAL#")?.split_once('#')?;
    let id = rest.split('#').next()?;
    Some((TurnId::new(decode_part(turn)?).ok()?, ApprovalId::parse(id)?))
}

/// The prefix of the sort keys of a lane's deliveries.
pub(crate) fn delivery_prefix(lane: &LaneKey) -> String {
    format!("HOOK#{}#", lane.webhook)
}

/// The end of a delivery's sort key. Places sort in order.
pub(crate) fn place_part(place: LanePosition) -> String {
    format!("{:010}#{:03}", place.sequence, place.number)
}

/// Parses the keys of a delivery. Returns `None` for any other item.
#[must_use]
pub fn parse_delivery(pk: &str, sk: &str) -> Option<(LaneKey, LanePosition)> {
    let (webhook, place) = sk.strip_prefix("HOOK#")?.split_once('#')?;
    let (sequence, number) = place.split_once('#')?;
    let place = LanePosition { sequence: sequence.parse().ok()?, number: number.parse().ok()? };
    Some((LaneKey::new(parse_session(pk)?, WebhookId::new(webhook).ok()?), place))
}

/// Parses the keys of a lane. Returns `None` for any other item.
#[must_use]
pub fn parse_lane(pk: &str, sk: &str) -> Option<LaneKey> {
    Some(LaneKey::new(parse_session(pk)?, WebhookId::new(sk.strip_prefix(LANE_PREFIX)?).ok()?))
}

/// The partition key of an org's usage on a day.
pub(crate) fn usage_partition(org: &OrgId, day: Day) -> String {
    format!("{}#USAGE#{day}", org_index(org))
}

/// The prefix of the sort keys of a user's usage.
pub(crate) fn usage_prefix(user: &UserId) -> String {
    format!("{}#", short_hash(user.as_str()))
}

/// Returns 128 bits of a text's hash, in hexadecimal.
fn short_hash(text: &str) -> String {
    let mut hash = Fingerprint::hash_bytes(text.as_bytes()).to_string();
    hash.truncate(32);
    hash
}

/// Parses a participant's sort key.
#[must_use]
pub fn parse_user(sk: &str) -> Option<UserId> {
    UserId::new(decode_part(sk.strip_prefix(USER_PREFIX)?)?).ok()
}

/// The kind of an item in a purge report, by its sort key.
#[must_use]
pub fn kind_of_item(sk: &str) -> &'static str {
    match sk.split_once('#') {
        Some(("TURN", rest)) if rest.ends_with("#REQUEST") => "requests",
        Some(("TURN", rest)) if rest.ends_with("#RESULT") => "results",
        Some(("TURN", _)) => "turns",
        Some(("USER", _)) => "participants",
        Some(("MODE", _)) => "mode_changes",
        Some(("STREAM", _)) => "checkpoints",
        Some(("FEEDBACK", _)) => "feedback",
        Some(("EFFECTS", _)) => "intents",
        Some(("UNKNOWN", _)) => "unknown_effects",
        Some(("APPROVAL", _)) => "approvals",
        Some(("HOOK" | "HOOKS", _)) => "webhook_deliveries",
        _ => "other",
    }
}

/// Parses a session's partition key.
#[must_use]
pub fn parse_session(pk: &str) -> Option<SessionKey> {
    let (org, session) = pk.strip_prefix("O#")?.split_once("#S#")?;
    Some(SessionKey {
        org: OrgId::new(decode_part(org)?).ok()?,
        session: SessionId::new(decode_part(session)?).ok()?,
    })
}

/// Parses the keys of a turn's head. Returns `None` for any other item.
#[must_use]
pub fn parse_turn(pk: &str, sk: &str) -> Option<TurnKey> {
    let turn = TurnId::new(decode_part(sk.strip_prefix("TURN#")?)?).ok()?;
    Some(TurnKey { session: parse_session(pk)?, turn })
}

/// The kind of a turn's item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnItemKind {
    Head,
    Request,
    Result,
}

/// Parses the sort key of a turn's item. Returns `None` for any other item.
pub(crate) fn parse_turn_item(sk: &str) -> Option<(TurnId, TurnItemKind)> {
    let (turn, detail) = match sk.strip_prefix("TURN#")?.split_once('#') {
        None => (sk.strip_prefix("TURN#")?, TurnItemKind::Head),
        Some((turn, "REQUEST")) => (turn, TurnItemKind::Request),
        Some((turn, "RESULT")) => (turn, TurnItemKind::Result),
        Some(_) => return None,
    };
    Some((TurnId::new(decode_part(turn)?).ok()?, detail))
}

/// Parses the turn of an intent's sort key.
pub(crate) fn parse_intent(sk: &str) -> Option<TurnId> {
    let (turn, _) = sk.strip_prefix("EFFECTS#")?.split_once('#')?;
    TurnId::new(decode_part(turn)?).ok()
}

/// The ranges of sort keys of a turn's items: head and details, checkpoints, feedback, intents. See [`turn_range_after`].
pub(crate) fn turn_ranges(turn: &TurnId) -> [(String, String); 4] {
    let turn = encode_part(turn.as_str());
    ["TURN", "STREAM", "FEEDBACK", "EFFECTS"]
        .map(|kind| (format!("{kind}#{turn}"), format!("{kind}#{turn}$")))
}

/// The range of sort keys of a session's turns after this one, in the order of their ids.
pub(crate) fn turn_range_after(turn: Option<&TurnId>) -> (String, String) {
    // `#` sorts before every character of an id and `$` after it, so all items of a turn lie between the two.
    let from =
        turn.map_or_else(|| "TURN#".to_owned(), |turn| format!("TURN#{}$", encode_part(turn.as_str())));
    (from, "TURN$".to_owned())
}
