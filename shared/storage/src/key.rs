//! The key catalogue: every item of the table and every object of the bucket.
//!
//! Key parts are percent-encoded, so that no id can contain a separator (I7). Timestamps in index keys sort as text.
//!
//! # Examples
//! ```
//! use protocol::id::SessionKey;
//! use storage::key::Item;
//!
//! let session = SessionKey { org: "acme/eu".parse()?, session: "s1".parse()? };
//! assert_eq!(Item::Session(&session).pk(), "O#acme%2Feu#S#s1");
//! let turn = session.turn("t1".parse()?);
//! assert_eq!(Item::Turn(&turn).sk(), "TURN#t1");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use contracts::{
    Fingerprint, Timestamp,
    id::{AgentContextId, ConversationContextId, OrgId, SessionId, TurnId, UserId},
    paths::RESERVED,
    stream::EventId,
};
use percent_encoding::{percent_decode_str, utf8_percent_encode};
use protocol::{
    detail::ModeChangePosition,
    id::{AttemptId, SessionKey, TurnKey},
    payload::{Kind, Payload, StoredRequest},
};

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
    /// The purge record of a deleted session.
    ///
    /// Key: `O#{org}#S#{session}` / `PURGE`
    /// GSI1 while work is left: `PURGE#{shard}` / `{due}#{org}#{session}`
    Purge(&'a SessionKey),
    /// An agent context. Replaced on every put.
    ///
    /// Key: `O#{org}` / `AGENT#{id}`
    Agent(&'a OrgId, &'a AgentContextId),
    /// A conversation context. Replaced on every put.
    ///
    /// Key: `O#{org}` / `CONV#{id}`
    Conversation(&'a OrgId, &'a ConversationContextId),
}

/// The limit of S3 for a key and of DynamoDB for a sort key.
pub(crate) const MAX_KEY_BYTES: usize = 1_024;

/// The prefix of participants' sort keys.
pub(crate) const USER_PREFIX: &str = "USER#";

/// The prefix of agent contexts' sort keys.
pub(crate) const AGENT_PREFIX: &str = "AGENT#";

/// The prefix of conversation contexts' sort keys.
pub(crate) const CONVERSATION_PREFIX: &str = "CONV#";

/// The prefix of mode changes' sort keys.
pub(crate) const MODE_PREFIX: &str = "MODE#";

impl Item<'_> {
    /// The partition key.
    #[must_use]
    pub fn pk(&self) -> String {
        match self {
            Self::Session(session)
            | Self::Participant(session, _)
            | Self::ModeChange(session, _)
            | Self::Purge(session) => partition(session),
            Self::Turn(turn)
            | Self::Request(turn)
            | Self::Result(turn)
            | Self::Feedback(turn, _)
            | Self::Checkpoint(turn, _) => partition(&turn.session),
            Self::Agent(org, _) | Self::Conversation(org, _) => org_index(org),
        }
    }

    /// The sort key.
    #[must_use]
    pub fn sk(&self) -> String {
        match self {
            Self::Session(_) => "SESSION".to_owned(),
            Self::Purge(_) => "PURGE".to_owned(),
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
            Self::Agent(_, id) => format!("{AGENT_PREFIX}{}", encode_part(id.as_str())),
            Self::Conversation(_, id) => format!("{CONVERSATION_PREFIX}{}", encode_part(id.as_str())),
            Self::ModeChange(_, ModeChangePosition { sequence, number }) => {
                format!("{MODE_PREFIX}{sequence:010}#{number:x}")
            }
        }
    }
}

/// The prefix of the sort keys of a turn's feedback.
pub(crate) fn feedback_prefix(turn: &TurnKey) -> String {
    format!("FEEDBACK#{}#", encode_part(turn.turn.as_str()))
}

/// The partition key of a session's items.
fn partition(session: &SessionKey) -> String {
    format!("O#{}#S#{}", encode_part(session.org.as_str()), encode_part(session.session.as_str()))
}

/// GSI1 partition key: the sessions of an org.
#[must_use]
pub fn org_index(org: &OrgId) -> String {
    format!("O#{}", encode_part(org.as_str()))
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

/// Parses a participant's sort key.
#[must_use]
pub fn parse_user(sk: &str) -> Option<UserId> {
    UserId::new(decode_part(sk.strip_prefix(USER_PREFIX)?)?).ok()
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

/// The key prefix of a session's objects.
#[must_use]
pub fn session_prefix(session: &SessionKey) -> String {
    format!("{}/{}/", encode_part(session.org.as_str()), encode_part(session.session.as_str()))
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
        _ => "other",
    }
}

/// The kind of an object in a purge report. `None` stands for an object with an unknown key.
#[must_use]
pub fn kind_of_object(kind: Option<&Kind>) -> &'static str {
    match kind {
        Some(Kind::Instruction(_)) => "instructions",
        Some(Kind::Outcome(_)) => "outcomes",
        Some(Kind::Step(..)) => "steps",
        Some(Kind::ToolResults(_)) => "tool_results",
        Some(Kind::Answer(_) | Kind::PartialAnswer(_)) => "answers",
        Some(Kind::ModelRequest(..) | Kind::ModelResponse(..)) => "raw_payloads",
        Some(Kind::File { .. }) => "files",
        None => "other",
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

/// The range of sort keys of a session's turns after this one, in the order of their ids.
pub(crate) fn turn_range_after(turn: Option<&TurnId>) -> (String, String) {
    // `#` sorts before every character of an id and `$` after it, so all items of a turn lie between the two.
    let from =
        turn.map_or_else(|| "TURN#".to_owned(), |turn| format!("TURN#{}$", encode_part(turn.as_str())));
    (from, "TURN$".to_owned())
}

/// The key of an object: `{org}/{session}/{turn}/…`, with its writer or its content hash.
#[must_use]
pub fn object(payload: &Payload) -> String {
    let folder = turn_prefix(&payload.turn);
    let prefix = folder.trim_end_matches('/');
    match &payload.kind {
        Kind::Instruction(StoredRequest { fingerprint, submission_id: None }) => {
            format!("{prefix}/{fingerprint}/instruction.json")
        }
        Kind::Instruction(StoredRequest { fingerprint, submission_id: Some(by) }) => {
            format!("{prefix}/{fingerprint}/{by}/instruction.json")
        }
        Kind::Outcome(owner) => format!("{prefix}/{owner}/result.json"),
        Kind::Step(owner, number) => format!("{prefix}/{owner}/step-{number}.json"),
        Kind::ToolResults(owner) => format!("{prefix}/{owner}/tool-results.json"),
        Kind::Answer(owner) => format!("{prefix}/{owner}/answer.md"),
        Kind::PartialAnswer(owner) => format!("{prefix}/{owner}/partial-answer.md"),
        Kind::ModelRequest(owner, call) => format!("{prefix}/{owner}/request-{call}.json"),
        Kind::ModelResponse(owner, call) => format!("{prefix}/{owner}/response-{call}.json"),
        Kind::File { address, name } => format!("{prefix}/files/{address}/{}", encode_part(name)),
    }
}

/// The key prefix of a turn's objects.
#[must_use]
pub fn turn_prefix(TurnKey { session, turn }: &TurnKey) -> String {
    format!(
        "{}/{}/{}/",
        encode_part(session.org.as_str()),
        encode_part(session.session.as_str()),
        encode_part(turn.as_str())
    )
}

/// Parses an object's key. Returns `None` for an unknown key.
#[must_use]
pub fn parse_object(key: &str) -> Option<Payload> {
    let mut parts = key.split('/');
    let mut id = || decode_part(parts.next()?);
    let session = SessionKey { org: OrgId::new(id()?).ok()?, session: SessionId::new(id()?).ok()? };
    let turn = session.turn(TurnId::new(id()?).ok()?);
    let rest: Vec<&str> = parts.collect();
    let attempt = |id: &&str| AttemptId::new((*id).to_owned());
    let kind = match &rest[..] {
        ["files", address, name] => Kind::File { address: address.parse().ok()?, name: decode_part(name)? },
        [fingerprint, "instruction.json"] => {
            Kind::Instruction(StoredRequest { fingerprint: fingerprint.parse().ok()?, submission_id: None })
        }
        [fingerprint, by, "instruction.json"] => Kind::Instruction(StoredRequest {
            fingerprint: fingerprint.parse().ok()?,
            submission_id: Some(attempt(by)),
        }),
        [owner, "result.json"] => Kind::Outcome(attempt(owner)),
        [owner, "tool-results.json"] => Kind::ToolResults(attempt(owner)),
        [owner, "answer.md"] => Kind::Answer(attempt(owner)),
        [owner, "partial-answer.md"] => Kind::PartialAnswer(attempt(owner)),
        [owner, numbered] => {
            let (name, number) = numbered.strip_suffix(".json")?.split_once('-')?;
            let (owner, number) = (attempt(owner), number.parse().ok()?);
            match name {
                "step" => Kind::Step(owner, number),
                "request" => Kind::ModelRequest(owner, number),
                "response" => Kind::ModelResponse(owner, number),
                _ => return None,
            }
        }
        _ => return None,
    };
    let payload = Payload { turn, kind };
    // A key that is spelled differently is not one of ours, however similar.
    (object(&payload) == key).then_some(payload)
}

fn encode_part(raw: &str) -> String {
    utf8_percent_encode(raw, RESERVED).to_string()
}

fn decode_part(encoded: &str) -> Option<String> {
    percent_decode_str(encoded).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use contracts::FileAddress;

    use super::*;

    fn turn(org: &str, session: &str, turn: &str) -> TurnKey {
        TurnKey {
            session: SessionKey { org: OrgId::new(org).unwrap(), session: SessionId::new(session).unwrap() },
            turn: TurnId::new(turn).unwrap(),
        }
    }

    #[test]
    fn keys_match_the_catalogue() {
        let key = turn("acme", "s1", "t1");
        let item = Item::Result(&key);
        assert_eq!((item.pk().as_str(), item.sk().as_str()), ("O#acme#S#s1", "TURN#t1#RESULT"));
        assert_eq!(turn_due(Timestamp::from_millis(0), &key), "1970-01-01T00:00:00.000Z#acme#s1#t1");
    }

    #[test]
    fn items_of_a_turn_sort_together() {
        let keys = |id: &str| {
            let key = turn("acme", "s1", id);
            [Item::Turn(&key).sk(), Item::Request(&key).sk(), Item::Result(&key).sk()]
        };
        let sorted: Vec<String> = ["a", "a-", "a.b", "a0", "b"].into_iter().flat_map(keys).collect();
        assert!(sorted.is_sorted(), "{sorted:?}");
        let a = TurnId::new("a").unwrap();
        let (from, to) = turn_range_after(Some(&a));
        assert!(
            keys("a").iter().all(|key| *key < from) && keys("a-").iter().all(|key| *key > from && *key < to)
        );
        assert_eq!(parse_turn_item("TURN#a#REQUEST"), Some((a, TurnItemKind::Request)));
        assert_eq!(parse_turn_item("TURN#a#OTHER"), None);
    }

    #[test]
    fn org_with_separators_keeps_its_own_partition() {
        let sly = turn("acme#S#s1", "x", "t");
        assert_eq!(Item::Turn(&sly).pk(), "O#acme%23S%23s1#S#x");
        let payload = Payload {
            turn: turn("a/b", "s", "t"),
            kind: Kind::Answer(protocol::id::AttemptId::new("n".into())),
        };
        assert_eq!(object(&payload), "a%2Fb/s/t/n/answer.md");
    }

    #[test]
    fn longest_ids_fit_key_limits() {
        use contracts::id::MAX_ID_CHARS;

        let minted = "~".repeat(MAX_ID_CHARS);
        for (org, user) in [("/".repeat(85), "組".repeat(111)), ("組".repeat(28), "/".repeat(128))] {
            let (key, user) = (turn(&org, &minted, &minted), UserId::new(user).unwrap());
            let (session, event) = (&key.session, "9007199254740991".parse::<EventId>().unwrap());
            let (agent, conversation) = (minted.parse().unwrap(), minted.parse().unwrap());
            for item in [
                Item::Session(session),
                Item::Purge(session),
                Item::Turn(&key),
                Item::Request(&key),
                Item::Result(&key),
                Item::Participant(session, &user),
                Item::Checkpoint(&key, event),
                Item::Feedback(&key, &user),
                Item::Agent(&session.org, &agent),
                Item::Conversation(&session.org, &conversation),
            ] {
                assert!(item.pk().len() <= 2_048 && item.sk().len() <= MAX_KEY_BYTES, "{item:?}");
            }
            let at = Timestamp::from_millis(0);
            assert!(purge_due(at, session).len() <= MAX_KEY_BYTES);
            assert!(
                turn_due(at, &key).len() <= MAX_KEY_BYTES && activity(at, session).len() <= MAX_KEY_BYTES
            );
            assert!(user_index(&session.org, &user).len() <= 2_048);
            // 255 bytes remain for the encoded file name.
            let (address, name) = (FileAddress::hash_bytes(b""), "x".repeat(255));
            let file = Payload { turn: key.clone(), kind: Kind::File { address, name } };
            assert!(object(&file).len() <= MAX_KEY_BYTES, "{}", object(&file).len());
        }
    }

    #[test]
    fn object_key_round_trips_and_foreign_keys_are_rejected() {
        let attempt = || AttemptId::new("n1".to_owned());
        let fingerprint = Fingerprint::hash_bytes(b"request");
        let kinds = [
            Kind::Instruction(StoredRequest { fingerprint, submission_id: None }),
            Kind::Instruction(StoredRequest { fingerprint, submission_id: Some(attempt()) }),
            Kind::Outcome(attempt()),
            Kind::Step(attempt(), 12),
            Kind::ToolResults(attempt()),
            Kind::Answer(attempt()),
            Kind::PartialAnswer(attempt()),
            Kind::ModelRequest(attempt(), 1),
            Kind::ModelResponse(attempt(), 2),
            Kind::File { address: FileAddress::hash_bytes(b"file"), name: "a b/ü.md".to_owned() },
        ];
        for kind in kinds {
            let payload = Payload { turn: turn("auth0|añb", "s", "t~1"), kind };
            assert_eq!(parse_object(&object(&payload)), Some(payload));
        }
        for foreign in
            ["", "a", "a/s/t", "a/s/t/n1/other.json", "a/s/t/n1/step-01.json", "a/s/t/x/instruction.json"]
        {
            assert_eq!(parse_object(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn head_key_round_trips_and_details_are_not_heads() {
        let key = turn("auth0|añb", "s", "t~1");
        let item = Item::Turn(&key);
        assert_eq!(parse_turn(&item.pk(), &item.sk()), Some(key.clone()));
        assert_eq!(parse_turn(&item.pk(), &Item::Request(&key).sk()), None);
    }
}
