//! How the index is asked, and what its answer comes to.

use contracts::id::OrgId;
use qdrant_client::qdrant::{
    Condition, FieldCondition, Filter, PayloadIncludeSelector, Query, QueryPoints, QueryPointsBuilder, Range,
    ScoredPoint, VectorInput, with_payload_selector::SelectorOptions,
};
use turns::ports::{Candidates, Sought};

use super::layout::{self, BEGINNINGS, MOST_CANDIDATES, key};
use crate::filter::keyword;

/// What is asked.
pub(super) fn query(collection: &str, sought: &Sought<'_>) -> QueryPoints {
    let (vector, least) = layout::asked(sought.terms);
    let (indices, values): (Vec<u32>, Vec<f32>) = vector.into_iter().unzip();
    let fields = [key::ORG_ID, key::SESSION_ID, key::LAST_ACTIVITY].map(str::to_owned).to_vec();
    QueryPointsBuilder::new(collection)
        .query(Query::new_nearest(VectorInput::new_sparse(indices, values)))
        .using(BEGINNINGS)
        .filter(filter(sought))
        .score_threshold(least)
        .limit(MOST_CANDIDATES)
        .with_payload(SelectorOptions::Include(PayloadIncludeSelector { fields }))
        .build()
}

/// The tenant is a condition of every search (I7).
fn filter(sought: &Sought<'_>) -> Filter {
    let mut filter = Filter::must([keyword(key::ORG_ID, sought.org.as_str())]);
    filter.must.extend(sought.user.map(|user| keyword(key::USER_IDS, user.as_str())));
    if sought.active.from.is_some() || sought.active.to.is_some() {
        #[expect(clippy::cast_precision_loss, reason = "milliseconds of these millennia are exact")]
        let millis = |at: contracts::Timestamp| at.as_millis() as f64;
        let (gte, lte) = (sought.active.from.map(millis), sought.active.to.map(millis));
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

/// The sessions that were found. Where there may be more, those that are as new as the oldest here, by what a score
/// tells, are left to the next search, since others may be that were not named.
pub(super) fn candidates(org: &OrgId, found: Vec<ScoredPoint>) -> Candidates {
    let are_all = (found.len() as u64) < MOST_CANDIDATES;
    let least = found.iter().map(|point| point.score).fold(f32::INFINITY, f32::min);
    let most = found.iter().map(|point| point.score).fold(f32::NEG_INFINITY, f32::max);
    let stays = |point: &ScoredPoint| are_all || point.score > least || most <= least;
    // The filter keeps other orgs' points away. What came all the same is nobody's.
    let sessions = found
        .into_iter()
        .filter(stays)
        .filter_map(|point| layout::candidate(point.payload))
        .filter(|(of, _)| of == org.as_str())
        .map(|(_, candidate)| candidate);
    Candidates { sessions: sessions.collect(), are_all }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use contracts::{Timestamp, id::UserId};
    use turns::ports::{Between, Indexed};

    use super::*;
    use crate::filter::tests::assert_of_tenant;

    #[test]
    fn every_search_is_of_the_callers_org_alone_and_bounded() {
        let (org, user) = (OrgId::new("acme corp").unwrap(), "ada".parse::<UserId>().unwrap());
        let at = Some(Timestamp::from_millis(1_767_225_600_123));
        let terms = BTreeSet::from(["a".to_owned()]);
        for user in [None, Some(&user)] {
            for active in [Between::default(), Between { from: None, to: at }, Between { from: at, to: at }] {
                let asked = query("c", &Sought { org: &org, user, active, terms: &terms });
                assert_of_tenant(&asked.filter.unwrap(), &org);
                assert_eq!(asked.limit, Some(MOST_CANDIDATES));
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
        let payload = layout::point(&indexed).payload;
        ScoredPoint { payload, score, ..ScoredPoint::default() }
    }

    #[test]
    fn where_there_may_be_more_the_oldest_are_left_to_the_next_search() {
        let org = OrgId::new("acme").unwrap();
        let most = usize::try_from(MOST_CANDIDATES).unwrap();
        let few =
            candidates(&org, vec![point("acme", 1, 1.5), point("rival", 2, 1.4), point("acme", 3, 1.4)]);
        assert_eq!((few.sessions.len(), few.are_all), (2, true));
        let scored = |number: usize| if number < 7 { 1.4 } else { 1.5 };
        let full = candidates(&org, (0..most).map(|number| point("acme", number, scored(number))).collect());
        assert_eq!((full.sessions.len(), full.are_all), (most - 7, false));
        let alike = candidates(&org, (0..most).map(|number| point("acme", number, 1.4)).collect());
        assert_eq!((alike.sessions.len(), alike.are_all), (most, false));
    }
}
