//! Creates, lists, describes and deletes collections.

use ::qdrant_client::qdrant::collections_server::Collections;
use ::qdrant_client::qdrant::*;
use tonic::{Request, Response, Status};

use super::Service;
use super::unsupported::unsupported;
use crate::{decode, encode, strict_mode};

#[tonic::async_trait]
impl Collections for Service {
    async fn get(
        &self,
        request: Request<GetCollectionInfoRequest>,
    ) -> Result<Response<GetCollectionInfoResponse>, Status> {
        let name = request.into_inner().collection_name;
        let to_response = |result, time| GetCollectionInfoResponse { result: Some(result), time };
        self.answer(move |engine| engine.read(&name, |shard| Ok(encode::info(shard))), to_response).await
    }

    async fn list(
        &self,
        _: Request<ListCollectionsRequest>,
    ) -> Result<Response<ListCollectionsResponse>, Status> {
        let to_response = |names: Vec<String>, time| ListCollectionsResponse {
            collections: names.into_iter().map(|name| CollectionDescription { name }).collect(),
            time,
        };
        self.answer(|engine| Ok(engine.names()), to_response).await
    }

    async fn create(
        &self,
        request: Request<CreateCollection>,
    ) -> Result<Response<CollectionOperationResponse>, Status> {
        let asked = request.into_inner();
        let name = asked.collection_name.clone();
        let is_strict = strict_mode::is_asked(asked.strict_mode_config.as_ref());
        let create =
            move |engine: &crate::engine::Engine| engine.create(&name, decode::config(asked)?, is_strict);
        self.answer(create, |(), time| CollectionOperationResponse { result: true, time }).await
    }

    async fn delete(
        &self,
        request: Request<DeleteCollection>,
    ) -> Result<Response<CollectionOperationResponse>, Status> {
        let name = request.into_inner().collection_name;
        let to_response = |result, time| CollectionOperationResponse { result, time };
        self.answer(move |engine| engine.delete(&name), to_response).await
    }

    async fn collection_exists(
        &self,
        request: Request<CollectionExistsRequest>,
    ) -> Result<Response<CollectionExistsResponse>, Status> {
        let name = request.into_inner().collection_name;
        let to_response =
            |exists, time| CollectionExistsResponse { result: Some(CollectionExists { exists }), time };
        self.answer(move |engine| Ok(engine.has(&name)), to_response).await
    }

    unsupported! {
        update(UpdateCollection) -> CollectionOperationResponse;
        update_aliases(ChangeAliases) -> CollectionOperationResponse;
        list_collection_aliases(ListCollectionAliasesRequest) -> ListAliasesResponse;
        list_aliases(ListAliasesRequest) -> ListAliasesResponse;
        collection_cluster_info(CollectionClusterInfoRequest) -> CollectionClusterInfoResponse;
        update_collection_cluster_setup(UpdateCollectionClusterSetupRequest) -> UpdateCollectionClusterSetupResponse;
        create_shard_key(CreateShardKeyRequest) -> CreateShardKeyResponse;
        delete_shard_key(DeleteShardKeyRequest) -> DeleteShardKeyResponse;
        list_shard_keys(ListShardKeysRequest) -> ListShardKeysResponse;
    }
}
