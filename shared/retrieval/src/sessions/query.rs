//! The query of the session index and its result.

use std::collections::BTreeSet;

use contracts::id::OrgId;
use qdrant_client::qdrant::{
    Condition, FieldCondition, Filter, PayloadIncludeSelector, Query, QueryPoints, QueryPointsBuilder, Range,
    ScoredPoint, VectorInput, with_payload_selector::SelectorOptions,
};
use turns::ports::{Candidates, IndexQuery};

use super::layout::{self, MAX_CANDIDATES, PREFIX_TERMS, key};
use crate::filter::exact_match;

/// Builds the query.
pub(super) fn build(collection: &str, query: &IndexQuery<'_>) -> QueryPoints {
    let (vector, min_score) = layout::query_vector(query.terms);
    let (indices, values): (Vec<u32>, Vec<f32>) = vector.into_iter().unzip();
    let fields = [key::ORG_ID, key::SESSION_ID, key::LAST_ACTIVITY].map(str::to_owned).to_vec();
    QueryPointsBuilder::new(collection)
        .query(Query::new_nearest(VectorInput::new_sparse(indices, values)))
        .using(PREFIX_TERMS)
        .filter(filter(query))
        .score_threshold(min_score)
        .limit(MAX_CANDIDATES)
        .with_payload(SelectorOptions::Include(PayloadIncludeSelector { fields }))
        .build()
}

/// Builds the filter. Every search has a condition on the tenant (I7).
fn filter(query: &IndexQuery<'_>) -> Filter {
    let mut filter = Filter::must([exact_match(key::ORG_ID, query.org.as_str())]);
    filter.must.extend(query.user.map(|user| exact_match(key::USER_IDS, user.as_str())));
    if query.active.from.is_some() || query.active.to.is_some() {
        #[expect(clippy::cast_precision_loss, reason = "milliseconds of these millennia are exact")]
        let millis = |at: contracts::Timestamp| at.as_millis() as f64;
        let (gte, lte) = (query.active.from.map(millis), query.active.to.map(millis));
        let range = Range { gte, lte, ..Range::default() };
        let key = key::LAST_ACTIVITY.to_owned();
        filter.must.push(Condition::from(FieldCondition {
            key,
            range: Some(range),
            ..FieldCondition::default()
        }));
    }
    filter
}

/// Returns the sessions found. If there may be more, those with the lowest score are left to the next search: others
/// with the same score may not be in this result.
pub(super) fn candidates(org: &OrgId, points: Vec<ScoredPoint>) -> Candidates {
    let is_complete = (points.len() as u64) < MAX_CANDIDATES;
    let min_score = points.iter().map(|point| point.score).fold(f32::INFINITY, f32::min);
    let max_score = points.iter().map(|point| point.score).fold(f32::NEG_INFINITY, f32::max);
    let is_kept = |point: &ScoredPoint| is_complete || point.score > min_score || max_score <= min_score;
    let mut seen = BTreeSet::new();
    // The filter excludes other orgs' points; drop any that come back all the same. A session may have a point with terms of
    // an earlier kind.
    let sessions = points
        .into_iter()
        .filter(is_kept)
        .filter_map(|point| layout::candidate(point.payload))
        .filter(|(point_org, _)| point_org == org.as_str())
        .map(|(_, candidate)| candidate)
        .filter(|candidate| seen.insert(candidate.session.clone()));
    Candidates { sessions: sessions.collect(), is_complete }
}

#[cfg(test)]
mod tests {
    use contracts::{Timestamp, id::UserId};
    use turns::ports::{Indexed, TimeRange};

    use super::*;
    use crate::filter::tests::assert_of_tenant;

    #[test]
    fn every_search_is_limited_to_the_callers_org_and_bounded() {
        let (org, user) = (OrgId::new("acme corp").unwrap(), "ada".parse::<UserId>().unwrap());
        let at = Some(Timestamp::from_millis(1_767_225_600_123));
        let terms = BTreeSet::from(["a".to_owned()]);
        for user in [None, Some(&user)] {
            for active in
                [TimeRange::default(), TimeRange { from: None, to: at }, TimeRange { from: at, to: at }]
            {
                let request = build("c", &IndexQuery { org: &org, user, active, terms: &terms });
                assert_of_tenant(&request.filter.unwrap(), &org);
                assert_eq!(request.limit, Some(MAX_CANDIDATES));
            }
        }
    }

    fn point(org: &str, number: usize, score: f32) -> ScoredPoint {
        let key = protocol::id::SessionKey {
            org: OrgId::new(org).unwrap(),
            session: format!("s{number}").parse().unwrap(),
        };
        let last_activity = Timestamp::from_millis(i64::try_from(number).unwrap());
        let indexed = Indexed { key, last_activity, users: BTreeSet::new(), terms: BTreeSet::new() };
        let payload = layout::session_point(&indexed).payload;
        ScoredPoint { payload, score, ..ScoredPoint::default() }
    }

    #[test]
    fn lowest_scores_are_left_to_the_next_search() {
        let org = OrgId::new("acme").unwrap();
        let max_score = usize::try_from(MAX_CANDIDATES).unwrap();
        let few =
            candidates(&org, vec![point("acme", 1, 1.5), point("rival", 2, 1.4), point("acme", 3, 1.4)]);
        assert_eq!((few.sessions.len(), few.is_complete), (2, true));
        let scored = |number: usize| if number < 7 { 1.4 } else { 1.5 };
        let full =
            candidates(&org, (0..max_score).map(|number| point("acme", number, scored(number))).collect());
        assert_eq!((full.sessions.len(), full.is_complete), (max_score - 7, false));
        let alike = candidates(&org, (0..max_score).map(|number| point("acme", number, 1.4)).collect());
        assert_eq!((alike.sessions.len(), alike.is_complete), (max_score, false));
    }
}
