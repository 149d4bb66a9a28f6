//! Collections and payload indexes, as they are asked for.

use std::collections::HashMap;

use qdrant_client::qdrant as wire;
use qdrant_edge::{
    CreateIndex, Distance, EdgeConfig, EdgeSparseVectorParams, EdgeVectorParams, Modifier,
    PayloadFieldSchema, PayloadSchemaParams, PayloadSchemaType, TextIndexParams, TokenizerType,
};

use super::point::key;
use crate::refusal::Refusal;

/// Dimensions that a vector may have.
const MOST_DIMENSIONS: u64 = 65_536;

/// Schema of a collection. Its layout (shards, replicas, graphs, disk or memory) is left to the
/// real server: nothing of it changes what a query finds.
pub(crate) fn config(asked: wire::CreateCollection) -> Result<EdgeConfig, Refusal> {
    use wire::vectors_config::Config;
    if asked.quantization_config.is_some() {
        return Err(Refusal::Unsupported("quantization"));
    }
    let vectors = match asked.vectors_config.and_then(|config| config.config) {
        Some(Config::Params(params)) => HashMap::from([(String::new(), dense(params)?)]),
        Some(Config::ParamsMap(named)) => {
            let named = named.map.into_iter().map(|(name, params)| Ok((name, dense(params)?)));
            named.collect::<Result<_, Refusal>>()?
        }
        None => HashMap::new(),
    };
    let sparse_vectors = asked.sparse_vectors_config.unwrap_or_default().map.into_iter();
    let sparse_vectors = sparse_vectors.map(|(name, params)| (name, sparse(params))).collect();
    Ok(EdgeConfig { vectors, sparse_vectors, ..EdgeConfig::default() })
}

fn dense(params: wire::VectorParams) -> Result<EdgeVectorParams, Refusal> {
    if params.multivector_config.is_some() {
        return Err(Refusal::Unsupported("multi-vectors"));
    }
    if params.size == 0 || params.size > MOST_DIMENSIONS {
        return Err(Refusal::invalid(format!("a vector has 1 to {MOST_DIMENSIONS} dimensions")));
    }
    let distance = match wire::Distance::try_from(params.distance) {
        Ok(wire::Distance::Cosine) => Distance::Cosine,
        Ok(wire::Distance::Euclid) => Distance::Euclid,
        Ok(wire::Distance::Dot) => Distance::Dot,
        Ok(wire::Distance::Manhattan) => Distance::Manhattan,
        Ok(wire::Distance::UnknownDistance) | Err(_) => {
            return Err(Refusal::invalid("a vector needs a distance: cosine, euclid, dot or manhattan"));
        }
    };
    let size = usize::try_from(params.size).unwrap_or(usize::MAX);
    Ok(EdgeVectorParams::builder(size, distance).build())
}

fn sparse(params: wire::SparseVectorParams) -> EdgeSparseVectorParams {
    let idf = params.modifier == Some(wire::Modifier::Idf.into());
    EdgeSparseVectorParams {
        full_scan_threshold: None,
        on_disk: None,
        modifier: Some(if idf { Modifier::Idf } else { Modifier::None }),
        datatype: None,
    }
}

/// An index of a field. Of its parameters those of a text count, since they say what a token is.
pub(crate) fn index(asked: wire::CreateFieldIndexCollection) -> Result<CreateIndex, Refusal> {
    use wire::payload_index_params::IndexParams;
    let field_schema = match asked.field_index_params.and_then(|params| params.index_params) {
        Some(IndexParams::TextIndexParams(params)) => {
            PayloadFieldSchema::FieldParams(PayloadSchemaParams::Text(text(&params)?))
        }
        _ => PayloadFieldSchema::FieldType(kind(asked.field_type)?),
    };
    Ok(CreateIndex { field_name: key(&asked.field_name)?, field_schema: Some(field_schema) })
}

fn kind(kind: Option<i32>) -> Result<PayloadSchemaType, Refusal> {
    use wire::FieldType;
    let unknown = || Refusal::invalid("an index needs the type of its field");
    Ok(match FieldType::try_from(kind.ok_or_else(unknown)?).map_err(|_| unknown())? {
        FieldType::Keyword => PayloadSchemaType::Keyword,
        FieldType::Integer => PayloadSchemaType::Integer,
        FieldType::Float => PayloadSchemaType::Float,
        FieldType::Geo => PayloadSchemaType::Geo,
        FieldType::Text => PayloadSchemaType::Text,
        FieldType::Bool => PayloadSchemaType::Bool,
        FieldType::Datetime => PayloadSchemaType::Datetime,
        FieldType::Uuid => PayloadSchemaType::Uuid,
    })
}

fn text(params: &wire::TextIndexParams) -> Result<TextIndexParams, Refusal> {
    use wire::TokenizerType as Asked;
    if params.stopwords.is_some() || params.stemmer.is_some() || params.scoring.is_some() {
        return Err(Refusal::Unsupported("stop words, stemmers and scores of a text index"));
    }
    let tokenizer = match Asked::try_from(params.tokenizer) {
        Ok(Asked::Prefix) => TokenizerType::Prefix,
        Ok(Asked::Whitespace) => TokenizerType::Whitespace,
        Ok(Asked::Word | Asked::Unknown) => TokenizerType::Word,
        Ok(Asked::Multilingual) => TokenizerType::Multilingual,
        Ok(Asked::Code) | Err(_) => return Err(Refusal::Unsupported("this tokenizer")),
    };
    let size = |length: Option<u64>| length.map(|length| usize::try_from(length).unwrap_or(usize::MAX));
    Ok(TextIndexParams {
        tokenizer,
        lowercase: params.lowercase,
        min_token_len: size(params.min_token_len),
        max_token_len: size(params.max_token_len),
        ascii_folding: params.ascii_folding,
        phrase_matching: params.phrase_matching,
        ..TextIndexParams::default()
    })
}
