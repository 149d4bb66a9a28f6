//! Builds the database query of one search.
//!
//! Without hints and terms it requests the nearest points by the dense vector. Otherwise each kind of search is a
//! prefetch with its own filter, and reciprocal rank fusion combines the results: by the dense vector and, if the
//! collection has one, by the sparse vector; each over all points, and over those that hints favour. The searches
//! over all points cover every possible match, so hints move chunks and leave out none.

use agent::retrieval::{MAX_CHUNKS, Search};
use qdrant_client::qdrant::{
    Condition, Filter, Fusion, PayloadIncludeSelector, PointId, PrefetchQuery, PrefetchQueryBuilder, Query,
    QueryPoints, QueryPointsBuilder, VectorInput, with_payload_selector::SelectorOptions,
};

use crate::collection::{Layout, SPARSE};
use crate::filter::payload_condition::PayloadCondition;
use crate::filter::{Filters, filters};
use crate::payload::SEARCH_KEYS;
use crate::sparse_vector::SparseVector;

/// The factor of candidates to wanted chunks: some overlap others, and some are too long.
const CANDIDATES_PER_CHUNK: u64 = 3;

/// The number of results per page of a search whose results are filtered further.
pub(crate) const PAGE_POINTS: u64 = CANDIDATES_PER_CHUNK * 64;

/// The maximum number of pages of such a search.
pub(crate) const MAX_PAGES: u64 = 10;

/// Returns the number of candidates for the wanted chunks.
pub(crate) fn candidates(search: &Search<'_>) -> u64 {
    u64::from(search.chunks.clamp(1, MAX_CHUNKS)) * CANDIDATES_PER_CHUNK
}

/// Builds the query.
#[must_use]
pub fn build(search: &Search<'_>, layout: &Layout, vector: &[f32]) -> QueryPoints {
    let filters = filters(search.org, search.agent, search.scope, search.hints, &layout.keys);
    build_page(search, layout, vector, &filters, 0)
}

/// Builds the query by terms alone, for comparisons.
#[must_use]
pub fn build_by_terms(search: &Search<'_>, layout: &Layout) -> QueryPoints {
    let terms = SparseVector::from_question(search.question);
    QueryPointsBuilder::new(search.collection)
        .query(Query::new_nearest(VectorInput::new_sparse(terms.indices, terms.values)))
        .using(SPARSE)
        .filter(filters(search.org, search.agent, search.scope, search.hints, &layout.keys).base)
        .limit(candidates(search))
        .with_payload(payload_selector(SEARCH_KEYS.map(str::to_owned).to_vec()))
        .build()
}

/// Builds the query for the similarity and the payload of these points of the org.
pub(crate) fn build_lookup(
    search: &Search<'_>,
    layout: &Layout,
    vector: &[f32],
    ids: Vec<PointId>,
) -> QueryPoints {
    let mut filter = filters(search.org, search.agent, &[], &[], &layout.keys).base;
    let limit = u64::try_from(ids.len()).unwrap_or(u64::MAX);
    filter.must.push(Condition::has_id(ids));
    let request = QueryPointsBuilder::new(search.collection)
        .query(Query::new_nearest(vector.to_vec()))
        .filter(filter)
        .limit(limit)
        .with_payload(payload_selector(SEARCH_KEYS.map(str::to_owned).to_vec()));
    match &layout.dense.0 {
        Some(using) => request.using(using.clone()).build(),
        None => request.build(),
    }
}

fn payload_selector(fields: Vec<String>) -> SelectorOptions {
    SelectorOptions::Include(PayloadIncludeSelector { fields })
}

/// Builds the query for a page of results. Only a search whose results are filtered further has several.
pub(crate) fn build_page(
    search: &Search<'_>,
    layout: &Layout,
    vector: &[f32],
    filters: &Filters,
    page: u64,
) -> QueryPoints {
    let Filters { base, payload_conditions, whole_matches, hinted, .. } = filters;
    let is_paged = !payload_conditions.is_empty();
    let limit = if is_paged { PAGE_POINTS } else { candidates(search) };
    let dense = Query::new_nearest(vector.to_vec());
    let mut nearest_queries = vec![(dense, layout.dense.0.clone())];
    let sparse = SparseVector::from_question(search.question);
    if layout.has_sparse && !sparse.is_empty() {
        let sparse = Query::new_nearest(VectorInput::new_sparse(sparse.indices, sparse.values));
        nearest_queries.push((sparse, Some(SPARSE.to_owned())));
    }
    let mut payload_keys: Vec<String> = SEARCH_KEYS.map(str::to_owned).to_vec();
    payload_keys.extend(payload_conditions.iter().map(PayloadCondition::payload_key));
    payload_keys.sort_unstable();
    payload_keys.dedup();
    let mut request =
        QueryPointsBuilder::new(search.collection).limit(limit).with_payload(payload_selector(payload_keys));
    if is_paged {
        request = request.offset(page * PAGE_POINTS);
    }
    let scopes: Vec<&Filter> = std::iter::once(base).chain(whole_matches).chain(hinted).collect();
    if let ([(dense, using)], [base]) = (nearest_queries.as_slice(), scopes.as_slice()) {
        let request = request.query(dense.clone()).filter((*base).clone());
        return match using {
            Some(using) => request.using(using.clone()).build(),
            None => request.build(),
        };
    }
    // The same for every page, since the ranks of a fusion depend on it.
    let prefetch_limit = if is_paged { MAX_PAGES * PAGE_POINTS } else { limit };
    let prefetches = scopes.into_iter().flat_map(|filter| {
        nearest_queries.iter().map(move |(nearest, using)| {
            let prefetch = PrefetchQueryBuilder::default()
                .query(nearest.clone())
                .filter(filter.clone())
                .limit(prefetch_limit);
            match using {
                Some(using) => prefetch.using(using.clone()).build(),
                None => prefetch.build(),
            }
        })
    });
    let prefetches: Vec<PrefetchQuery> = prefetches.collect();
    request.prefetch(prefetches).query(Fusion::Rrf).build()
}

#[cfg(test)]
mod tests {
    use agent::retrieval::Hint;
    use contracts::NonEmpty;
    use contracts::id::OrgId;
    use contracts::request::{RagCondition, RagOperator, RagValue};
    use proptest::prelude::*;

    use super::*;
    use crate::collection::FilterKeys;
    use crate::filter::tests::{any_scope, assert_of_tenant};

    fn layout(has_sparse: bool) -> Layout {
        Layout {
            dense: (Some("dense".to_owned()), 2),
            is_cosine: true,
            has_sparse,
            keys: FilterKeys::default(),
        }
    }

    fn search<'a>(org: &'a OrgId, hints: &'a [Hint]) -> Search<'a> {
        Search {
            org,
            agent: None,
            collection: "c",
            question: "keep the lease",
            scope: &[],
            hints,
            chunks: 8,
            tokens: 8_000,
        }
    }

    #[test]
    fn search_without_terms_and_hints_is_one_query() {
        let org = OrgId::new("acme").unwrap();
        let request = build(&search(&org, &[]), &layout(false), &[1.0, 0.0]);
        assert!(request.prefetch.is_empty());
        assert_eq!((request.using.as_deref(), request.limit), (Some("dense"), Some(24)));
        assert_of_tenant(&request.filter.unwrap(), &org);
    }

    #[test]
    fn each_vector_and_filter_is_a_prefetch() {
        let org = OrgId::new("acme").unwrap();
        let hints = [Hint::new("Repo", "core")];
        let nearest_queries = |request: &QueryPoints| -> Vec<(String, usize)> {
            let nearest =
                |one: &PrefetchQuery| (one.using.clone().unwrap(), one.filter.as_ref().unwrap().must.len());
            request.prefetch.iter().map(nearest).collect()
        };
        let named = |nearest_queries: &[(&str, usize)]| -> Vec<(String, usize)> {
            nearest_queries.iter().map(|(name, conditions)| ((*name).to_owned(), *conditions)).collect()
        };
        let hybrid = build(&search(&org, &[]), &layout(true), &[1.0, 0.0]);
        assert_eq!(nearest_queries(&hybrid), named(&[("dense", 2), ("terms", 2)]));
        let hinted = build(&search(&org, &hints), &layout(false), &[1.0, 0.0]);
        assert_eq!(nearest_queries(&hinted), named(&[("dense", 2), ("dense", 3)]));
        let both = build(&search(&org, &hints), &layout(true), &[1.0, 0.0]);
        assert_eq!(nearest_queries(&both), named(&[("dense", 2), ("terms", 2), ("dense", 3), ("terms", 3)]));
    }

    /// Pages differ only in their offset.
    #[test]
    fn search_with_substrings_is_paged_and_reads_their_keys() {
        let org = OrgId::new("acme").unwrap();
        let condition = |operator| RagCondition {
            key: "Symbol".to_owned(),
            operator,
            values: NonEmpty::one(RagValue::Text("x".to_owned())),
        };
        for (operator, prefetches) in [(RagOperator::Contains, 2), (RagOperator::DoesNotContain, 0)] {
            let scope = [condition(operator)];
            let search = Search { scope: &scope, ..search(&org, &[]) };
            let filters = filters(&org, None, &scope, &[], &FilterKeys::default());
            let page = build_page(&search, &layout(false), &[1.0, 0.0], &filters, 2);
            assert_eq!((page.limit, page.offset, page.prefetch.len()), (Some(192), Some(384), prefetches));
            assert!(page.prefetch.iter().all(|prefetch| prefetch.limit == Some(1_920)));
            let Some(SelectorOptions::Include(keys)) = page.with_payload.unwrap().selector_options else {
                panic!("keys are listed")
            };
            assert!(keys.fields.iter().any(|key| key == "Symbol"));
        }
    }

    #[test]
    fn question_without_terms_uses_the_dense_vector_only() {
        let org = OrgId::new("acme").unwrap();
        let request = Search { question: "? !", ..search(&org, &[]) };
        assert!(build(&request, &layout(true), &[1.0, 0.0]).prefetch.is_empty());
    }

    fn leaves(request: &QueryPoints) -> Vec<Filter> {
        let own = request.prefetch.is_empty().then(|| request.filter.clone().unwrap_or_default());
        let prefetched = request.prefetch.iter().map(|one| {
            assert!(one.prefetch.is_empty());
            one.filter.clone().unwrap_or_default()
        });
        own.into_iter().chain(prefetched).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_500))]

        #[test]
        fn every_prefetch_is_limited_to_the_callers_org(
            (org, scope, hints) in any_scope(), question in "\\PC{0,20}", has_sparse: bool, chunks: u32,
        ) {
            let search =
                Search {
                    org: &org, agent: None, collection: "c", question: &question, scope: &scope, hints: &hints, chunks, tokens: 8_000,
                };
            let request = build(&search, &layout(has_sparse), &[1.0, 0.0]);
            prop_assert!(request.limit.unwrap() <= 192);
            let lookup = build_lookup(&search, &layout(has_sparse), &[1.0, 0.0], vec![1.into()]);
            for filter in leaves(&request).into_iter().chain(leaves(&lookup)) {
                assert_of_tenant(&filter, &org);
            }
        }
    }
}
