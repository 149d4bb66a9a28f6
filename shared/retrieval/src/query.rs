//! The query: one search as the database is asked it.
//!
//! Without hints and terms it is the nearest points by the dense vector. Otherwise each way to look is a prefetch with
//! the filter of its own, and what they find is fused by reciprocal rank: by the dense vector and, where the collection
//! has them, by terms; plain, and among what hints favour. The plain ones find all that may be found, so hints move
//! chunks and leave out none.

use agent::retrieval::{MOST_CHUNKS, Search};
use qdrant_client::qdrant::{
    Fusion, PayloadIncludeSelector, PrefetchQuery, PrefetchQueryBuilder, Query, QueryPoints,
    QueryPointsBuilder, VectorInput, with_payload_selector::SelectorOptions,
};

use crate::collection::{Layout, TERMS};
use crate::filter::{Filters, filters};
use crate::payload::TOLD;
use crate::terms::Terms;

/// So many more candidates are asked for than are wanted: of some the lines are told already, others are too long.
const CANDIDATES_PER_CHUNK: u64 = 3;

/// What is asked.
#[must_use]
pub fn query(search: &Search<'_>, layout: &Layout, vector: &[f32]) -> QueryPoints {
    let limit = u64::from(search.chunks.clamp(1, MOST_CHUNKS)) * CANDIDATES_PER_CHUNK;
    let Filters { plain, hinted } = filters(search.org, search.scope, search.hints, &layout.texts);
    let dense = Query::new_nearest(vector.to_vec());
    let mut ways = vec![(dense, layout.dense.0.clone())];
    let terms = Terms::of_question(search.question);
    if layout.has_terms && !terms.is_empty() {
        let terms = Query::new_nearest(VectorInput::new_sparse(terms.indices, terms.values));
        ways.push((terms, Some(TERMS.to_owned())));
    }
    let told = PayloadIncludeSelector { fields: TOLD.map(str::to_owned).to_vec() };
    let asked =
        QueryPointsBuilder::new(search.collection).limit(limit).with_payload(SelectorOptions::Include(told));
    if let ([(dense, using)], None) = (ways.as_slice(), &hinted) {
        let asked = asked.query(dense.clone()).filter(plain);
        return match using {
            Some(using) => asked.using(using.clone()).build(),
            None => asked.build(),
        };
    }
    let among = std::iter::once(plain).chain(hinted);
    let prefetches = among.flat_map(|filter| {
        ways.iter().map(move |(way, using)| {
            let prefetch =
                PrefetchQueryBuilder::default().query(way.clone()).filter(filter.clone()).limit(limit);
            match using {
                Some(using) => prefetch.using(using.clone()).build(),
                None => prefetch.build(),
            }
        })
    });
    let prefetches: Vec<PrefetchQuery> = prefetches.collect();
    asked.prefetch(prefetches).query(Fusion::Rrf).build()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use agent::retrieval::Hint;
    use contracts::id::OrgId;
    use proptest::prelude::*;
    use qdrant_client::qdrant::Filter;

    use super::*;
    use crate::filter::tests::{any_scope, assert_of_tenant};

    fn layout(has_terms: bool) -> Layout {
        Layout { dense: (Some("dense".to_owned()), 2), has_terms, texts: BTreeSet::new() }
    }

    fn search<'a>(org: &'a OrgId, hints: &'a [Hint]) -> Search<'a> {
        Search { org, collection: "c", question: "keep the lease", scope: &[], hints, chunks: 8 }
    }

    #[test]
    fn without_terms_and_hints_it_is_one_plain_search() {
        let org = OrgId::new("acme").unwrap();
        let asked = query(&search(&org, &[]), &layout(false), &[1.0, 0.0]);
        assert!(asked.prefetch.is_empty());
        assert_eq!((asked.using.as_deref(), asked.limit), (Some("dense"), Some(24)));
        assert_of_tenant(&asked.filter.unwrap(), &org);
    }

    #[test]
    fn each_way_to_look_is_a_prefetch_and_hints_add_to_the_plain_ones() {
        let org = OrgId::new("acme").unwrap();
        let hints = [Hint::new("Repo", "core")];
        let ways = |asked: &QueryPoints| -> Vec<(String, usize)> {
            let way =
                |one: &PrefetchQuery| (one.using.clone().unwrap(), one.filter.as_ref().unwrap().must.len());
            asked.prefetch.iter().map(way).collect()
        };
        let named = |ways: &[(&str, usize)]| -> Vec<(String, usize)> {
            ways.iter().map(|(name, conditions)| ((*name).to_owned(), *conditions)).collect()
        };
        let hybrid = query(&search(&org, &[]), &layout(true), &[1.0, 0.0]);
        assert_eq!(ways(&hybrid), named(&[("dense", 1), ("terms", 1)]));
        let hinted = query(&search(&org, &hints), &layout(false), &[1.0, 0.0]);
        assert_eq!(ways(&hinted), named(&[("dense", 1), ("dense", 2)]));
        let both = query(&search(&org, &hints), &layout(true), &[1.0, 0.0]);
        assert_eq!(ways(&both), named(&[("dense", 1), ("terms", 1), ("dense", 2), ("terms", 2)]));
    }

    #[test]
    fn a_question_without_a_term_is_searched_by_its_vector() {
        let org = OrgId::new("acme").unwrap();
        let asked = Search { question: "? !", ..search(&org, &[]) };
        assert!(query(&asked, &layout(true), &[1.0, 0.0]).prefetch.is_empty());
    }

    fn leaves(asked: &QueryPoints) -> Vec<Filter> {
        let own = asked.prefetch.is_empty().then(|| asked.filter.clone().unwrap_or_default());
        let prefetched = asked.prefetch.iter().map(|one| {
            assert!(one.prefetch.is_empty());
            one.filter.clone().unwrap_or_default()
        });
        own.into_iter().chain(prefetched).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]

        #[test]
        fn whatever_is_asked_every_way_to_look_is_of_the_callers_org_alone(
            (org, scope, hints) in any_scope(), question in "\\PC{0,20}", has_terms: bool, chunks: u32,
        ) {
            let search =
                Search { org: &org, collection: "c", question: &question, scope: &scope, hints: &hints, chunks };
            let asked = query(&search, &layout(has_terms), &[1.0, 0.0]);
            prop_assert!(asked.limit.unwrap() <= 192);
            for filter in leaves(&asked) {
                assert_of_tenant(&filter, &org);
            }
        }
    }
}
