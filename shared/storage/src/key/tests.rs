use agent::context::ContextKind;
use contracts::{
    FileAddress, Fingerprint, Timestamp,
    id::{OrgId, SessionId, TurnId, UserId},
    stream::EventId,
};
use protocol::{
    id::{AttemptId, SessionKey, TurnKey},
    payload::{Kind, Payload, StoredRequest},
    webhook::{LaneKey, LanePosition},
};

use turns::ports::{DocumentId, UsageKeyHolder};

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
fn versions_sort_by_number_in_a_partition_of_their_own() {
    let (org, id) = (OrgId::new("acme").unwrap(), ContextKind::Agent.id("a~1").unwrap());
    let version = |number| Item::ContextVersion(&org, &id, number);
    assert_eq!(version(9).pk(), "O#acme#AGENT#a~1");
    assert_eq!(version(9).sk(), "VERSION#0000000009");
    assert!(version(9).sk() < version(10).sk() && version(10).sk() < version(u32::MAX).sk());
    assert_eq!(parse_session(&version(1).pk()), None);
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
    assert!(keys("a").iter().all(|key| *key < from) && keys("a-").iter().all(|key| *key > from && *key < to));
    assert_eq!(parse_turn_item("TURN#a#REQUEST"), Some((a, TurnItemKind::Request)));
    assert_eq!(parse_turn_item("TURN#a#OTHER"), None);
}

#[test]
fn org_with_separators_keeps_its_own_partition() {
    let sly = turn("acme#S#s1", "x", "t");
    assert_eq!(Item::Turn(&sly).pk(), "O#acme%23S%23s1#S#x");
    let payload = Payload { turn: turn("a/b", "s", "t"), kind: Kind::Answer(AttemptId::new("n".into())) };
    assert_eq!(object(&payload), "a%2Fb/s/t/n/answer.md");
}

#[test]
fn longest_ids_fit_key_limits() {
    use contracts::id::MAX_ID_CHARS;

    let minted = "~".repeat(MAX_ID_CHARS);
    for (org, user) in [("/".repeat(85), "組".repeat(111)), ("組".repeat(28), "/".repeat(128))] {
        let (key, user) = (turn(&org, &minted, &minted), UserId::new(user).unwrap());
        let (session, event) = (&key.session, "9007199254740991".parse::<EventId>().unwrap());
        let contexts = ContextKind::ALL.map(|kind| match kind {
            ContextKind::Connection | ContextKind::Webhook => kind.id(&"x".repeat(32)).unwrap(),
            _ => kind.id(&minted).unwrap(),
        });
        let lane = LaneKey::new(session.clone(), "x".repeat(32).parse().unwrap());
        let place = LanePosition { sequence: u64::from(u32::MAX), number: u8::MAX };
        let documents = contexts.clone().map(DocumentId::from);
        let holder = UsageKeyHolder { org: session.org.clone(), user: Some(user.clone()) };
        for item in [
            Item::Session(session),
            Item::Purge(session),
            Item::Lane(&lane),
            Item::Delivery(&lane, place),
            Item::WebhookHealth(&session.org, &lane.webhook),
            Item::Turn(&key),
            Item::Request(&key),
            Item::Result(&key),
            Item::Participant(session, &user),
            Item::Checkpoint(&key, event),
            Item::Feedback(&key, &user),
            Item::UsageKey(&holder),
        ]
        .into_iter()
        .chain(documents.iter().map(|id| Item::Document(&session.org, id)))
        .chain(contexts.iter().map(|id| Item::ContextVersion(&session.org, id, u32::MAX)))
        {
            assert!(item.pk().len() <= 2_048 && item.sk().len() <= MAX_KEY_BYTES, "{item:?}");
        }
        let at = Timestamp::from_millis(0);
        assert!(purge_due(at, session).len() <= MAX_KEY_BYTES);
        assert!(turn_due(at, &key).len() <= MAX_KEY_BYTES && activity(at, session).len() <= MAX_KEY_BYTES);
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
        Kind::Round(attempt(), 3),
        Kind::EffectResult(attempt(), 3, 0),
        Kind::ToolResults(attempt()),
        Kind::Answer(attempt()),
        Kind::PartialAnswer(attempt()),
        Kind::ModelRequest(attempt(), 1),
        Kind::ModelResponse(attempt(), 2),
        Kind::History(attempt()),
        Kind::File { address: FileAddress::hash_bytes(b"file"), name: "a b/ü.md".to_owned() },
    ];
    for kind in kinds {
        let payload = Payload { turn: turn("auth0|añb", "s", "t~1"), kind };
        assert_eq!(parse_object(&object(&payload)), Some(payload));
    }
    for foreign in [
        "",
        "a",
        "a/s/t",
        "a/s/t/n1/other.json",
        "a/s/t/n1/step-01.json",
        "a/s/t/n1/effect-1.json",
        "a/s/t/n1/effect-1-02.json",
        "a/s/t/x/instruction.json",
    ] {
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

#[test]
fn keys_of_webhooks_are_parsed_back_and_sort_by_place() {
    let session = turn("a/b", "s", "t").session;
    let lane = LaneKey::new(session, "hook".parse().unwrap());
    let places =
        [(1, 0), (1, 1), (2, 0), (10, 0)].map(|(sequence, number)| LanePosition { sequence, number });
    let keys = places.map(|place| Item::Delivery(&lane, place).sk());
    assert!(keys.is_sorted(), "{keys:?}");
    for (place, key) in places.into_iter().zip(keys) {
        let pk = Item::Lane(&lane).pk();
        assert_eq!(parse_delivery(&pk, &key), Some((lane.clone(), place)));
        assert_eq!((parse_lane(&pk, &key), kind_of_item(&key)), (None, "webhook_deliveries"));
    }
    let item = Item::Lane(&lane);
    assert_eq!(parse_lane(&item.pk(), &item.sk()), Some(lane.clone()));
    assert_eq!(parse_delivery(&item.pk(), &item.sk()), None);
}
