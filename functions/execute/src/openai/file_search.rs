//! The tool `file_search` of a response: the conditions of its turn's search, and the passages that it found.

use contracts::request::RagCondition;
use futures::FutureExt;
use knowledge::{vector_store::condition, vector_stores::searchable};
use openai_api::{
    delivery::refused, error::ApiError, file_search::ReadPassages, id::ResponseId, request::FileSearch,
};
use turns::ports::Deps;

use super::context::Context;

/// Returns the conditions that limit a turn to the search's vector stores, which the org must have.
pub(super) async fn scope(context: &Context, search: &FileSearch) -> Result<Vec<RagCondition>, ApiError> {
    let Context { app, caller, .. } = context;
    let stores = searchable(app.adapters.store(), caller, &search.stores).await;
    let stores = stores.map_err(|error| refused(&error.into()))?.map_err(|position| {
        ApiError::vector_store_not_found(
            "tools",
            search.stores.get(position).map(String::as_str).unwrap_or_default(),
        )
    })?;
    if app.adapters.config.retrieval.is_none() {
        let message = "This deployment has no vector database. Ask an operator.";
        return Err(ApiError::unsupported("tools", message));
    }
    Ok(condition(&stores).into_iter().chain(search.filters.iter().cloned()).collect())
}

/// Returns a reader of the passages that the turn of a response has found. A response doesn't fail for want of them.
pub(super) fn passages(context: &Context, id: &ResponseId) -> ReadPassages {
    let (reader, caller, id) = (context.app.reader.clone(), context.caller.clone(), id.clone());
    ReadPassages::new(move || {
        let (reader, caller, id) = (reader.clone(), caller.clone(), id.clone());
        async move {
            let turn = reader.turn(&caller, id.session, id.turn).await;
            turn.map(|turn| turn.chunk_refs).unwrap_or_default()
        }
        .boxed()
    })
}
