//! The collection, and what a point of it is.
//!
//! A session's sparse vector has a dimension for each of its terms, whose value is 1, and one that says how new the
//! session is, with a value below 1. So the score of a search is how many of its terms a session has, and what is behind
//! the point orders those that have all of them, newest first.

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
use turns::ports::{Candidate, Filled, Indexed};
use uuid::Uuid;

use crate::terms::hash;

/// The name of the sparse vector. Terms that are made in another way need another name, and another place in
/// [`NAMESPACE`].
pub(super) const BEGINNINGS: &str = "beginnings";

/// The most sessions that the index names at once.
pub const MOST_CANDIDATES: u64 = 500;

/// The payload keys.
pub(super) mod key {
    /// The tenant.
    pub(crate) const ORG_ID: &str = agent::retrieval::key::ORG_ID;
    /// The session.
    pub(crate) const SESSION_ID: &str = "SessionId";
    /// When it was last active, in milliseconds since 1970.
    pub(crate) const LAST_ACTIVITY: &str = "LastActivity";
    /// Who takes part in it.
    pub(crate) const USER_IDS: &str = "UserIds";
    /// Of an org's own point: the place to which the index is filled; empty where it is filled.
    pub(crate) const FILLED_TO: &str = "FilledTo";
}

/// The namespace of the ids of these points.
const NAMESPACE: Uuid = Uuid::from_u128(0x1f0c_6a7e_93b1_4c58_8d2e_44a1_f7be_0c35);

/// The dimension that says how new a session is.
const NEWNESS: u32 = 0;

/// A dimension of every org's own point, which no search asks for.
const NOT_SOUGHT: u32 = 1;

/// How new sessions may be: newness is 0 at the first of these instants, and all of it at the second one.
const TIMES: (i64, i64) = (1_704_067_200_000, 2_650_752_000_000);

/// All of it. Its distance from 1 keeps one that lacks a term apart from one that lacks none.
const NEWEST: f64 = 0.9;

/// A collection of sessions.
pub(super) fn create(name: &str) -> CreateCollection {
    let mut sparse = SparseVectorsConfigBuilder::default();
    sparse.add_named_vector_params(BEGINNINGS, SparseVectorParamsBuilder::default());
    CreateCollectionBuilder::new(name).sparse_vectors_config(sparse).build()
}

/// The indexes of its payload: the tenant's first.
pub(super) fn indexes(name: &str) -> Vec<CreateFieldIndexCollection> {
    let of = |key: &str, kind: FieldType| CreateFieldIndexCollectionBuilder::new(name, key, kind);
    let tenant = KeywordIndexParamsBuilder::default().is_tenant(true);
    let indexes = [
        of(key::ORG_ID, FieldType::Keyword).field_index_params(tenant),
        of(key::USER_IDS, FieldType::Keyword),
        of(key::LAST_ACTIVITY, FieldType::Integer),
    ];
    indexes.into_iter().map(|index| index.wait(true).build()).collect()
}

/// The id of a session's point: the same session is the same point.
pub(super) fn id(session: &SessionKey) -> String {
    let named = [session.org.as_str(), session.session.as_str()];
    id_of(&named.map(|name| format!("{}:{name}", name.len())).join("/"))
}

/// The id of an org's own point.
pub(super) fn id_of_org(org: &OrgId) -> String {
    id_of(&format!("{}:{org}", org.as_str().len()))
}

fn id_of(name: &str) -> String {
    Uuid::new_v5(&NAMESPACE, name.as_bytes()).to_string()
}

/// A session's point.
pub(super) fn point(session: &Indexed) -> PointStruct {
    let mut vector = vector(&session.terms);
    vector.insert(NEWNESS, newness(session.last_activity));
    let users: Vec<String> = session.users.iter().map(|user| user.as_str().to_owned()).collect();
    let payload: [(&str, Value); 4] = [
        (key::ORG_ID, session.key.org.as_str().into()),
        (key::SESSION_ID, session.key.session.as_str().into()),
        (key::LAST_ACTIVITY, session.last_activity.as_millis().into()),
        (key::USER_IDS, users.into()),
    ];
    made(id(&session.key), vector, payload.into())
}

/// An org's own point. It has no key that a search's filter asks for.
pub(super) fn point_of_org(org: &OrgId, filled: &Filled) -> PointStruct {
    let to = match filled {
        Filled::Nothing => Vec::new(),
        Filled::To(place) => vec![(key::FILLED_TO, place.as_str().into())],
        Filled::Whole => vec![(key::FILLED_TO, "".into())],
    };
    made(id_of_org(org), BTreeMap::from([(NOT_SOUGHT, 1.0)]), to)
}

fn made(id: String, vector: BTreeMap<u32, f32>, payload: Vec<(&str, Value)>) -> PointStruct {
    let (indices, values): (Vec<u32>, Vec<f32>) = vector.into_iter().unzip();
    let vectors = HashMap::from([(BEGINNINGS.to_owned(), Vector::new_sparse(indices, values))]);
    let payload: HashMap<String, Value> =
        payload.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    PointStruct::new(id, NamedVectors { vectors }, payload)
}

/// How far the index is filled, as an org's own point says.
pub(super) fn filled(payload: Option<HashMap<String, Value>>) -> Filled {
    match payload.and_then(|mut payload| text(payload.remove(key::FILLED_TO))) {
        None => Filled::Nothing,
        Some(to) if to.is_empty() => Filled::Whole,
        Some(to) => Filled::To(to),
    }
}

/// The candidate that a point names, with its org; none where it is no point of ours.
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

/// A dimension of value 1 for each term.
pub(super) fn vector(terms: &BTreeSet<String>) -> BTreeMap<u32, f32> {
    terms.iter().map(|term| (hash(term).max(NOT_SOUGHT + 1), 1.0)).collect()
}

/// The same, as a search asks for it, and the least score of what has all terms.
pub(super) fn asked(terms: &BTreeSet<String>) -> (BTreeMap<u32, f32>, f32) {
    let mut vector = vector(terms);
    #[expect(clippy::cast_precision_loss, reason = "a few terms")]
    let all = vector.len() as f32;
    vector.insert(NEWNESS, 1.0);
    (vector, all - 0.05)
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "it orders, within the hour"
)]
fn newness(at: Timestamp) -> f32 {
    let (first, last) = TIMES;
    let part = (at.as_millis() - first) as f64 / (last - first) as f64;
    // A value of 0 might not be kept.
    (part.clamp(1e-6, 1.0) * NEWEST) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(terms: &[&str]) -> BTreeSet<String> {
        terms.iter().map(|term| (*term).to_owned()).collect()
    }

    fn score(asked: &BTreeMap<u32, f32>, held: &BTreeMap<u32, f32>) -> f32 {
        asked.iter().filter_map(|(at, one)| Some(one * held.get(at)?)).sum()
    }

    fn session(at: i64, held: &[&str]) -> BTreeMap<u32, f32> {
        let mut vector = vector(&terms(held));
        vector.insert(NEWNESS, newness(Timestamp::from_millis(at)));
        vector
    }

    #[test]
    fn what_has_all_terms_is_over_the_threshold_newest_first_and_what_lacks_one_is_below() {
        let ages = [-1_i64, 0, 1_704_067_200_000, 1_790_000_000_000, 1_790_003_600_000, i64::MAX / 4];
        for count in [1, 2, 8, 16] {
            let names: Vec<String> = (0..count).map(|number| format!("term{number}")).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let (asked, least) = asked(&terms(&names));
            let scores: Vec<f32> = ages.iter().map(|at| score(&asked, &session(*at, &names))).collect();
            assert!(scores.iter().all(|score| *score > least), "{count}: {scores:?}");
            assert!(scores.is_sorted(), "{count}: {scores:?}");
            assert!(scores[3] < scores[4], "an hour tells two apart: {count}: {scores:?}");
            let lacks = score(&asked, &session(i64::MAX / 4, &names[1..]));
            assert!(lacks < least, "{count}: {lacks}");
        }
    }

    #[test]
    fn the_id_of_a_session_stays_and_no_two_share_one() {
        let key = |org: &str, session: &str| SessionKey {
            org: OrgId::new(org).unwrap(),
            session: SessionId::new(session).unwrap(),
        };
        assert_eq!(id(&key("acme", "s1")), "946b3ba7-5607-57db-b32f-94d33f45d302");
        let others =
            [id(&key("acme", "s11")), id(&key("acme1", "s1")), id_of_org(&OrgId::new("acme").unwrap())];
        assert!(others.iter().all(|other| *other != id(&key("acme", "s1"))));
    }

    #[test]
    fn how_far_it_is_filled_reads_back() {
        let org = OrgId::new("acme").unwrap();
        for told in [Filled::Nothing, Filled::To("place".to_owned()), Filled::Whole] {
            assert_eq!(filled(Some(point_of_org(&org, &told).payload)), told);
        }
        assert_eq!(filled(None), Filled::Nothing);
    }

    #[test]
    fn a_point_holds_no_text() {
        let indexed = Indexed {
            key: SessionKey { org: OrgId::new("acme").unwrap(), session: "s".parse().unwrap() },
            last_activity: Timestamp::from_millis(1),
            users: ["ada".parse().unwrap()].into(),
            terms: terms(&["secret"]),
        };
        let point = point(&indexed);
        assert!(!format!("{point:?}").contains("secret"));
        let (org, found) = candidate(point.payload).unwrap();
        let expected = Candidate { last_activity: indexed.last_activity, session: indexed.key.session };
        assert_eq!((org.as_str(), found), ("acme", expected));
    }
}
