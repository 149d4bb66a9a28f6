//! The supported S3 operations.

use std::sync::Arc;
use std::time::SystemTime;

use axum::http::StatusCode;
use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use s3s::dto::{
    CreateBucketInput, CreateBucketOutput, DeleteMarkerEntry, DeleteObjectInput, DeleteObjectOutput,
    DeleteObjectsInput, DeleteObjectsOutput, DeletedObject, ETag, GetObjectInput, GetObjectOutput,
    HeadBucketInput, HeadBucketOutput, HeadObjectInput, HeadObjectOutput, ListObjectVersionsInput,
    ListObjectVersionsOutput, ListObjectsV2Input, ListObjectsV2Output, Object, ObjectVersion, PutObjectInput,
    PutObjectOutput, StreamingBlob,
};
use s3s::{S3, S3Error, S3Request, S3Response, S3Result, s3_error};

use super::objects::{Head, Objects, Version};
use crate::services::checksum::md5;

/// Largest object, in bytes; far more than the system writes.
const MAX_OBJECT_BYTES: usize = 128 * 1024 * 1024;
/// Longest key in bytes, as on S3.
const MAX_KEY_BYTES: usize = 1024;
/// Objects in a list, at most, as on S3.
const MAX_KEYS: i32 = 1000;

/// The supported S3 operations. Any other is answered as not implemented.
#[derive(Debug)]
pub(super) struct Buckets(Arc<Objects>);

impl Buckets {
    pub(super) fn new(objects: Objects) -> Self {
        Self(Arc::new(objects))
    }

    /// Runs a query on a thread that may block on the disk.
    async fn run<T: Send + 'static>(
        &self,
        run: impl FnOnce(&Objects) -> rusqlite::Result<T> + Send + 'static,
    ) -> S3Result<T> {
        let objects = Arc::clone(&self.0);
        let result = tokio::task::spawn_blocking(move || run(&objects)).await;
        result.map_err(S3Error::internal_error)?.map_err(storage_error)
    }

    async fn delete(&self, bucket: &str, key: &str, version: Option<String>) -> S3Result<()> {
        let (bucket, key) = (bucket.to_owned(), key.to_owned());
        self.run(move |objects| match version {
            Some(version) => objects.delete_version(&bucket, &key, &version),
            None => objects.delete(&bucket, &key),
        })
        .await
    }
}

#[async_trait::async_trait]
impl S3 for Buckets {
    async fn create_bucket(
        &self,
        request: S3Request<CreateBucketInput>,
    ) -> S3Result<S3Response<CreateBucketOutput>> {
        self.run(move |objects| objects.create_bucket(&request.input.bucket)).await?;
        Ok(S3Response::new(CreateBucketOutput::default()))
    }

    async fn head_bucket(
        &self,
        request: S3Request<HeadBucketInput>,
    ) -> S3Result<S3Response<HeadBucketOutput>> {
        match self.run(move |objects| objects.has_bucket(&request.input.bucket)).await? {
            true => Ok(S3Response::new(HeadBucketOutput::default())),
            false => Err(s3_error!(NoSuchBucket)),
        }
    }

    async fn put_object(&self, request: S3Request<PutObjectInput>) -> S3Result<S3Response<PutObjectOutput>> {
        let PutObjectInput { bucket, key, body, content_type, if_match, if_none_match, .. } = request.input;
        if if_match.is_some() || if_none_match.as_ref().is_some_and(|condition| !condition.is_any()) {
            return Err(s3_error!(NotImplemented));
        }
        if key.len() > MAX_KEY_BYTES {
            return Err(s3_error!(KeyTooLongError));
        }
        // The body is read first, so that a stalled writer does not block every other one.
        let body = read_body(body).await?;
        let (tag, size) = (md5(&body), i64::try_from(body.len()).map_err(S3Error::internal_error)?);
        let head = Head { key, tag: tag.clone(), content_type, modified: SystemTime::now(), size };
        match self.run(move |objects| objects.put(&bucket, &head, &body, if_none_match.is_some())).await? {
            true => Ok(S3Response::new(PutObjectOutput {
                e_tag: Some(ETag::Strong(tag)),
                ..PutObjectOutput::default()
            })),
            false => Err(s3_error!(PreconditionFailed)),
        }
    }

    async fn get_object(&self, request: S3Request<GetObjectInput>) -> S3Result<S3Response<GetObjectOutput>> {
        let GetObjectInput { bucket, key, response_content_type, response_content_disposition, .. } =
            request.input;
        let found = self.run(move |objects| objects.get(&bucket, &key)).await?;
        let (head, body) = found.ok_or_else(|| s3_error!(NoSuchKey))?;
        let body = futures::stream::once(std::future::ready(Ok::<_, std::io::Error>(body)));
        Ok(S3Response::new(GetObjectOutput {
            body: Some(StreamingBlob::wrap(body)),
            content_length: Some(head.size),
            content_type: response_content_type.or(head.content_type),
            content_disposition: response_content_disposition,
            e_tag: Some(ETag::Strong(head.tag)),
            last_modified: Some(head.modified.into()),
            ..GetObjectOutput::default()
        }))
    }

    async fn head_object(
        &self,
        request: S3Request<HeadObjectInput>,
    ) -> S3Result<S3Response<HeadObjectOutput>> {
        let HeadObjectInput { bucket, key, .. } = request.input;
        let found = self.run(move |objects| objects.head(&bucket, &key)).await?;
        let head = found.ok_or_else(|| s3_error!(NoSuchKey))?;
        Ok(S3Response::new(HeadObjectOutput {
            content_length: Some(head.size),
            content_type: head.content_type,
            e_tag: Some(ETag::Strong(head.tag)),
            last_modified: Some(head.modified.into()),
            ..HeadObjectOutput::default()
        }))
    }

    async fn list_objects_v2(
        &self,
        request: S3Request<ListObjectsV2Input>,
    ) -> S3Result<S3Response<ListObjectsV2Output>> {
        let input = request.input;
        if input.delimiter.is_some() || input.encoding_type.is_some() {
            return Err(s3_error!(NotImplemented));
        }
        let limit = input.max_keys.unwrap_or(MAX_KEYS).clamp(0, MAX_KEYS);
        let after = input.continuation_token.clone().or(input.start_after).unwrap_or_default();
        let (bucket, prefix) = (input.bucket.clone(), input.prefix.clone().unwrap_or_default());
        let heads =
            self.run(move |objects| objects.list(&bucket, &prefix, &after, i64::from(limit) + 1)).await?;
        let mut page = heads.iter().take(usize::try_from(limit).unwrap_or_default());
        let contents: Vec<Object> = page.clone().map(listing).collect();
        let is_truncated = heads.len() > contents.len();
        Ok(S3Response::new(ListObjectsV2Output {
            name: Some(input.bucket),
            prefix: input.prefix,
            max_keys: Some(limit),
            key_count: i32::try_from(contents.len()).ok(),
            continuation_token: input.continuation_token,
            is_truncated: Some(is_truncated),
            next_continuation_token: page.next_back().filter(|_| is_truncated).map(|head| head.key.clone()),
            contents: Some(contents),
            ..ListObjectsV2Output::default()
        }))
    }

    async fn list_object_versions(
        &self,
        request: S3Request<ListObjectVersionsInput>,
    ) -> S3Result<S3Response<ListObjectVersionsOutput>> {
        let input = request.input;
        if input.delimiter.is_some() || input.key_marker.is_some() || input.version_id_marker.is_some() {
            return Err(s3_error!(NotImplemented));
        }
        let limit = input.max_keys.unwrap_or(MAX_KEYS).clamp(0, MAX_KEYS);
        let (bucket, prefix) = (input.bucket.clone(), input.prefix.clone().unwrap_or_default());
        let mut heads =
            self.run(move |objects| objects.versions(&bucket, &prefix, i64::from(limit) + 1)).await?;
        let page = usize::try_from(limit).unwrap_or_default();
        let is_truncated = heads.len() > page;
        heads.truncate(page);
        let (markers, versions): (Vec<_>, Vec<_>) = heads.into_iter().partition(|version| version.is_marker);
        Ok(S3Response::new(ListObjectVersionsOutput {
            name: Some(input.bucket),
            prefix: input.prefix,
            max_keys: Some(limit),
            is_truncated: Some(is_truncated),
            versions: Some(versions.into_iter().map(version).collect()),
            delete_markers: Some(markers.into_iter().map(marker).collect()),
            ..ListObjectVersionsOutput::default()
        }))
    }

    async fn delete_object(
        &self,
        request: S3Request<DeleteObjectInput>,
    ) -> S3Result<S3Response<DeleteObjectOutput>> {
        let DeleteObjectInput { bucket, key, version_id, .. } = request.input;
        self.delete(&bucket, &key, version_id).await?;
        Ok(S3Response::new(DeleteObjectOutput::default()))
    }

    async fn delete_objects(
        &self,
        request: S3Request<DeleteObjectsInput>,
    ) -> S3Result<S3Response<DeleteObjectsOutput>> {
        let DeleteObjectsInput { bucket, delete, .. } = request.input;
        let mut deleted = Vec::new();
        for object in delete.objects {
            self.delete(&bucket, &object.key, object.version_id).await?;
            deleted.push(DeletedObject { key: Some(object.key), ..DeletedObject::default() });
        }
        Ok(S3Response::new(DeleteObjectsOutput { deleted: Some(deleted), ..DeleteObjectsOutput::default() }))
    }
}

/// Converts an error of the storage. Trying again does not help on a full disk, so that status is none that the SDK
/// retries.
fn storage_error(error: rusqlite::Error) -> S3Error {
    let is_full = error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull);
    let mut converted = S3Error::internal_error(error);
    if is_full {
        converted.set_status_code(StatusCode::INSUFFICIENT_STORAGE);
    }
    converted
}

fn version(version: Version) -> ObjectVersion {
    ObjectVersion {
        key: Some(version.key),
        version_id: Some(version.version),
        last_modified: Some(version.modified.into()),
        size: Some(version.size),
        ..ObjectVersion::default()
    }
}

fn marker(version: Version) -> DeleteMarkerEntry {
    DeleteMarkerEntry {
        key: Some(version.key),
        version_id: Some(version.version),
        last_modified: Some(version.modified.into()),
        ..DeleteMarkerEntry::default()
    }
}

fn listing(head: &Head) -> Object {
    Object {
        key: Some(head.key.clone()),
        e_tag: Some(ETag::Strong(head.tag.clone())),
        last_modified: Some(head.modified.into()),
        size: Some(head.size),
        ..Object::default()
    }
}

/// Reads the complete body of an object.
async fn read_body(body: Option<StreamingBlob>) -> S3Result<Bytes> {
    let mut body = body.ok_or_else(|| s3_error!(IncompleteBody))?;
    let mut read = BytesMut::new();
    while let Some(piece) = body.next().await {
        let piece = piece.map_err(|_| s3_error!(IncompleteBody))?;
        if read.len() + piece.len() > MAX_OBJECT_BYTES {
            return Err(s3_error!(EntityTooLarge));
        }
        read.extend_from_slice(&piece);
    }
    Ok(read.freeze())
}
