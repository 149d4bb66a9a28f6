//! Decodes queries: nearest neighbours of a dense or sparse vector, and fusions of such queries.

use qdrant_client::qdrant as wire;
use qdrant_edge::external::ordered_float::OrderedFloat;
use qdrant_edge::{
    Fusion, NamedQuery, Prefetch, QueryEnum, QueryRequest, ScoringQuery, SearchParams, VectorInternal,
    WithPayloadInterface,
};

use super::filter::filter;
use super::point::sparse;
use super::selector::{payload, vectors};
use crate::refusal::Refusal;

/// Default number of results.
const DEFAULT_LIMIT: u64 = 10;
/// Default constant of reciprocal rank fusion, as in the real server.
const DEFAULT_K: usize = 2;
/// Deepest nesting of prefetches.
const MAX_PREFETCH_DEPTH: usize = 8;

pub(crate) fn query(asked: wire::QueryPoints) -> Result<QueryRequest, Refusal> {
    if asked.lookup_from.is_some() {
        return Err(Refusal::Unsupported("vectors looked up in another collection"));
    }
    Ok(QueryRequest {
        prefetches: prefetches(asked.prefetch, MAX_PREFETCH_DEPTH)?,
        query: scoring(asked.query, asked.using)?,
        filter: filter(asked.filter)?,
        score_threshold: asked.score_threshold.map(OrderedFloat),
        limit: size(asked.limit.unwrap_or(DEFAULT_LIMIT)),
        offset: size(asked.offset.unwrap_or(0)),
        params: asked.params.map(params),
        with_vector: vectors(asked.with_vectors),
        with_payload: payload(asked.with_payload)?.unwrap_or(WithPayloadInterface::Bool(false)),
    })
}

fn prefetches(asked: Vec<wire::PrefetchQuery>, deepest: usize) -> Result<Vec<Prefetch>, Refusal> {
    let Some(deeper) = deepest.checked_sub(1) else {
        return Err(Refusal::invalid(format!("prefetches are nested {MAX_PREFETCH_DEPTH} deep at most")));
    };
    asked.into_iter().map(|asked| prefetch(asked, deeper)).collect()
}

fn prefetch(asked: wire::PrefetchQuery, deepest: usize) -> Result<Prefetch, Refusal> {
    if asked.lookup_from.is_some() {
        return Err(Refusal::Unsupported("vectors looked up in another collection"));
    }
    let inner = if asked.prefetch.is_empty() { Vec::new() } else { prefetches(asked.prefetch, deepest)? };
    Ok(Prefetch {
        prefetches: inner,
        query: scoring(asked.query, asked.using)?,
        limit: size(asked.limit.unwrap_or(DEFAULT_LIMIT)),
        params: asked.params.map(params),
        filter: filter(asked.filter)?,
        score_threshold: asked.score_threshold.map(OrderedFloat),
    })
}

fn scoring(query: Option<wire::Query>, using: Option<String>) -> Result<Option<ScoringQuery>, Refusal> {
    use wire::query::Variant;
    let Some(variant) = query.and_then(|query| query.variant) else {
        return Ok(None);
    };
    let unsupported = |what| Err(Refusal::Unsupported(what));
    Ok(Some(match variant {
        Variant::Nearest(to) => {
            let query = NamedQuery { query: near(to)?, using };
            ScoringQuery::Vector(QueryEnum::Nearest(query))
        }
        Variant::Fusion(fusion) => ScoringQuery::Fusion(match wire::Fusion::try_from(fusion) {
            Ok(wire::Fusion::Rrf) => Fusion::Rrf { k: DEFAULT_K, weights: None },
            Ok(wire::Fusion::Dbsf) => Fusion::Dbsf,
            Err(_) => return Err(Refusal::invalid(format!("there is no fusion {fusion}"))),
        }),
        Variant::Rrf(rrf) => {
            let weights: Vec<_> = rrf.weights.into_iter().map(OrderedFloat).collect();
            ScoringQuery::Fusion(Fusion::Rrf {
                k: rrf.k.map_or(DEFAULT_K, |k| size(k.into())),
                weights: (!weights.is_empty()).then_some(weights),
            })
        }
        Variant::Recommend(_) => return unsupported("recommendations"),
        Variant::Discover(_) | Variant::Context(_) => return unsupported("discovery"),
        Variant::OrderBy(_) => return unsupported("ordering by a field"),
        Variant::Sample(_) => return unsupported("sampling"),
        Variant::Formula(_) => return unsupported("formulas"),
        Variant::NearestWithMmr(_) => return unsupported("maximal marginal relevance"),
        Variant::RelevanceFeedback(_) => return unsupported("relevance feedback"),
        Variant::Text(_) => return unsupported("queries of text"),
    }))
}

fn near(input: wire::VectorInput) -> Result<VectorInternal, Refusal> {
    use wire::vector_input::Variant;
    match input.variant {
        Some(Variant::Dense(dense)) => Ok(VectorInternal::Dense(dense.data)),
        Some(Variant::Sparse(vector)) => Ok(VectorInternal::Sparse(sparse(vector.indices, vector.values)?)),
        Some(Variant::Id(_)) => Err(Refusal::Unsupported("queries by the id of a point")),
        Some(Variant::MultiDense(_)) => Err(Refusal::Unsupported("multi-vectors")),
        Some(Variant::Document(_) | Variant::Image(_) | Variant::Object(_)) => {
            Err(Refusal::Unsupported("inference: send vectors"))
        }
        None => Err(Refusal::invalid("a query names no vector")),
    }
}

/// Decodes search parameters. Every search is exact, so parameters of approximate search are ignored.
fn params(params: wire::SearchParams) -> SearchParams {
    SearchParams { exact: params.exact.unwrap_or(false), ..SearchParams::default() }
}

fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
