//! The key catalogue: every item of the table and every object of the bucket.
//!
//! Key parts are percent-encoded, so that no id can hold a separator (I7). The order of instants in
//! index keys is the order of their text.
//!
//! What is stored keeps its name for ever: a word may change in the code, `ASKED` and `ENDED` do not.
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
    detail::ModePlace,
    id::{AttemptId, SessionKey, TurnKey},
    payload::{Kind, Payload, StoredRequest},
};

/// An item of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item<'a> {
    /// (SE) per session, replaced by start and finalize.
    /// Key: `O#{org}#S#{session}` / `SESSION`
    /// GSI1: `O#{org}` / `{last activity}#{session}`
    Session(&'a SessionKey),
    /// (TU) per turn, replaced by every transition: the head, at most 1 KB.
    /// Key: `O#{org}#S#{session}` / `TURN#{turn}`
    /// LSI1: `Seq`. GSI1 while open: `OPEN#{shard}` / `{due}#{org}#{session}#{turn}`
    Turn(&'a TurnKey),
    /// (AS) per turn, write-once: what is kept of its request.
    /// Key: `O#{org}#S#{session}` / `TURN#{turn}#ASKED`
    Request(&'a TurnKey),
    /// (EN) per turn, written when it is finalized: what came of it.
    /// Key: `O#{org}#S#{session}` / `TURN#{turn}#ENDED`
    Result(&'a TurnKey),
    /// (PA) per user of a session: orders that user's list.
    /// Key: `O#{org}#S#{session}` / `USER#{user}`
    /// GSI1: `O#{org}#U#{user}` / `{own last activity}#{session}`
    Participant(&'a SessionKey, &'a UserId),
    /// (FB) per user who says something of a turn, replaced when that user says more.
    /// Key: `O#{org}#S#{session}` / `FEEDBACK#{turn}#{the user's id, as a hash}`
    Feedback(&'a TurnKey, &'a UserId),
    /// (MO) per mode change, write-once.
    /// Key: `O#{org}#S#{session}` / `MODE#{sequence, ten digits}#{n, one hexadecimal digit}`
    ModeChange(&'a SessionKey, ModePlace),
    /// (ST) per second of a turn that is streamed, write-once, gone an hour later: a checkpoint.
    /// Key: `O#{org}#S#{session}` / `STREAM#{turn}#{where it ends, sixteen digits}`
    Checkpoint(&'a TurnKey, EventId),
    /// (PU) per deleted session: the record of its purge.
    /// Key: `O#{org}#S#{session}` / `PURGE`
    /// GSI1 while something is left to do: `PURGE#{shard}` / `{due}#{org}#{session}`
    Purge(&'a SessionKey),
    /// (AG) per agent context, replaced when it is put.
    /// Key: `O#{org}` / `AGENT#{id}`
    Agent(&'a OrgId, &'a AgentContextId),
    /// (CO) per conversation context, replaced when it is put.
    /// Key: `O#{org}` / `CONV#{id}`
    Conversation(&'a OrgId, &'a ConversationContextId),
}

/// The longest key that S3 takes, and the longest sort key that DynamoDB takes.
pub(crate) const MAX_KEY_BYTES: usize = 1_024;

/// The prefix of every participant's sort key.
pub(crate) const USER_PREFIX: &str = "USER#";

/// The prefix of every agent context's sort key.
pub(crate) const AGENT_PREFIX: &str = "AGENT#";

/// The prefix of every conversation context's sort key.
pub(crate) const CONVERSATION_PREFIX: &str = "CONV#";

/// The prefix of every mode change's sort key.
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
            Self::Turn(turn) => format!("TURN#{}", part(turn.turn.as_str())),
            Self::Request(turn) => format!("TURN#{}#ASKED", part(turn.turn.as_str())),
            Self::Result(turn) => format!("TURN#{}#ENDED", part(turn.turn.as_str())),
            Self::Participant(_, user) => format!("{USER_PREFIX}{}", part(user.as_str())),
            // An id of the longest kind would leave no room for the turn's.
            Self::Feedback(turn, user) => {
                format!("{}{}", feedback_prefix(turn), Fingerprint::of_bytes(user.as_str().as_bytes()))
            }
            // Digits enough for every id, so that the order of keys is the order of the stream.
            Self::Checkpoint(turn, ends) => format!("STREAM#{}#{:016}", part(turn.turn.as_str()), ends.get()),
            Self::Agent(_, id) => format!("{AGENT_PREFIX}{}", part(id.as_str())),
            Self::Conversation(_, id) => format!("{CONVERSATION_PREFIX}{}", part(id.as_str())),
            Self::ModeChange(_, ModePlace { sequence, number }) => {
                format!("{MODE_PREFIX}{sequence:010}#{number:x}")
            }
        }
    }
}

/// The prefix of the sort keys of what users say of a turn.
pub(crate) fn feedback_prefix(turn: &TurnKey) -> String {
    format!("FEEDBACK#{}#", part(turn.turn.as_str()))
}

/// The partition of a session.
fn partition(session: &SessionKey) -> String {
    format!("O#{}#S#{}", part(session.org.as_str()), part(session.session.as_str()))
}

/// GSI1: the sessions of an org.
#[must_use]
pub fn org_index(org: &OrgId) -> String {
    format!("O#{}", part(org.as_str()))
}

/// GSI1: the sessions a user took part in.
#[must_use]
pub fn user_index(org: &OrgId, user: &UserId) -> String {
    format!("O#{}#U#{}", part(org.as_str()), part(user.as_str()))
}

/// GSI1: a session's place among others, by an instant.
#[must_use]
pub fn activity(at: Timestamp, session: &SessionKey) -> String {
    format!("{at}#{}", part(session.session.as_str()))
}

/// GSI1: before every session that was last active at this instant, or ever.
#[must_use]
pub fn from(at: Option<Timestamp>) -> String {
    // Instants begin with a digit.
    at.map_or_else(|| "0".to_owned(), |at| at.to_string())
}

/// GSI1: behind every session that was last active at this instant, or ever.
#[must_use]
pub fn to(at: Option<Timestamp>) -> String {
    // `$` comes after the `#` that ends an instant, and `:` after every digit.
    at.map_or_else(|| ":".to_owned(), |at| format!("{at}$"))
}

/// The user whose part in a session has this sort key.
#[must_use]
pub fn parse_user(sk: &str) -> Option<UserId> {
    UserId::new(unpart(sk.strip_prefix(USER_PREFIX)?)?).ok()
}

/// The shard that an open turn lies in: the first digit of its fingerprint, so it never moves and
/// needs no attribute of its own.
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

/// GSI1: a shard of the open turns.
#[must_use]
pub fn open_index(shard: u8) -> String {
    format!("OPEN#{shard:02}")
}

/// GSI1: an open turn's place in its shard.
#[must_use]
pub fn due(at: Timestamp, turn: &TurnKey) -> String {
    let TurnKey { session, turn } = turn;
    format!("{at}#{}#{}#{}", part(session.org.as_str()), part(session.session.as_str()), part(turn.as_str()))
}

/// The shard that the record of a session's purge lies in: any fixed function of the session.
#[must_use]
pub fn purge_shard(session: &SessionKey) -> u8 {
    shard(&Fingerprint::of_bytes(partition(session).as_bytes()))
}

/// GSI1: a shard of the purges.
#[must_use]
pub fn purge_index(shard: u8) -> String {
    format!("PURGE#{shard:02}")
}

/// GSI1: a purge's place in its shard.
#[must_use]
pub fn purge_due(at: Timestamp, session: &SessionKey) -> String {
    format!("{at}#{}#{}", part(session.org.as_str()), part(session.session.as_str()))
}

/// What every object of a session begins with.
#[must_use]
pub fn objects_of(session: &SessionKey) -> String {
    format!("{}/{}/", part(session.org.as_str()), part(session.session.as_str()))
}

/// The kind of an item of a session, by its sort key.
#[must_use]
pub fn kind_of_item(sk: &str) -> &'static str {
    match sk.split_once('#') {
        Some(("TURN", rest)) if rest.ends_with("#ASKED") => "requests",
        Some(("TURN", rest)) if rest.ends_with("#ENDED") => "results",
        Some(("TURN", _)) => "turns",
        Some(("USER", _)) => "participants",
        Some(("MODE", _)) => "mode_changes",
        Some(("STREAM", _)) => "checkpoints",
        Some(("FEEDBACK", _)) => "feedback",
        _ => "other",
    }
}

/// What an object is called in the report of a purge; none is one that is not ours.
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

/// The session whose partition this is.
#[must_use]
pub fn parse_session(pk: &str) -> Option<SessionKey> {
    let (org, session) = pk.strip_prefix("O#")?.split_once("#S#")?;
    Some(SessionKey { org: OrgId::new(unpart(org)?).ok()?, session: SessionId::new(unpart(session)?).ok()? })
}

/// The turn whose head has these keys; none for any other item.
#[must_use]
pub fn parse_turn(pk: &str, sk: &str) -> Option<TurnKey> {
    let turn = TurnId::new(unpart(sk.strip_prefix("TURN#")?)?).ok()?;
    Some(TurnKey { session: parse_session(pk)?, turn })
}

/// Which item of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OfTurn {
    Head,
    Request,
    Result,
}

/// The turn of a sort key, and which of its items that is; none for any other item.
pub(crate) fn parse_of_turn(sk: &str) -> Option<(TurnId, OfTurn)> {
    let (turn, detail) = match sk.strip_prefix("TURN#")?.split_once('#') {
        None => (sk.strip_prefix("TURN#")?, OfTurn::Head),
        Some((turn, "ASKED")) => (turn, OfTurn::Request),
        Some((turn, "ENDED")) => (turn, OfTurn::Result),
        Some(_) => return None,
    };
    Some((TurnId::new(unpart(turn)?).ok()?, detail))
}

/// The sort keys of a session's turns behind one, in the order of their ids: the first and the last that there can be.
pub(crate) fn turns_behind(turn: Option<&TurnId>) -> (String, String) {
    // `#` comes before every character of an id, and `$` after it: all of a turn lies between the two.
    let from = turn.map_or_else(|| "TURN#".to_owned(), |turn| format!("TURN#{}$", part(turn.as_str())));
    (from, "TURN$".to_owned())
}

/// The key of an object: `{org}/{session}/{turn}/…`, under its writer or its content.
#[must_use]
pub fn object(payload: &Payload) -> String {
    let folder = objects_of_turn(&payload.turn);
    let prefix = folder.trim_end_matches('/');
    match &payload.kind {
        Kind::Instruction(StoredRequest { fingerprint, by: None }) => {
            format!("{prefix}/{fingerprint}/instruction.json")
        }
        Kind::Instruction(StoredRequest { fingerprint, by: Some(by) }) => {
            format!("{prefix}/{fingerprint}/{by}/instruction.json")
        }
        Kind::Outcome(owner) => format!("{prefix}/{owner}/result.json"),
        Kind::Step(owner, number) => format!("{prefix}/{owner}/step-{number}.json"),
        Kind::ToolResults(owner) => format!("{prefix}/{owner}/tool-results.json"),
        Kind::Answer(owner) => format!("{prefix}/{owner}/answer.md"),
        Kind::PartialAnswer(owner) => format!("{prefix}/{owner}/partial-answer.md"),
        Kind::ModelRequest(owner, call) => format!("{prefix}/{owner}/request-{call}.json"),
        Kind::ModelResponse(owner, call) => format!("{prefix}/{owner}/response-{call}.json"),
        Kind::File { address, name } => format!("{prefix}/files/{address}/{}", part(name)),
    }
}

/// What the keys of a turn's objects begin with.
#[must_use]
pub fn objects_of_turn(TurnKey { session, turn }: &TurnKey) -> String {
    format!("{}/{}/{}/", part(session.org.as_str()), part(session.session.as_str()), part(turn.as_str()))
}

/// The object whose key this is; none for a key that is none of ours.
#[must_use]
pub fn parse_object(key: &str) -> Option<Payload> {
    let mut parts = key.split('/');
    let mut id = || unpart(parts.next()?);
    let session = SessionKey { org: OrgId::new(id()?).ok()?, session: SessionId::new(id()?).ok()? };
    let turn = session.turn(TurnId::new(id()?).ok()?);
    let rest: Vec<&str> = parts.collect();
    let attempt = |id: &&str| AttemptId::new((*id).to_owned());
    let kind = match &rest[..] {
        ["files", address, name] => Kind::File { address: address.parse().ok()?, name: unpart(name)? },
        [fingerprint, "instruction.json"] => {
            Kind::Instruction(StoredRequest { fingerprint: fingerprint.parse().ok()?, by: None })
        }
        [fingerprint, by, "instruction.json"] => {
            Kind::Instruction(StoredRequest { fingerprint: fingerprint.parse().ok()?, by: Some(attempt(by)) })
        }
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
    // What is spelled otherwise is not ours, however alike.
    (object(&payload) == key).then_some(payload)
}

fn part(raw: &str) -> String {
    utf8_percent_encode(raw, RESERVED).to_string()
}

fn unpart(encoded: &str) -> Option<String> {
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
    fn keys_are_those_of_the_catalogue() {
        let key = turn("acme", "s1", "t1");
        let item = Item::Result(&key);
        assert_eq!((item.pk().as_str(), item.sk().as_str()), ("O#acme#S#s1", "TURN#t1#ENDED"));
        assert_eq!(due(Timestamp::from_millis(0), &key), "1970-01-01T00:00:00.000Z#acme#s1#t1");
    }

    #[test]
    fn the_items_of_a_turn_stand_together_and_before_those_of_the_turns_behind_it() {
        let keys = |id: &str| {
            let key = turn("acme", "s1", id);
            [Item::Turn(&key).sk(), Item::Request(&key).sk(), Item::Result(&key).sk()]
        };
        let sorted: Vec<String> = ["a", "a-", "a.b", "a0", "b"].into_iter().flat_map(keys).collect();
        assert!(sorted.is_sorted(), "{sorted:?}");
        let a = TurnId::new("a").unwrap();
        let (from, to) = turns_behind(Some(&a));
        assert!(
            keys("a").iter().all(|key| *key < from) && keys("a-").iter().all(|key| *key > from && *key < to)
        );
        assert_eq!(parse_of_turn("TURN#a#ASKED"), Some((a, OfTurn::Request)));
        assert_eq!(parse_of_turn("TURN#a#OTHER"), None);
    }

    #[test]
    fn an_org_with_separators_stays_in_its_own_partition() {
        let sly = turn("acme#S#s1", "x", "t");
        assert_eq!(Item::Turn(&sly).pk(), "O#acme%23S%23s1#S#x");
        let payload = Payload {
            turn: turn("a/b", "s", "t"),
            kind: Kind::Answer(protocol::id::AttemptId::new("n".into())),
        };
        assert_eq!(object(&payload), "a%2Fb/s/t/n/answer.md");
    }

    #[test]
    fn the_longest_ids_make_keys_that_fit() {
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
            assert!(due(at, &key).len() <= MAX_KEY_BYTES && activity(at, session).len() <= MAX_KEY_BYTES);
            assert!(user_index(&session.org, &user).len() <= 2_048);
            // 255 bytes are what is left for the name of a file, as it is encoded.
            let (address, name) = (FileAddress::of_bytes(b""), "x".repeat(255));
            let file = Payload { turn: key.clone(), kind: Kind::File { address, name } };
            assert!(object(&file).len() <= MAX_KEY_BYTES, "{}", object(&file).len());
        }
    }

    #[test]
    fn an_object_is_found_again_from_its_key_and_nothing_else_is_ours() {
        let attempt = || AttemptId::new("n1".to_owned());
        let fingerprint = Fingerprint::of_bytes(b"request");
        let kinds = [
            Kind::Instruction(StoredRequest { fingerprint, by: None }),
            Kind::Instruction(StoredRequest { fingerprint, by: Some(attempt()) }),
            Kind::Outcome(attempt()),
            Kind::Step(attempt(), 12),
            Kind::ToolResults(attempt()),
            Kind::Answer(attempt()),
            Kind::PartialAnswer(attempt()),
            Kind::ModelRequest(attempt(), 1),
            Kind::ModelResponse(attempt(), 2),
            Kind::File { address: FileAddress::of_bytes(b"file"), name: "a b/ü.md".to_owned() },
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
    fn a_head_is_found_again_from_its_keys_and_details_are_not_heads() {
        let key = turn("auth0|añb", "s", "t~1");
        let item = Item::Turn(&key);
        assert_eq!(parse_turn(&item.pk(), &item.sk()), Some(key.clone()));
        assert_eq!(parse_turn(&item.pk(), &Item::Request(&key).sk()), None);
    }
}
