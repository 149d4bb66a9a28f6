//! Runs a search: ranks chunks, selects the passages, and looks up their similarity and the lines around them.
//!
//! The first request ranks chunks. A fusion's score is made of ranks and says nothing about a chunk, so a second request
//! reads the similarity of those selected. It reads their neighbours too, whose ids follow from the indexer's rule.

use std::collections::BTreeMap;
use std::time::Duration;

use agent::retrieval::passages::{add_surroundings, indexes_beside, select};
use agent::retrieval::{Chunk, Error, ScopeWarning, Search, SearchResult};
use contracts::id::OrgId;
use futures::future::{join, join_all};
use llm::key::KeySource;
use qdrant_client::qdrant::{QueryPoints, ScoredPoint, ScrollPointsBuilder, point_id::PointIdOptions};
use tokio::time::{Instant, timeout};

use crate::collection::Layout;
use crate::connection::{Connection, QdrantError};
use crate::filter::{Filters, filters, has_key};
use crate::payload::Payload;
use crate::point::point_id;
use crate::query::{MAX_PAGES, PAGE_POINTS, build_lookup, build_page, candidates};
use crate::relevance::Relevance;

/// The share of a search's time after which no further page is requested.
const PAGING_SHARE: u32 = 2;

/// The time for finding out that no source has a condition's key. A key that takes longer counts as known.
const KEY_LOOKUP: Duration = Duration::from_millis(300);

/// Returns the passages for a search, best first.
///
/// # Errors
/// [`Error`], if a request fails.
pub async fn search<K: KeySource>(
    connection: &Connection<K>,
    search: &Search<'_>,
    layout: &Layout,
    vector: &[f32],
    deadline: Duration,
) -> Result<SearchResult, Error> {
    let filters = filters(search.org, search.agent, search.scope, search.hints, &layout.keys);
    let pages = search_pages(connection, search, layout, vector, &filters, deadline);
    let (pages, unknown_keys) = join(pages, unknown_keys(connection, search, &filters)).await;
    let (ranked, is_complete) = pages?;
    let selected = select(&ranked, search.chunks, search.tokens);
    let chunks = complete(connection, search, layout, vector, selected).await?;
    let ignored = filters.ignored_keys.into_iter().map(ScopeWarning::KeyIgnored);
    let unindexed = filters.unindexed_keys.into_iter().map(ScopeWarning::KeyUnindexed);
    let incomplete = (!is_complete).then_some(ScopeWarning::Incomplete);
    let warnings = ignored.chain(unknown_keys).chain(unindexed).chain(incomplete);
    Ok(SearchResult { chunks, warnings: warnings.collect() })
}

/// Reads pages of results until enough of them meet every condition. False if a page, the time or the number of
/// pages ended the search too early to tell that no other point does.
async fn search_pages<K: KeySource>(
    connection: &Connection<K>,
    search: &Search<'_>,
    layout: &Layout,
    vector: &[f32],
    filters: &Filters,
    deadline: Duration,
) -> Result<(Vec<Chunk>, bool), Error> {
    let started = Instant::now();
    let wanted = usize::try_from(candidates(search)).unwrap_or(usize::MAX);
    let mut chunks: Vec<Chunk> = Vec::new();
    for page in 0..MAX_PAGES {
        let points = query(connection, build_page(search, layout, vector, filters, page)).await?;
        let is_last = filters.payload_conditions.is_empty()
            || u64::try_from(points.len()).unwrap_or(u64::MAX) < PAGE_POINTS;
        let points = points.into_iter().filter(|point| {
            filters.payload_conditions.iter().all(|condition| condition.is_met(&point.payload))
        });
        for chunk in chunks_of(search, points) {
            if !chunks.iter().any(|known| known.id == chunk.id) {
                chunks.push(chunk);
            }
        }
        if is_last || chunks.len() >= wanted {
            chunks.truncate(wanted);
            return Ok((chunks, true));
        }
        if started.elapsed() > deadline / PAGING_SHARE {
            break;
        }
    }
    Ok((chunks, false))
}

/// Gives passages their similarity, drops those that are not relevant, and adds the lines around the others.
async fn complete<K: KeySource>(
    connection: &Connection<K>,
    search: &Search<'_>,
    layout: &Layout,
    vector: &[f32],
    mut passages: Vec<Chunk>,
) -> Result<Vec<Chunk>, Error> {
    let neighbours: Vec<String> = passages.iter().flat_map(|passage| ids_beside(search, passage)).collect();
    let mut ids: Vec<String> = passages.iter().map(|passage| passage.id.clone()).chain(neighbours).collect();
    ids.sort_unstable();
    ids.dedup();
    if ids.is_empty() {
        return Ok(passages);
    }
    let ids = ids.into_iter().map(|id| id.parse::<u64>().map_or_else(|_| id.into(), Into::into)).collect();
    let points = query(connection, build_lookup(search, layout, vector, ids)).await?;
    let found: BTreeMap<String, Chunk> =
        chunks_of(search, points.into_iter()).map(|chunk| (chunk.id.clone(), chunk)).collect();
    // A point that was deleted meanwhile has no similarity.
    passages.retain_mut(|passage| {
        let Some(chunk) = found.get(&passage.id) else { return false };
        passage.score = chunk.score;
        true
    });
    let relevance = Relevance::of(search.question, layout.is_cosine);
    passages.retain(|passage| relevance.includes(passage));
    add_surroundings(&mut passages, search.tokens, |passage, part| {
        found.get(&id_of_part(search, passage, part))
    });
    Ok(passages)
}

/// Returns the ids of the chunks beside a passage. Points of other indexers have other ids, and are not found by them.
fn ids_beside(search: &Search<'_>, passage: &Chunk) -> Vec<String> {
    indexes_beside(passage).map(|part| id_of_part(search, passage, part)).collect()
}

fn id_of_part(search: &Search<'_>, passage: &Chunk, part: u32) -> String {
    point_id(search.org, passage.repo.as_deref().unwrap_or_default(), &passage.path, part).to_string()
}

/// Returns the ranked chunks of a query, without selecting any.
///
/// # Errors
/// If the request fails.
pub async fn ranking<K: KeySource>(
    connection: &Connection<K>,
    search: &Search<'_>,
    request: QueryPoints,
) -> Result<Vec<Chunk>, QdrantError> {
    Ok(chunks_of(search, query(connection, request).await?.into_iter()).collect())
}

/// Returns the chunks of points. The filter excludes points of other orgs and agents; any that come back all the same are
/// dropped.
fn chunks_of<'a>(
    search: &'a Search<'_>,
    points: impl Iterator<Item = ScoredPoint> + 'a,
) -> impl Iterator<Item = Chunk> + 'a {
    let found = points.filter_map(chunk_from_point);
    found.filter(|found| found.is_visible_to(search)).map(|found| found.chunk)
}

async fn query<K: KeySource>(
    connection: &Connection<K>,
    request: QueryPoints,
) -> Result<Vec<ScoredPoint>, QdrantError> {
    let response = connection.call(|qdrant| {
        let request = request.clone();
        async move { qdrant.points().query(request).await }
    });
    Ok(response.await?.result)
}

/// Returns a warning per key that no point of the org has.
async fn unknown_keys<K: KeySource>(
    connection: &Connection<K>,
    search: &Search<'_>,
    filters: &Filters,
) -> Vec<ScopeWarning> {
    let lookups = filters.custom_keys.iter().map(async |(key, path)| {
        let scroll = ScrollPointsBuilder::new(search.collection)
            .filter(has_key(search.org, path))
            .limit(1)
            .with_payload(false)
            .build();
        let response = connection.call(|qdrant| {
            let scroll = scroll.clone();
            async move { qdrant.points().scroll(scroll).await }
        });
        let is_unknown = match timeout(KEY_LOOKUP, response).await {
            Ok(Ok(page)) => page.result.is_empty(),
            Ok(Err(_)) | Err(_) => false,
        };
        is_unknown.then(|| ScopeWarning::KeyUnknown(key.clone()))
    });
    join_all(lookups).await.into_iter().flatten().collect()
}

/// A chunk, and who may have it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FoundChunk {
    org: OrgId,
    agents: Option<Vec<String>>,
    pub(crate) chunk: Chunk,
}

impl FoundChunk {
    /// True if a turn of this org and agent may have the chunk.
    fn is_visible_to(&self, search: &Search<'_>) -> bool {
        let is_named = |agents: &Vec<String>| {
            search.agent.is_some_and(|agent| agents.iter().any(|id| id == agent.as_str()))
        };
        self.org == *search.org && self.agents.as_ref().is_none_or(is_named)
    }
}

/// Converts a point into a chunk, with its org and agents.
pub(crate) fn chunk_from_point(point: ScoredPoint) -> Option<FoundChunk> {
    let id = match point.id?.point_id_options? {
        PointIdOptions::Num(number) => number.to_string(),
        PointIdOptions::Uuid(uuid) => uuid,
    };
    let payload = Payload::from_map(point.payload)?;
    let parts = payload.parts();
    let chunk = Chunk {
        id,
        repo: payload.repo,
        path: payload.path,
        language: payload.language,
        start_line: payload.line_start,
        end_line: payload.line_end,
        content_hash: payload.content_hash,
        score: point.score,
        section: payload.section_key,
        page: payload.page,
        parts,
        text: payload.text,
    };
    Some(FoundChunk { org: payload.org_id, agents: payload.agents, chunk })
}
