//! Encodes points: scored by a query, or read.

use std::collections::HashMap;

use qdrant_client::qdrant as wire;
use qdrant_edge::{Payload, PointId, Record, ScoredPoint, VectorInternal, VectorStructInternal};
use serde_json::Value;

pub(crate) fn scored(point: ScoredPoint) -> wire::ScoredPoint {
    wire::ScoredPoint {
        id: Some(point_id(point.id)),
        payload: payload(point.payload),
        score: point.score,
        version: point.version,
        vectors: point.vector.and_then(vectors),
        ..wire::ScoredPoint::default()
    }
}

pub(crate) fn record(record: Record) -> wire::RetrievedPoint {
    wire::RetrievedPoint {
        id: Some(point_id(record.id)),
        payload: payload(record.payload),
        vectors: record.vector.and_then(vectors),
        ..wire::RetrievedPoint::default()
    }
}

pub(crate) fn point_id(id: PointId) -> wire::PointId {
    use wire::point_id::PointIdOptions;
    wire::PointId {
        point_id_options: Some(match id {
            PointId::NumId(number) => PointIdOptions::Num(number),
            PointId::Uuid(uuid) => PointIdOptions::Uuid(uuid.to_string()),
        }),
    }
}

fn payload(payload: Option<Payload>) -> HashMap<String, wire::Value> {
    payload.map(|payload| object(payload.0)).unwrap_or_default()
}

fn object(members: impl IntoIterator<Item = (String, Value)>) -> HashMap<String, wire::Value> {
    members.into_iter().map(|(name, member)| (name, value(member))).collect()
}

fn value(value: Value) -> wire::Value {
    use wire::value::Kind;
    let kind = match value {
        Value::Null => Kind::NullValue(0),
        Value::Bool(flag) => Kind::BoolValue(flag),
        Value::Number(number) => match number.as_i64() {
            Some(integer) => Kind::IntegerValue(integer),
            None => Kind::DoubleValue(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => Kind::StringValue(text),
        Value::Array(values) => {
            Kind::ListValue(wire::ListValue { values: values.into_iter().map(self::value).collect() })
        }
        Value::Object(members) => Kind::StructValue(wire::Struct { fields: object(members) }),
    };
    wire::Value { kind: Some(kind) }
}

fn vectors(vectors: VectorStructInternal) -> Option<wire::VectorsOutput> {
    use wire::vectors_output::VectorsOptions;
    let options = match vectors {
        VectorStructInternal::Single(data) => VectorsOptions::Vector(vector(VectorInternal::Dense(data))?),
        VectorStructInternal::Named(named) => {
            let vectors = named.into_iter().filter_map(|(name, one)| Some((name, vector(one)?)));
            VectorsOptions::Vectors(wire::NamedVectorsOutput { vectors: vectors.collect() })
        }
        // None can be written.
        VectorStructInternal::MultiDense(_) => return None,
    };
    Some(wire::VectorsOutput { vectors_options: Some(options) })
}

fn vector(vector: VectorInternal) -> Option<wire::VectorOutput> {
    use wire::vector_output::Vector;
    let vector = match vector {
        VectorInternal::Dense(data) => Vector::Dense(wire::DenseVector { data }),
        VectorInternal::Sparse(sparse) => {
            Vector::Sparse(wire::SparseVector { indices: sparse.indices, values: sparse.values })
        }
        VectorInternal::MultiDense(_) => return None,
    };
    Some(wire::VectorOutput { vector: Some(vector), ..wire::VectorOutput::default() })
}
