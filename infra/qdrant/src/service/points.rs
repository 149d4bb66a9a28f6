//! Writes, queries and reads points.

use ::qdrant_client::qdrant::points_selector::PointsSelectorOneOf;
use ::qdrant_client::qdrant::points_server::Points;
use ::qdrant_client::qdrant::*;
use qdrant_edge::{
    CountRequest, FieldIndexOperations, PointInsertOperations, PointOperations, ScrollRequest,
    UpdateOperation,
};
use tonic::{Request, Response, Status};

use super::Service;
use super::unsupported::unsupported;
use crate::engine::Engine;
use crate::refusal::Refusal;
use crate::{decode, encode, strict_mode};

/// Default number of points of a scroll.
const DEFAULT_PAGE: u32 = 10;

#[tonic::async_trait]
impl Points for Service {
    async fn upsert(
        &self,
        request: Request<UpsertPoints>,
    ) -> Result<Response<PointsOperationResponse>, Status> {
        let asked = request.into_inner();
        if asked.update_filter.is_some() || asked.update_mode.unwrap_or_default() != 0 {
            return Err(Refusal::Unsupported("upserts on a condition").into());
        }
        self.change(asked.collection_name, move || {
            let points = asked.points.into_iter().map(decode::point).collect::<Result<_, _>>()?;
            let points = PointInsertOperations::PointsList(points);
            Ok(UpdateOperation::PointOperation(PointOperations::UpsertPoints(points)))
        })
        .await
    }

    async fn delete(
        &self,
        request: Request<DeletePoints>,
    ) -> Result<Response<PointsOperationResponse>, Status> {
        let asked = request.into_inner();
        self.change(asked.collection_name, move || {
            let which = match asked.points.and_then(|points| points.points_selector_one_of) {
                Some(PointsSelectorOneOf::Points(list)) => {
                    PointOperations::DeletePoints { ids: decode::ids(list.ids)? }
                }
                Some(PointsSelectorOneOf::Filter(filter)) => {
                    let filter = decode::filter(Some(filter))?.unwrap_or_default();
                    PointOperations::DeletePointsByFilter(filter)
                }
                None => return Err(Refusal::invalid("a deletion names neither ids nor a filter")),
            };
            Ok(UpdateOperation::PointOperation(which))
        })
        .await
    }

    async fn create_field_index(
        &self,
        request: Request<CreateFieldIndexCollection>,
    ) -> Result<Response<PointsOperationResponse>, Status> {
        let asked = request.into_inner();
        self.change(asked.collection_name.clone(), move || {
            let index = FieldIndexOperations::CreateIndex(decode::index(asked)?);
            Ok(UpdateOperation::FieldIndexOperation(index))
        })
        .await
    }

    async fn delete_field_index(
        &self,
        request: Request<DeleteFieldIndexCollection>,
    ) -> Result<Response<PointsOperationResponse>, Status> {
        let asked = request.into_inner();
        self.change(asked.collection_name, move || {
            let field = decode::key(&asked.field_name)?;
            Ok(UpdateOperation::FieldIndexOperation(FieldIndexOperations::DeleteIndex(field)))
        })
        .await
    }

    async fn get(&self, request: Request<GetPoints>) -> Result<Response<GetResponse>, Status> {
        let asked = request.into_inner();
        let read = move |engine: &Engine| {
            let ids = decode::ids(asked.ids)?;
            let payload = decode::payload(asked.with_payload)?;
            let vectors = decode::vectors(asked.with_vectors);
            engine.read(&asked.collection_name, |shard| Ok(shard.retrieve(&ids, payload, Some(vectors))?))
        };
        self.answer(read, |records, time| GetResponse {
            result: records.into_iter().map(encode::record).collect(),
            time,
            usage: None,
        })
        .await
    }

    async fn scroll(&self, request: Request<ScrollPoints>) -> Result<Response<ScrollResponse>, Status> {
        let asked = request.into_inner();
        if asked.order_by.is_some() {
            return Err(Refusal::Unsupported("ordering by a field").into());
        }
        let read = move |engine: &Engine| {
            let (filter, limit) = (asked.filter.clone(), asked.limit.unwrap_or(DEFAULT_PAGE));
            let request = ScrollRequest {
                offset: asked.offset.map(|offset| decode::id(Some(offset))).transpose()?,
                limit: Some(usize::try_from(limit).unwrap_or(usize::MAX).max(1)),
                filter: decode::filter(asked.filter)?,
                with_payload: decode::payload(asked.with_payload)?,
                with_vector: decode::vectors(asked.with_vectors),
                order_by: None,
            };
            engine.read(&asked.collection_name, |collection| {
                strict_mode::check(collection, filter.as_ref())?;
                Ok(collection.scroll(request)?)
            })
        };
        self.answer(read, |(records, next), time| ScrollResponse {
            next_page_offset: next.map(encode::point_id),
            result: records.into_iter().map(encode::record).collect(),
            time,
            usage: None,
        })
        .await
    }

    async fn count(&self, request: Request<CountPoints>) -> Result<Response<CountResponse>, Status> {
        let asked = request.into_inner();
        let count = move |engine: &Engine| {
            let filter = asked.filter.clone();
            let request =
                CountRequest { filter: decode::filter(asked.filter)?, exact: asked.exact.unwrap_or(true) };
            engine.read(&asked.collection_name, |collection| {
                strict_mode::check(collection, filter.as_ref())?;
                Ok(collection.count(request)?)
            })
        };
        self.answer(count, |count, time| CountResponse {
            result: Some(CountResult { count: u64::try_from(count).unwrap_or(u64::MAX) }),
            time,
            usage: None,
        })
        .await
    }

    async fn query(&self, request: Request<QueryPoints>) -> Result<Response<QueryResponse>, Status> {
        let asked = request.into_inner();
        self.answer(
            move |engine| found(engine, asked),
            |result, time| QueryResponse { result, time, usage: None },
        )
        .await
    }

    async fn query_batch(
        &self,
        request: Request<QueryBatchPoints>,
    ) -> Result<Response<QueryBatchResponse>, Status> {
        let QueryBatchPoints { collection_name, query_points, .. } = request.into_inner();
        let query = move |engine: &Engine| {
            let one = |asked: QueryPoints| {
                let asked = QueryPoints { collection_name: collection_name.clone(), ..asked };
                Ok(BatchResult { result: found(engine, asked)? })
            };
            query_points.into_iter().map(one).collect::<Result<Vec<_>, Refusal>>()
        };
        self.answer(query, |result, time| QueryBatchResponse { result, time, usage: None }).await
    }

    unsupported! {
        update_vectors(UpdatePointVectors) -> PointsOperationResponse;
        delete_vectors(DeletePointVectors) -> PointsOperationResponse;
        set_payload(SetPayloadPoints) -> PointsOperationResponse;
        overwrite_payload(SetPayloadPoints) -> PointsOperationResponse;
        delete_payload(DeletePayloadPoints) -> PointsOperationResponse;
        clear_payload(ClearPayloadPoints) -> PointsOperationResponse;
        create_vector_name(CreateVectorNameRequest) -> PointsOperationResponse;
        delete_vector_name(DeleteVectorNameRequest) -> PointsOperationResponse;
        search(SearchPoints) -> SearchResponse;
        search_batch(SearchBatchPoints) -> SearchBatchResponse;
        search_groups(SearchPointGroups) -> SearchGroupsResponse;
        recommend(RecommendPoints) -> RecommendResponse;
        recommend_batch(RecommendBatchPoints) -> RecommendBatchResponse;
        recommend_groups(RecommendPointGroups) -> RecommendGroupsResponse;
        discover(DiscoverPoints) -> DiscoverResponse;
        discover_batch(DiscoverBatchPoints) -> DiscoverBatchResponse;
        update_batch(UpdateBatchPoints) -> UpdateBatchResponse;
        query_groups(QueryPointGroups) -> QueryGroupsResponse;
        facet(FacetCounts) -> FacetResponse;
        search_matrix_pairs(SearchMatrixPoints) -> SearchMatrixPairsResponse;
        search_matrix_offsets(SearchMatrixPoints) -> SearchMatrixOffsetsResponse;
    }
}

impl Service {
    /// Applies a change, which is on disk when it is acknowledged, as if `wait` were always set.
    async fn change(
        &self,
        collection: String,
        operation: impl FnOnce() -> Result<UpdateOperation, Refusal> + Send + 'static,
    ) -> Result<Response<PointsOperationResponse>, Status> {
        let to_response = |(), time| PointsOperationResponse {
            result: Some(UpdateResult { operation_id: None, status: UpdateStatus::Completed.into() }),
            time,
            usage: None,
        };
        self.answer(move |engine| engine.change(&collection, operation()?), to_response).await
    }
}

fn found(engine: &Engine, asked: QueryPoints) -> Result<Vec<ScoredPoint>, Refusal> {
    let name = asked.collection_name.clone();
    let points = engine.read(&name, |collection| {
        strict_mode::check_query(collection, &asked)?;
        Ok(collection.query(decode::query(asked)?)?)
    })?;
    Ok(points.into_iter().map(encode::scored).collect())
}
