//! Points: ids, vectors and payloads.

use std::collections::HashMap;

use qdrant_client::qdrant as wire;
use qdrant_edge::{
    JsonPath, Payload, PointId, PointStructPersisted, SparseVector, VectorPersisted, VectorStructPersisted,
};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::refusal::Refusal;

pub(crate) fn id(id: Option<wire::PointId>) -> Result<PointId, Refusal> {
    use wire::point_id::PointIdOptions;
    match id.and_then(|id| id.point_id_options) {
        Some(PointIdOptions::Num(number)) => Ok(PointId::NumId(number)),
        Some(PointIdOptions::Uuid(text)) => {
            let uuid = Uuid::parse_str(&text);
            uuid.map(PointId::Uuid).map_err(|_| Refusal::invalid(format!("`{text}` is no UUID")))
        }
        None => Err(Refusal::invalid("a point needs an id: a number or a UUID")),
    }
}

pub(crate) fn ids(ids: Vec<wire::PointId>) -> Result<Vec<PointId>, Refusal> {
    ids.into_iter().map(|one| id(Some(one))).collect()
}

/// Path in a payload.
pub(crate) fn key(key: &str) -> Result<JsonPath, Refusal> {
    key.parse().map_err(|()| Refusal::invalid(format!("`{key}` is no path in a payload")))
}

pub(crate) fn point(point: wire::PointStruct) -> Result<PointStructPersisted, Refusal> {
    use wire::vectors::VectorsOptions;
    let vector = match point.vectors.and_then(|vectors| vectors.vectors_options) {
        Some(VectorsOptions::Vector(one)) => match vector(one)? {
            VectorPersisted::Dense(values) => VectorStructPersisted::Single(values),
            VectorPersisted::Sparse(_) | VectorPersisted::MultiDense(_) => {
                return Err(Refusal::invalid("a vector without a name is dense"));
            }
        },
        Some(VectorsOptions::Vectors(named)) => {
            let named = named.vectors.into_iter().map(|(name, one)| Ok((name, vector(one)?)));
            VectorStructPersisted::Named(named.collect::<Result<_, Refusal>>()?)
        }
        None => VectorStructPersisted::Named(HashMap::new()),
    };
    Ok(PointStructPersisted { id: id(point.id)?, vector, payload: Some(Payload(object(point.payload))) })
}

#[allow(deprecated, reason = "older clients send their vectors in these members")]
fn vector(vector: wire::Vector) -> Result<VectorPersisted, Refusal> {
    use wire::vector::Vector;
    match vector.vector {
        Some(Vector::Dense(dense)) => Ok(VectorPersisted::Dense(dense.data)),
        Some(Vector::Sparse(vector)) => Ok(VectorPersisted::Sparse(sparse(vector.indices, vector.values)?)),
        Some(Vector::MultiDense(_)) => Err(Refusal::Unsupported("multi-vectors")),
        Some(Vector::Document(_) | Vector::Image(_) | Vector::Object(_)) => {
            Err(Refusal::Unsupported("inference: send vectors"))
        }
        None => match vector.indices {
            Some(indices) => Ok(VectorPersisted::Sparse(sparse(indices.data, vector.data)?)),
            None => Ok(VectorPersisted::Dense(vector.data)),
        },
    }
}

pub(super) fn sparse(indices: Vec<u32>, values: Vec<f32>) -> Result<SparseVector, Refusal> {
    SparseVector::new(indices, values).map_err(|error| Refusal::invalid(format!("a sparse vector: {error}")))
}

fn object(members: HashMap<String, wire::Value>) -> Map<String, Value> {
    members.into_iter().map(|(name, member)| (name, value(member))).collect()
}

fn value(value: wire::Value) -> Value {
    use wire::value::Kind;
    match value.kind {
        None | Some(Kind::NullValue(_)) => Value::Null,
        Some(Kind::DoubleValue(number)) => Value::from(number),
        Some(Kind::IntegerValue(number)) => Value::from(number),
        Some(Kind::StringValue(text)) => Value::String(text),
        Some(Kind::BoolValue(flag)) => Value::Bool(flag),
        Some(Kind::StructValue(members)) => Value::Object(object(members.fields)),
        Some(Kind::ListValue(list)) => list.values.into_iter().map(self::value).collect(),
    }
}
