//! Items round-trip through this version and are compatible with its neighbours.

use aws_sdk_dynamodb::types::AttributeValue;
use contracts::{
    Fingerprint, Timestamp, Usage,
    error::causes,
    id::{OrgId, SessionId, TurnId, UserId},
    read::{TurnStatus, Visibility},
    request::{BudgetScope, BudgetWindow},
};
use protocol::caller::User;
use protocol::{
    ancestry::{Cutoff, ForkOrigin, ParentRef},
    budget::{EntryId, MeterRef},
    chain::{ChainStart, ReplayReason},
    cost::{Amount, Cost},
    id::{AttemptId, SessionKey, TurnKey},
    price::Prices,
    purge::ProviderResponseRef,
    ratings::Ratings,
    session::{ChainHead, Contexts, Deletion, Hints, LastTurn, NameSource, Session, SolutionContext},
    spent::{MeteredUsage, PendingUsage, Spent},
    turn::{AcceptedResults, EndReason, Settlement, Stage, State, StepRef, Turn, Verdict},
};

use super::{
    Attributes, Unreadable,
    checkpoint::CheckpointItem,
    decode,
    detail::{ModeItem, RequestItem, ResultItem},
    encode,
    session::SessionItem,
    turn::TurnItem,
};

fn key() -> TurnKey {
    SessionKey { org: OrgId::new("acme").unwrap(), session: SessionId::new("s").unwrap() }
        .turn(TurnId::new("t").unwrap())
}

fn attempt(name: &str) -> AttemptId {
    AttemptId::new(name.to_owned())
}

fn turn(state: State) -> Turn {
    let now = Timestamp::from_millis(1_000_000);
    Turn {
        key: key(),
        sequence: 7,
        parent: ParentRef::in_session(6),
        base_depth: 0,
        fingerprint: Fingerprint::hash_bytes(b"request"),
        submission_id: Some(attempt("r")),
        requested_by: UserId::new("auth0|ada").unwrap(),
        created: now,
        mode: "general".to_owned(),
        chain: ChainStart::Replay(ReplayReason::ProviderChanged),
        attempt: attempt("a"),
        due: (!matches!(state, State::Finalized(_))).then_some(now),
        streamed: true,
        takeovers: 1,
        suspended_by: Some(attempt("a")),
        accepted_results: Some(AcceptedResults {
            round: 1,
            results: Fingerprint::hash_bytes(b"results"),
            suspended_by: attempt("a"),
            resumed_by: attempt("b"),
        }),
        ended_by: Some(UserId::new("auth0|bob").unwrap()),
        last_step: Some(StepRef { attempt: attempt("b"), step: 4 }),
        spent: Some(Spent {
            usage: usage(),
            estimated_tokens: 120,
            model_calls: 2,
            cost: Some(Cost { amount: Amount::from_micros(1_250), currency: "USD".to_owned() }),
            cost_is_partial: true,
            model: Some("gpt-5".to_owned()),
            pending: None,
            is_told: false,
            is_final: matches!(state, State::Finalized(_)),
        }),
        meters: vec![MeterRef {
            scope: BudgetScope::Agent,
            window: BudgetWindow::Minute,
            start: "2026-01-31T23:59".to_owned(),
            agent: Some("clerk".to_owned()),
            entry: Some(EntryId(7)),
        }],
        is_imported: true,
        is_unstored: true,
        answer: Some(Fingerprint::hash_words("An answer.")),
        checkpoint: Some(protocol::stream_position::StreamPosition {
            segment: protocol::stream_position::Segment::first(1, 0),
            offset: 7,
        }),
        state,
    }
}

fn pending() -> PendingUsage {
    let response = ProviderResponseRef {
        provider: Some("api.openai.com".to_owned()),
        response_id: format!("resp_{}", "0".repeat(50)),
    };
    let amount = Amount::from_micros(1_250_000);
    let prices = Prices {
        prompt_per_million: amount,
        cached_prompt_per_million: Some(amount),
        cache_write_per_million: None,
        completion_per_million: amount,
        currency: "USD".to_owned(),
    };
    let estimate = MeteredUsage { usage: usage(), estimated_tokens: 13_023 };
    PendingUsage { response, estimate, prices: Some(prices) }
}

fn usage() -> Usage {
    Usage {
        prompt_tokens: 12_345,
        completion_tokens: 678,
        total_tokens: 13_023,
        cached_tokens: Some(1_024),
        cache_write_tokens: None,
        reasoning_tokens: Some(512),
    }
}

fn states() -> Vec<State> {
    let now = Timestamp::from_millis(2_000_000);
    let settled = |verdict| Settlement { verdict, at: now };
    vec![
        State::Running {
            lease_ends: now,
            stage: Stage { round: 2, attempts: vec![attempt("a"), attempt("b")] },
        },
        State::AwaitingTools { round: 1, deadline: now, is_for_approval: true },
        State::Settled(settled(Verdict::Completed { writer: attempt("a") })),
        State::Settled(settled(Verdict::Failed { writer: attempt("b") })),
        State::Finalized(settled(Verdict::Ended(EndReason::Superseded))),
    ]
}

#[test]
fn turn_head_round_trips_in_every_state_under_a_kilobyte() {
    for state in states() {
        let turn = turn(state);
        let item = encode(&turn).unwrap();
        let bytes: usize = item.iter().map(|(name, value)| name.len() + format!("{value:?}").len()).sum();
        assert!(bytes < 2_048, "{bytes} bytes as debug text, which is about twice the item");
        assert_eq!(item.contains_key("GSI1PK"), turn.due.is_some());
        assert_eq!(decode::<TurnItem>(item).unwrap().into_turn(key()).unwrap(), turn);
    }
}

#[test]
fn pending_usage_round_trips_with_its_head() {
    for state in states() {
        let turn = turn(state);
        let spent =
            Spent { pending: Some(Box::new(pending())), is_told: true, ..turn.spent.clone().unwrap() };
        let turn = Turn { spent: Some(spent), ..turn };
        let item = encode(&turn).unwrap();
        let bytes: usize = item.iter().map(|(name, value)| name.len() + format!("{value:?}").len()).sum();
        assert!(bytes < 4_096, "{bytes} bytes as debug text, which is about twice the item");
        assert_eq!(decode::<TurnItem>(item).unwrap().into_turn(key()).unwrap(), turn);
    }
}

#[test]
fn old_head_counts_takeovers_of_its_stage() {
    for (state, expected) in states().into_iter().zip([1, 0, 0, 0, 0]) {
        let mut item = encode(&turn(state)).unwrap();
        assert!(item.remove("Takeovers").is_some());
        assert_eq!(decode::<TurnItem>(item).unwrap().into_turn(key()).unwrap().takeovers, expected);
    }
}

fn bare() -> Session {
    let now = Timestamp::from_millis(1_000_000);
    Session {
        key: key().session,
        rev: 3,
        name: "A name".to_owned(),
        name_source: NameSource::Excerpt,
        description: None,
        category: None,
        visibility: Visibility::Org,
        edited: None,
        deleted: None,
        quarantine: None,
        owner: User { id: UserId::new("ada").unwrap(), name: "Ada".to_owned() },
        created: now,
        last_activity: now,
        turn_count: 2,
        open_turn: None,
        last_turn: Some(LastTurn { id: key().turn, status: TurnStatus::Failed, at: now }),
        tip: None,
        forked_from: None,
        cutoff: None,
        chain: None,
        stateless_provider: None,
        mode: "general".to_owned(),
        usage: Usage { total_tokens: 9, cached_tokens: Some(0), ..Usage::default() },
        costs: Vec::new(),
        ratings: Ratings::default(),
        contexts: Contexts::default(),
        hints: Hints::default(),
        solution: None,
    }
}

fn full() -> Session {
    Session {
        name_source: NameSource::Requested,
        description: Some("What it is about".to_owned()),
        category: Some("billing".to_owned()),
        visibility: Visibility::Participants,
        edited: Some(Timestamp::from_millis(2_000_000)),
        deleted: Some(Deletion {
            at: Timestamp::from_millis(2_000_000),
            by: UserId::new("bob").unwrap(),
            retained_until: Timestamp::from_millis(3_000_000),
            purged: false,
        }),
        open_turn: Some(key().turn),
        chain: Some(ChainHead {
            response_id: "r".to_owned(),
            model: "m".to_owned(),
            provider: Some("api.example.com".to_owned()),
            mode: Some("general".to_owned()),
            solution: Some(Fingerprint::hash_bytes(b"text")),
            context_tokens: 1_234,
            expires: Timestamp::from_millis(1_000_000),
        }),
        stateless_provider: Some("other.example.com".to_owned()),
        hints: Hints { repo: Some("aptix".to_owned()), ..Hints::default() },
        ratings: Ratings { count: 3, sum: 13 },
        costs: vec![Cost { amount: Amount::from_micros(1_250), currency: "USD".to_owned() }],
        tip: Some(ParentRef::in_session(1)),
        forked_from: Some(ForkOrigin {
            session: SessionId::new("s0").unwrap(),
            turn: key().turn,
            sequence: 4,
            depth: 6,
        }),
        cutoff: Some(Cutoff { session: SessionId::new("s0").unwrap(), sequence: 2, hidden_depth: 3 }),
        solution: Some(SolutionContext {
            session: Some(key().session.session),
            turn: key().turn,
            request: Fingerprint::hash_bytes(b"request"),
            submission_id: Some(attempt("r")),
            text: Fingerprint::hash_bytes(b"text"),
        }),
        ..bare()
    }
}

#[test]
fn session_item_round_trips() {
    for session in [bare(), full()] {
        let item = encode(&session).unwrap();
        assert_eq!(decode::<SessionItem>(item).unwrap().into_session(key().session), session);
    }
}

#[test]
fn old_session_without_provider_keeps_its_chain() {
    let mut item = encode(&full()).unwrap();
    for later in
        ["NameSource", "ChainProvider", "ChainSolution", "Costs", "Solution", "RatingCount", "RatingSum"]
    {
        item.remove(later).unwrap();
    }
    let session = decode::<SessionItem>(item).unwrap().into_session(key().session);
    let chain = session.chain.unwrap();
    assert_eq!((chain.response_id.as_str(), chain.provider, chain.solution), ("r", None, None));
    assert_eq!((session.costs, session.solution), (Vec::new(), None));
    assert_eq!((session.ratings, session.name_source), (Ratings::default(), NameSource::Excerpt));
}

#[test]
fn newer_version_is_rejected_and_unknown_attributes_ignored() {
    let mut item = encode(&turn(states().remove(0))).unwrap();
    item.insert("AddedLater".to_owned(), AttributeValue::Bool(true));
    assert!(decode::<TurnItem>(item.clone()).is_ok());
    item.insert("V".to_owned(), AttributeValue::N("2".to_owned()));
    let refused = decode::<TurnItem>(item).unwrap_err();
    assert!(matches!(refused, Unreadable::Newer(newer) if newer.found == 2));
    assert!(
        causes(&refused).to_string().ends_with("unsupported version 2: this code reads versions up to 1")
    );
}

#[test]
fn head_without_required_attribute_is_rejected_by_name() {
    let mut item = encode(&turn(states().remove(0))).unwrap();
    item.remove("LeaseEnds");
    let refused = decode::<TurnItem>(item).unwrap().into_turn(key()).unwrap_err();
    assert_eq!(refused.to_string(), "missing attribute LeaseEnds");
}

/// Returns the errors for an item with one attribute after another replaced by a wrong value.
fn errors_of_spoilt<T: serde::de::DeserializeOwned + std::fmt::Debug>(item: &Attributes) -> Vec<String> {
    let text = AttributeValue::S("marker".to_owned());
    let map = AttributeValue::M(Attributes::from([("marker".to_owned(), text.clone())]));
    let list = AttributeValue::L(vec![map.clone()]);
    let number = AttributeValue::N("marker".to_owned());
    let spoil = |name: &String, other: &AttributeValue| {
        let spoilt = Attributes::from([(name.clone(), other.clone())]);
        decode::<T>(item.clone().into_iter().chain(spoilt).collect()).err()
    };
    let errors = item.keys().filter(|name| *name != "V").flat_map(|name| {
        [&text, &map, &list, &number].into_iter().filter_map(move |other| spoil(name, other))
    });
    let message = errors.map(|error| {
        let message = causes(&error).to_string();
        assert!(!format!("{message}{error:?}").contains("marker"), "{error:?}");
        message
    });
    message.collect()
}

#[test]
fn malformed_item_error_names_attribute_and_hides_content() {
    let turn = encode(&turn(states().remove(0))).unwrap();
    let message = errors_of_spoilt::<TurnItem>(&turn);
    for attribute in ["Seq", "Phase", "Fingerprint", "Attempts", "AcceptedResults"] {
        let expected = format!("invalid TurnItem: attribute {attribute} is malformed");
        assert!(message.contains(&expected), "{attribute} is not among {message:?}");
    }
    let session = errors_of_spoilt::<SessionItem>(&encode(&full()).unwrap());
    assert!(session.contains(&"invalid SessionItem: attribute Usage is malformed".to_owned()));

    let mut lacking = turn;
    lacking.remove("Seq");
    let message = decode::<TurnItem>(lacking).unwrap_err().to_string();
    assert_eq!(message, "invalid TurnItem: an attribute is missing or malformed");
}

#[test]
fn malformed_details_and_checkpoints_hide_their_content() {
    let attributes = |names: &[&str]| -> Attributes {
        names.iter().map(|name| ((*name).to_owned(), AttributeValue::S("marker".to_owned()))).collect()
    };
    let request = attributes(&["PK", "SK", "Fingerprint", "RequestedById", "InstructionSummary"]);
    let result = attributes(&["PK", "SK", "Usage", "Errors", "AnswerSummary", "ChunkRefs"]);
    let mode = attributes(&["PK", "SK", "Turn", "Sequence", "Reason"]);
    let checkpoint = attributes(&["PK", "SK", "End", "Index", "Text"]);
    for error in [
        decode::<RequestItem>(request).unwrap_err(),
        decode::<ResultItem>(result).unwrap_err(),
        decode::<ModeItem>(mode).unwrap_err(),
        decode::<CheckpointItem>(checkpoint).unwrap_err(),
    ] {
        let message = causes(&error).to_string();
        assert!(message.starts_with("invalid "), "{message}");
        assert!(!format!("{message}{error:?}").contains("marker"), "{error:?}");
    }
}
