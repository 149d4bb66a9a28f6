//! Encodes the description of a collection.

use std::collections::HashMap;

use qdrant_client::qdrant as wire;
use qdrant_edge::{Distance, EdgeConfig, Modifier, PayloadIndexInfo, PayloadSchemaType};

use crate::engine::Collection;
use crate::strict_mode;

/// Describes a collection: status, points, vectors and indexed fields.
pub(crate) fn info(shard: &Collection) -> wire::CollectionInfo {
    let info = shard.info();
    let fields = info.payload_schema.iter().map(|(key, index)| (key.to_string(), field(index)));
    wire::CollectionInfo {
        status: wire::CollectionStatus::Green.into(),
        optimizer_status: Some(wire::OptimizerStatus { ok: true, ..wire::OptimizerStatus::default() }),
        segments_count: number(info.segments_count),
        points_count: Some(number(info.points_count)),
        indexed_vectors_count: Some(number(info.indexed_vectors_count)),
        payload_schema: fields.collect(),
        config: Some(wire::CollectionConfig {
            params: Some(params(&shard.config())),
            strict_mode_config: strict_mode::config(shard),
            ..wire::CollectionConfig::default()
        }),
        ..wire::CollectionInfo::default()
    }
}

fn params(config: &EdgeConfig) -> wire::CollectionParams {
    use wire::vectors_config::Config;
    let dense: HashMap<String, wire::VectorParams> = config
        .vectors
        .iter()
        .map(|(name, params)| {
            let distance = distance(params.distance).into();
            let params = wire::VectorParams { size: number(params.size), distance, ..Default::default() };
            (name.clone(), params)
        })
        .collect();
    let sparse = config.sparse_vectors.iter().map(|(name, params)| {
        let modifier = match params.modifier {
            Some(Modifier::Idf) => wire::Modifier::Idf,
            Some(Modifier::None) | None => wire::Modifier::None,
        };
        (name.clone(), wire::SparseVectorParams { modifier: Some(modifier.into()), ..Default::default() })
    });
    // A vector without a name stands alone.
    let vectors = match dense.get("") {
        Some(only) => Config::Params(*only),
        None => Config::ParamsMap(wire::VectorParamsMap { map: dense }),
    };
    wire::CollectionParams {
        shard_number: 1,
        vectors_config: Some(wire::VectorsConfig { config: Some(vectors) }),
        sparse_vectors_config: Some(wire::SparseVectorConfig { map: sparse.collect() }),
        ..wire::CollectionParams::default()
    }
}

fn field(index: &PayloadIndexInfo) -> wire::PayloadSchemaInfo {
    let kind = match index.data_type {
        PayloadSchemaType::Keyword => wire::PayloadSchemaType::Keyword,
        PayloadSchemaType::Integer => wire::PayloadSchemaType::Integer,
        PayloadSchemaType::Float => wire::PayloadSchemaType::Float,
        PayloadSchemaType::Geo => wire::PayloadSchemaType::Geo,
        PayloadSchemaType::Text => wire::PayloadSchemaType::Text,
        PayloadSchemaType::Bool => wire::PayloadSchemaType::Bool,
        PayloadSchemaType::Datetime => wire::PayloadSchemaType::Datetime,
        PayloadSchemaType::Uuid => wire::PayloadSchemaType::Uuid,
    };
    wire::PayloadSchemaInfo { data_type: kind.into(), points: Some(number(index.points)), params: None }
}

fn distance(distance: Distance) -> wire::Distance {
    match distance {
        Distance::Cosine => wire::Distance::Cosine,
        Distance::Euclid => wire::Distance::Euclid,
        Distance::Dot => wire::Distance::Dot,
        Distance::Manhattan => wire::Distance::Manhattan,
    }
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
