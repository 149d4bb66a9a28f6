//! S3: s3s over SQLite, as far as the system uses S3: whole objects, conditional writes, lists, links, and versions of
//! what was deleted.

mod objects;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Method, Request, Response, StatusCode};
use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use s3s::auth::SimpleAuth;
use s3s::dto::{
    CreateBucketInput, CreateBucketOutput, DeleteMarkerEntry, DeleteObjectInput, DeleteObjectOutput,
    DeleteObjectsInput, DeleteObjectsOutput, DeletedObject, ETag, GetObjectInput, GetObjectOutput,
    HeadBucketInput, HeadBucketOutput, HeadObjectInput, HeadObjectOutput, ListObjectVersionsInput,
    ListObjectVersionsOutput, ListObjectsV2Input, ListObjectsV2Output, Object, ObjectVersion, PutObjectInput,
    PutObjectOutput, StreamingBlob,
};
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s::{S3, S3Error, S3Request, S3Response, S3Result, s3_error};
use tower_http::cors::{Any, CorsLayer};

use super::{ACCESS_KEY, SECRET_KEY, md5};
use objects::{Head, Objects, Version};

/// The largest object; far beyond what the system writes.
const MAX_OBJECT_BYTES: usize = 128 * 1024 * 1024;
/// The longest key, as on S3.
const MAX_KEY_BYTES: usize = 1024;
/// The most objects in a list, as on S3.
const MAX_LISTED: i32 = 1000;

/// A file of objects that could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("cannot open the objects: {0}")]
pub struct Error(#[from] rusqlite::Error);

/// S3 over the objects in `file`, which is made if it does not exist. Requests are refused that are not signed with one of
/// these access keys or our own.
pub(crate) fn router(file: &Path, keys: impl IntoIterator<Item = String>) -> Result<Router, Error> {
    let mut builder = S3ServiceBuilder::new(Buckets(Arc::new(Objects::open(file)?)));
    let mut known = SimpleAuth::from_single(ACCESS_KEY, SECRET_KEY);
    for key in keys {
        known.register(key, SECRET_KEY.into());
    }
    builder.set_auth(known);
    Ok(Router::new().fallback(handle).with_state(builder.build()).layer(of_pages()))
}

/// What a page may do, as `template.yaml` says of the bucket: follow a link.
fn of_pages() -> CorsLayer {
    CorsLayer::new()
        .allow_methods([Method::GET])
        .allow_origin(Any)
        .allow_headers(Any)
        .max_age(Duration::from_secs(600))
}

async fn handle(State(service): State<S3Service>, request: Request<Body>) -> Response<Body> {
    let request = request.map(s3s::Body::http_body_unsync);
    service.call(request).await.map_or_else(
        |_| {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
            response
        },
        |response| response.map(Body::new),
    )
}

/// S3's operations. Whatever else is asked is answered as not implemented.
#[derive(Debug)]
struct Buckets(Arc<Objects>);

impl Buckets {
    /// Asks the objects, on a thread that may wait for the disk.
    async fn ask<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&Objects) -> rusqlite::Result<T> + Send + 'static,
    ) -> S3Result<T> {
        let objects = Arc::clone(&self.0);
        let asked = tokio::task::spawn_blocking(move || ask(&objects)).await;
        asked.map_err(S3Error::internal_error)?.map_err(S3Error::internal_error)
    }

    async fn delete(&self, bucket: &str, key: &str, version: Option<String>) -> S3Result<()> {
        let (bucket, key) = (bucket.to_owned(), key.to_owned());
        self.ask(move |objects| match version {
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
        self.ask(move |objects| objects.make_bucket(&request.input.bucket)).await?;
        Ok(S3Response::new(CreateBucketOutput::default()))
    }

    async fn head_bucket(
        &self,
        request: S3Request<HeadBucketInput>,
    ) -> S3Result<S3Response<HeadBucketOutput>> {
        match self.ask(move |objects| objects.has_bucket(&request.input.bucket)).await? {
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
        // The body is read first: a writer that stalls must not hold up every other one.
        let body = whole(body).await?;
        let (tag, size) = (md5(&body), i64::try_from(body.len()).map_err(S3Error::internal_error)?);
        let head = Head { key, tag: tag.clone(), content_type, modified: SystemTime::now(), size };
        match self.ask(move |objects| objects.put(&bucket, &head, &body, if_none_match.is_some())).await? {
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
        let found = self.ask(move |objects| objects.get(&bucket, &key)).await?;
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
        let found = self.ask(move |objects| objects.head(&bucket, &key)).await?;
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
        let most = input.max_keys.unwrap_or(MAX_LISTED).clamp(0, MAX_LISTED);
        let after = input.continuation_token.clone().or(input.start_after).unwrap_or_default();
        let (bucket, prefix) = (input.bucket.clone(), input.prefix.clone().unwrap_or_default());
        let listed =
            self.ask(move |objects| objects.list(&bucket, &prefix, &after, i64::from(most) + 1)).await?;
        let mut shown = listed.iter().take(usize::try_from(most).unwrap_or_default());
        let contents: Vec<Object> = shown.clone().map(listing).collect();
        let is_truncated = listed.len() > contents.len();
        Ok(S3Response::new(ListObjectsV2Output {
            name: Some(input.bucket),
            prefix: input.prefix,
            max_keys: Some(most),
            key_count: i32::try_from(contents.len()).ok(),
            continuation_token: input.continuation_token,
            is_truncated: Some(is_truncated),
            next_continuation_token: shown.next_back().filter(|_| is_truncated).map(|head| head.key.clone()),
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
        let most = input.max_keys.unwrap_or(MAX_LISTED).clamp(0, MAX_LISTED);
        let (bucket, prefix) = (input.bucket.clone(), input.prefix.clone().unwrap_or_default());
        let mut listed =
            self.ask(move |objects| objects.versions(&bucket, &prefix, i64::from(most) + 1)).await?;
        let shown = usize::try_from(most).unwrap_or_default();
        let is_truncated = listed.len() > shown;
        listed.truncate(shown);
        let (markers, versions): (Vec<_>, Vec<_>) = listed.into_iter().partition(|version| version.is_marker);
        Ok(S3Response::new(ListObjectVersionsOutput {
            name: Some(input.bucket),
            prefix: input.prefix,
            max_keys: Some(most),
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

/// The whole body of an object.
async fn whole(body: Option<StreamingBlob>) -> S3Result<Bytes> {
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
