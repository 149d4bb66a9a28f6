//! The layout of the session index: its collection and its points.
//!
//! A session's sparse vector has a dimension of value 1 for each of its terms, and one below 1 for the session's
//! recency. So the integer part of a score is the number of terms that match, and the fraction orders the sessions
//! that match all of them, newest first.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use contracts::{
    Timestamp,
    id::{OrgId, SessionId},
};
use protocol::id::SessionKey;
use qdrant_client::qdrant::{
    CreateCollection, CreateCollectionBuilder, CreateFieldIndexCollection, CreateFieldIndexCollectionBuilder,
    FieldType, KeywordIndexParamsBuilder, NamedVectors, PointStruct, SparseVectorParamsBuilder,
    SparseVectorsConfigBuilder, Value, Vector, value::Kind,
};
use turns::ports::{Backfill, Candidate, Indexed};
use uuid::Uuid;

use crate::sparse_vector::hash_term;

/// The name of the sparse vector. A change of how terms are made requires another [`NAMESPACE`].
pub(super) const PREFIX_TERMS: &str = "prefixes";

/// The maximum number of sessions that one search returns.
pub const MAX_CANDIDATES: u64 = 500;

/// The payload keys.
pub(super) mod key {
    /// The tenant.
    pub(crate) const ORG_ID: &str = agent::retrieval::key::ORG_ID;
    /// The session.
    pub(crate) const SESSION_ID: &str = "SessionId";
    /// Its last activity, in milliseconds since 1970.
    pub(crate) const LAST_ACTIVITY: &str = "LastActivity";
    /// Its participants.
    pub(crate) const USER_IDS: &str = "UserIds";
    /// In an org's own point: the cursor up to which the index is backfilled, or empty once it is complete.
    pub(crate) const FILLED_TO: &str = "FilledTo";
}

/// The namespace of the ids of these points. With another one the index counts as empty: no org's point says that it is
/// complete, so searches scan until a backfill has written every session again.
const NAMESPACE: Uuid = Uuid::from_u128(0x5b63_0d2a_8e47_4f19_b6c5_d07e_913a_2f84);

/// The namespace of points whose terms were made in an earlier way. They are removed as their sessions are written again.
const EARLIER_NAMESPACE: Uuid = Uuid::from_u128(0x1f0c_6a7e_93b1_4c58_8d2e_44a1_f7be_0c35);

/// The dimension of a session's recency.
const RECENCY: u32 = 0;

/// The dimension of every org's own point, which no search uses.
const UNSEARCHED: u32 = 1;

/// The range of recency: 0 at the first instant, and the maximum at the second.
const RECENCY_RANGE: (i64, i64) = (1_704_067_200_000, 2_650_752_000_000);

/// The maximum recency. It stays below 1, so that a session that lacks a term always scores below one that has all.
const MAX_RECENCY: f64 = 0.9;

/// Returns the request that creates a collection of sessions.
pub(super) fn create_request(name: &str) -> CreateCollection {
    let mut sparse = SparseVectorsConfigBuilder::default();
    sparse.add_named_vector_params(PREFIX_TERMS, SparseVectorParamsBuilder::default());
    CreateCollectionBuilder::new(name).sparse_vectors_config(sparse).build()
}

/// Returns the requests that create its payload indexes: the tenant's first.
pub(super) fn index_requests(name: &str) -> Vec<CreateFieldIndexCollection> {
    let index_on = |key: &str, kind: FieldType| CreateFieldIndexCollectionBuilder::new(name, key, kind);
    let tenant = KeywordIndexParamsBuilder::default().is_tenant(true);
    let indexes = [
        index_on(key::ORG_ID, FieldType::Keyword).field_index_params(tenant),
        index_on(key::USER_IDS, FieldType::Keyword),
        index_on(key::LAST_ACTIVITY, FieldType::Integer),
    ];
    indexes.into_iter().map(|index| index.wait(true).build()).collect()
}

/// Returns the id of a session's point, which is deterministic.
pub(super) fn session_point_id(session: &SessionKey) -> String {
    uuid(NAMESPACE, &session_name(session))
}

/// Returns the id of a session's point whose terms were made in an earlier way.
pub(super) fn earlier_session_point_id(session: &SessionKey) -> String {
    uuid(EARLIER_NAMESPACE, &session_name(session))
}

/// Returns the id of an org's own point.
pub(super) fn org_point_id(org: &OrgId) -> String {
    uuid(NAMESPACE, &format!("{}:{org}", org.as_str().len()))
}

fn session_name(session: &SessionKey) -> String {
    let prefixed = [session.org.as_str(), session.session.as_str()];
    prefixed.map(|name| format!("{}:{name}", name.len())).join("/")
}

fn uuid(namespace: Uuid, name: &str) -> String {
    Uuid::new_v5(&namespace, name.as_bytes()).to_string()
}

/// Builds a session's point.
pub(super) fn session_point(session: &Indexed) -> PointStruct {
    let mut vector = term_vector(&session.terms);
    vector.insert(RECENCY, recency(session.last_activity));
    let users: Vec<String> = session.users.iter().map(|user| user.as_str().to_owned()).collect();
    let payload: [(&str, Value); 4] = [
        (key::ORG_ID, session.key.org.as_str().into()),
        (key::SESSION_ID, session.key.session.as_str().into()),
        (key::LAST_ACTIVITY, session.last_activity.as_millis().into()),
        (key::USER_IDS, users.into()),
    ];
    build_point(session_point_id(&session.key), vector, payload.into())
}

/// Builds an org's own point. It has no key that a search filters by.
pub(super) fn org_point(org: &OrgId, backfill: &Backfill) -> PointStruct {
    let payload = match backfill {
        Backfill::NotStarted => Vec::new(),
        Backfill::UpTo(cursor) => vec![(key::FILLED_TO, cursor.as_str().into())],
        Backfill::Complete => vec![(key::FILLED_TO, "".into())],
    };
    build_point(org_point_id(org), BTreeMap::from([(UNSEARCHED, 1.0)]), payload)
}

fn build_point(id: String, vector: BTreeMap<u32, f32>, payload: Vec<(&str, Value)>) -> PointStruct {
    let (indices, values): (Vec<u32>, Vec<f32>) = vector.into_iter().unzip();
    let vectors = HashMap::from([(PREFIX_TERMS.to_owned(), Vector::new_sparse(indices, values))]);
    let payload: HashMap<String, Value> =
        payload.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    PointStruct::new(id, NamedVectors { vectors }, payload)
}

/// Reads the backfill state from an org's own point.
pub(super) fn backfill_state(payload: Option<HashMap<String, Value>>) -> Backfill {
    match payload.and_then(|mut payload| text(payload.remove(key::FILLED_TO))) {
        None => Backfill::NotStarted,
        Some(cursor) if cursor.is_empty() => Backfill::Complete,
        Some(cursor) => Backfill::UpTo(cursor),
    }
}

/// Reads a session and its org from a point, or `None` if the point isn't a session's.
pub(super) fn candidate(mut payload: HashMap<String, Value>) -> Option<(String, Candidate)> {
    let org = text(payload.remove(key::ORG_ID))?;
    let session = SessionId::new(text(payload.remove(key::SESSION_ID))?).ok()?;
    let Some(Kind::IntegerValue(millis)) = payload.remove(key::LAST_ACTIVITY)?.kind else { return None };
    Some((org, Candidate { last_activity: Timestamp::from_millis(millis), session }))
}

fn text(value: Option<Value>) -> Option<String> {
    match value?.kind? {
        Kind::StringValue(text) => Some(text),
        _ => None,
    }
}

/// Returns a vector with value 1 for each term.
pub(super) fn term_vector(terms: &BTreeSet<String>) -> BTreeMap<u32, f32> {
    terms.iter().map(|term| (hash_term(term).max(UNSEARCHED + 1), 1.0)).collect()
}

/// Returns the query vector of these terms, and the minimum score of a session that has all of them.
pub(super) fn query_vector(terms: &BTreeSet<String>) -> (BTreeMap<u32, f32>, f32) {
    let mut vector = term_vector(terms);
    #[expect(clippy::cast_precision_loss, reason = "a few terms")]
    let all = vector.len() as f32;
    vector.insert(RECENCY, 1.0);
    (vector, all - 0.05)
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "hourly precision is enough for ordering"
)]
fn recency(at: Timestamp) -> f32 {
    let (first, last) = RECENCY_RANGE;
    let part = (at.as_millis() - first) as f64 / (last - first) as f64;
    // The database may drop a value of 0.
    (part.clamp(1e-6, 1.0) * MAX_RECENCY) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(terms: &[&str]) -> BTreeSet<String> {
        terms.iter().map(|term| (*term).to_owned()).collect()
    }

    fn score(query: &BTreeMap<u32, f32>, session_terms: &BTreeMap<u32, f32>) -> f32 {
        query.iter().filter_map(|(at, one)| Some(one * session_terms.get(at)?)).sum()
    }

    fn session(at: i64, session_terms: &[&str]) -> BTreeMap<u32, f32> {
        let mut vector = term_vector(&terms(session_terms));
        vector.insert(RECENCY, recency(Timestamp::from_millis(at)));
        vector
    }

    #[test]
    fn scores_rank_full_matches_by_recency_above_partial_ones() {
        let ages = [-1_i64, 0, 1_704_067_200_000, 1_790_000_000_000, 1_790_003_600_000, i64::MAX / 4];
        for count in [1, 2, 8, 16] {
            let names: Vec<String> = (0..count).map(|number| format!("term{number}")).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let (query, min_score) = query_vector(&terms(&names));
            let scores: Vec<f32> = ages.iter().map(|at| score(&query, &session(*at, &names))).collect();
            assert!(scores.iter().all(|score| *score > min_score), "{count}: {scores:?}");
            assert!(scores.is_sorted(), "{count}: {scores:?}");
            assert!(scores[3] < scores[4], "an hour tells two apart: {count}: {scores:?}");
            let lacks = score(&query, &session(i64::MAX / 4, &names[1..]));
            assert!(lacks < min_score, "{count}: {lacks}");
        }
    }

    #[test]
    fn session_point_id_is_stable_and_unique() {
        let key = |org: &str, session: &str| SessionKey {
            org: OrgId::new(org).unwrap(),
            session: SessionId::new(session).unwrap(),
        };
        assert_eq!(session_point_id(&key("acme", "s1")), "5590ede8-e815-59db-8305-147f0de1e438");
        assert_eq!(earlier_session_point_id(&key("acme", "s1")), "946b3ba7-5607-57db-b32f-94d33f45d302");
        let others = [
            session_point_id(&key("acme", "s11")),
            session_point_id(&key("acme1", "s1")),
            org_point_id(&OrgId::new("acme").unwrap()),
        ];
        assert!(others.iter().all(|other| *other != session_point_id(&key("acme", "s1"))));
    }

    #[test]
    fn backfill_state_round_trips() {
        let org = OrgId::new("acme").unwrap();
        for state in [Backfill::NotStarted, Backfill::UpTo("cursor".to_owned()), Backfill::Complete] {
            assert_eq!(backfill_state(Some(org_point(&org, &state).payload)), state);
        }
        assert_eq!(backfill_state(None), Backfill::NotStarted);
    }

    #[test]
    fn point_has_no_text() {
        let indexed = Indexed {
            key: SessionKey { org: OrgId::new("acme").unwrap(), session: "s".parse().unwrap() },
            last_activity: Timestamp::from_millis(1),
            users: ["ada".parse().unwrap()].into(),
            terms: terms(&["secret"]),
        };
        let point = session_point(&indexed);
        assert!(!format!("{point:?}").contains("secret"));
        let (org, session) = candidate(point.payload).unwrap();
        let expected = Candidate { last_activity: indexed.last_activity, session: indexed.key.session };
        assert_eq!((org.as_str(), session), ("acme", expected));
    }
}
