//! Decodes requests for collections and payload indexes.

use std::collections::HashMap;

use qdrant_client::qdrant as wire;
use qdrant_edge::{
    CreateIndex, Distance, EdgeConfig, EdgeSparseVectorParams, EdgeVectorParams, Modifier,
    PayloadFieldSchema, PayloadSchemaParams, PayloadSchemaType, TextIndexParams, TokenizerType,
};

use super::point::key;
use crate::refusal::Refusal;

/// Maximum number of dimensions of a vector.
const MAX_DIMENSIONS: u64 = 65_536;

/// Decodes the schema of a collection. Ignores its layout (shards, replicas, graphs, disk or memory), which does not
/// change the results of a query.
pub(crate) fn config(request: wire::CreateCollection) -> Result<EdgeConfig, Refusal> {
    use wire::vectors_config::Config;
    if request.quantization_config.is_some() {
        return Err(Refusal::Unsupported("quantization"));
    }
    let vectors = match request.vectors_config.and_then(|config| config.config) {
        Some(Config::Params(params)) => HashMap::from([(String::new(), dense(params)?)]),
        Some(Config::ParamsMap(named)) => {
            let named = named.map.into_iter().map(|(name, params)| Ok((name, dense(params)?)));
            named.collect::<Result<_, Refusal>>()?
        }
        None => HashMap::new(),
    };
    let sparse_vectors = request.sparse_vectors_config.unwrap_or_default().map.into_iter();
    let sparse_vectors = sparse_vectors.map(|(name, params)| (name, sparse(params))).collect();
    Ok(EdgeConfig { vectors, sparse_vectors, ..EdgeConfig::default() })
}

fn dense(params: wire::VectorParams) -> Result<EdgeVectorParams, Refusal> {
    if params.multivector_config.is_some() {
        return Err(Refusal::Unsupported("multi-vectors"));
    }
    if params.size == 0 || params.size > MAX_DIMENSIONS {
        return Err(Refusal::invalid(format!("a vector has 1 to {MAX_DIMENSIONS} dimensions")));
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

/// Decodes an index of a field. Only the parameters of a text index matter, because they define tokens.
pub(crate) fn index(request: wire::CreateFieldIndexCollection) -> Result<CreateIndex, Refusal> {
    use wire::payload_index_params::IndexParams;
    let field_schema = match request.field_index_params.and_then(|params| params.index_params) {
        Some(IndexParams::TextIndexParams(params)) => {
            PayloadFieldSchema::FieldParams(PayloadSchemaParams::Text(text(&params)?))
        }
        _ => PayloadFieldSchema::FieldType(kind(request.field_type)?),
    };
    Ok(CreateIndex { field_name: key(&request.field_name)?, field_schema: Some(field_schema) })
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
    use wire::TokenizerType as Tokenizer;
    if params.stopwords.is_some() || params.stemmer.is_some() || params.scoring.is_some() {
        return Err(Refusal::Unsupported("stop words, stemmers and scores of a text index"));
    }
    let tokenizer = match Tokenizer::try_from(params.tokenizer) {
        Ok(Tokenizer::Prefix) => TokenizerType::Prefix,
        Ok(Tokenizer::Whitespace) => TokenizerType::Whitespace,
        Ok(Tokenizer::Word | Tokenizer::Unknown) => TokenizerType::Word,
        Ok(Tokenizer::Multilingual) => TokenizerType::Multilingual,
        Ok(Tokenizer::Code) | Err(_) => return Err(Refusal::Unsupported("this tokenizer")),
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
