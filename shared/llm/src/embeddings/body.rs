//! The wire types of the embeddings API.

use agent::model::Error;
use agent::retrieval::EmbeddingModel;
use contracts::json_bytes;
use serde::{Deserialize, Serialize};

use super::batch::EmbeddingBatch;

/// The most dimensions of a vector. The largest known model has 4,096.
const MAX_DIMENSIONS: usize = 8_192;

/// The most bytes of a number in JSON, including white space.
const BYTES_PER_NUMBER: usize = 32;

/// The most bytes of a reply, whatever the request.
const MAX_BYTES: usize = 64 << 20;

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<u32>,
    encoding_format: &'static str,
    input: Vec<&'a str>,
}

#[derive(Deserialize)]
struct Reply {
    data: Vec<Entry>,
    #[serde(default)]
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Entry {
    /// The index of the text. The position in the list, if absent.
    #[serde(default)]
    index: Option<usize>,
    embedding: Vec<f32>,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default)]
    total_tokens: Option<u64>,
}

pub(super) fn request<T: AsRef<str>>(model: &EmbeddingModel, texts: &[T]) -> Result<Vec<u8>, Error> {
    let request = Request {
        model: &model.name,
        dimensions: model.dimensions,
        encoding_format: "float",
        input: texts.iter().map(AsRef::as_ref).collect(),
    };
    serde_json::to_vec(&request).map_err(|_| Error::Malformed)
}

/// Returns the most bytes of a reply with the vectors of `texts` texts.
pub(super) fn max_bytes(texts: usize) -> usize {
    texts.saturating_add(1).saturating_mul(MAX_DIMENSIONS * BYTES_PER_NUMBER).min(MAX_BYTES)
}

/// Parses the vectors of `texts` texts, in order.
pub(super) fn read(body: &[u8], texts: usize) -> Result<EmbeddingBatch, Error> {
    let reply: Reply = json_bytes::from_slice(body).map_err(|_| Error::Malformed)?;
    let mut vectors: Vec<Option<Vec<f32>>> = vec![None; texts];
    for (position, entry) in reply.data.into_iter().enumerate() {
        let slot = vectors.get_mut(entry.index.unwrap_or(position)).ok_or(Error::Malformed)?;
        if slot.replace(entry.embedding).is_some() {
            return Err(Error::Malformed);
        }
    }
    let vectors: Option<Vec<Vec<f32>>> = vectors.into_iter().collect();
    let vectors = vectors.ok_or(Error::Malformed)?;
    check_vectors(&vectors)?;
    let usage = reply.usage;
    let tokens = usage.and_then(|usage| usage.prompt_tokens.or(usage.total_tokens)).unwrap_or(0);
    Ok(EmbeddingBatch { vectors, tokens })
}

/// Checks that all vectors have the same length and only finite numbers.
pub(super) fn check_vectors(vectors: &[Vec<f32>]) -> Result<(), Error> {
    let length = vectors.first().map_or(1, Vec::len);
    let fits = (1..=MAX_DIMENSIONS).contains(&length)
        && vectors
            .iter()
            .all(|vector| vector.len() == length && vector.iter().all(|value| value.is_finite()));
    fits.then_some(()).ok_or(Error::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_matches_the_api() {
        let model = EmbeddingModel { name: "m".to_owned(), dimensions: Some(3) };
        let body = String::from_utf8(request(&model, &["a", "b"]).unwrap()).unwrap();
        assert_eq!(body, r#"{"model":"m","dimensions":3,"encoding_format":"float","input":["a","b"]}"#);
        let model = EmbeddingModel { dimensions: None, ..model };
        let body = String::from_utf8(request(&model, &["a"]).unwrap()).unwrap();
        assert_eq!(body, r#"{"model":"m","encoding_format":"float","input":["a"]}"#);
    }

    #[test]
    fn vectors_follow_the_order_of_texts() {
        let body =
            br#"{"object":"list","data":[{"index":1,"embedding":[2,0.5]},{"index":0,"embedding":[1,0]}],
            "usage":{"prompt_tokens":7,"total_tokens":7}}"#;
        let read = read(body, 2).unwrap();
        assert_eq!((read.vectors, read.tokens), (vec![vec![1.0, 0.0], vec![2.0, 0.5]], 7));
    }

    #[test]
    fn missing_index_and_usage_are_tolerated() {
        let read = read(br#"{"data":[{"embedding":[1]},{"embedding":[2]}]}"#, 2).unwrap();
        assert_eq!((read.vectors, read.tokens), (vec![vec![1.0], vec![2.0]], 0));
    }

    #[test]
    fn mismatched_vectors_are_malformed() {
        for body in [
            r#"{"data":[]}"#,
            r#"{"data":[{"index":0,"embedding":[1]}]}"#,
            r#"{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}"#,
            r#"{"data":[{"index":0,"embedding":[1]},{"index":2,"embedding":[1]}]}"#,
            r#"{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1,2]}]}"#,
            r#"{"data":[{"index":0,"embedding":[]},{"index":1,"embedding":[]}]}"#,
            r#"{"data":[{"index":0,"embedding":[1e999]},{"index":1,"embedding":[1]}]}"#,
            r#"{"data":[{"index":0,"embedding":[1e39]},{"index":1,"embedding":[1]}]}"#,
            r#"{"data":[{"index":0,"embedding":"AAAA"},{"index":1,"embedding":[1]}]}"#,
            "nonsense",
        ] {
            assert_eq!(read(body.as_bytes(), 2), Err(Error::Malformed), "{body}");
        }
    }
}
