//! Payloads on S3.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use agent::outcome::answer::File;
use aws_sdk_s3::{
    Client,
    config::{
        interceptors::InterceptorContext,
        retry::{ClassifyRetry, RetryAction},
    },
    error::{ProvideErrorMetadata, SdkError},
    operation::{get_object::GetObjectError, head_object::HeadObjectError, put_object::PutObjectError},
    presigning::PresigningConfig,
    primitives::ByteStream,
    types::{Delete, ObjectIdentifier},
};
use bytes::Bytes;
use contracts::{Timestamp, paths::RESERVED};
use percent_encoding::utf8_percent_encode;
use protocol::{
    id::{SessionKey, TurnKey},
    payload::{Kind, Payload},
    purge::PurgeEntry,
};
use turns::ports::{
    ArchivedObject, Link, Object, PURGE_VERSION_PAGE_SIZE, Page, PayloadReads, Payloads, Source, Unavailable,
};

use crate::{
    Prewarmed, failure,
    key::{self, MAX_KEY_BYTES},
};

/// The lifetime of a presigned link. Anyone with the link can read the object, so it is only long enough to follow it.
const LINK_TTL: Duration = Duration::from_secs(5 * 60);

/// The bucket of payloads.
#[derive(Debug, Clone)]
pub struct Objects {
    pub(crate) client: Prewarmed<Client>,
    pub(crate) bucket: String,
}

impl Objects {
    /// Creates an adapter for the bucket of this name.
    #[must_use]
    pub fn new(client: impl Into<Prewarmed<Client>>, bucket: String) -> Self {
        let client = client.into();
        let configured = move || {
            Client::from_conf(client.config().to_builder().retry_classifier(RetryWriteConflicts).build())
        };
        Self { client: Prewarmed::new(configured), bucket }
    }
}

/// Retries conditional writes that S3 rejects with a 409 because another one is in progress. S3 documents that they
/// can be retried, but the SDK doesn't do so by itself.
#[derive(Debug)]
struct RetryWriteConflicts;

impl ClassifyRetry for RetryWriteConflicts {
    fn classify_retry(&self, context: &InterceptorContext) -> RetryAction {
        let failed = context.output_or_error().and_then(Result::err);
        let refused = failed.and_then(|error| error.as_operation_error()?.downcast_ref::<PutObjectError>());
        match refused.and_then(ProvideErrorMetadata::code) {
            Some("ConditionalRequestConflict") => RetryAction::transient_error(),
            _ => RetryAction::NoActionIndicated,
        }
    }

    fn name(&self) -> &'static str {
        "a conditional write that another one is in the way of"
    }
}

impl PayloadReads for Objects {
    async fn get(&self, payload: &Payload) -> Result<Option<Bytes>, Unavailable> {
        let response = self.client.get_object().bucket(&self.bucket).key(key::object(payload)).send().await;
        match response {
            Ok(object) => {
                object.body.collect().await.map(|body| Some(body.into_bytes())).map_err(unavailable)
            }
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(unavailable(failure::cause(error))),
        }
    }

    async fn link(&self, payload: &Payload) -> Result<Option<Link>, Unavailable> {
        // S3 signs links to missing objects too. Whoever follows one gets S3's own error.
        let Some(media_type) = self.media_type(payload).await? else {
            return Ok(None);
        };
        let signed_at = SystemTime::now();
        let config = PresigningConfig::builder()
            .start_time(signed_at)
            .expires_in(LINK_TTL)
            .build()
            .map_err(unavailable)?;
        let request = self
            .client
            .get_object()
            .bucket(&self.bucket)
            .key(key::object(payload))
            .response_content_type(media_type)
            .set_response_content_disposition(attachment(payload))
            .presigned(config)
            .await
            .map_err(failure::cause)
            .map_err(unavailable)?;
        let since_epoch = signed_at.duration_since(UNIX_EPOCH).unwrap_or_default();
        let signed_at = Timestamp::from_millis(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX));
        Ok(Some(Link { url: request.uri().to_owned(), expires: signed_at.after(LINK_TTL) }))
    }

    async fn read(&self, payload: &Payload, limit: u64) -> Result<Option<Object>, Unavailable> {
        let key = key::object(payload);
        if key.len() > MAX_KEY_BYTES {
            return Ok(None);
        }
        let response = match self.client.get_object().bucket(&self.bucket).key(key).send().await {
            Ok(response) => response,
            Err(error) if is_missing(&error) => return Ok(None),
            Err(error) => return Err(unavailable(failure::cause(error))),
        };
        let media_type = media_type_of(payload, response.content_type);
        let size = response.content_length.and_then(|size| u64::try_from(size).ok()).unwrap_or(u64::MAX);
        if size > limit {
            return Ok(Some(Object { media_type, size, bytes: None }));
        }
        let bytes = response.body.collect().await.map_err(unavailable)?.into_bytes();
        Ok(Some(Object { media_type, size, bytes: Some(bytes) }))
    }

    async fn objects(
        &self,
        turn: &TurnKey,
        after: Option<String>,
    ) -> Result<Page<ArchivedObject>, Unavailable> {
        self.objects_of(turn, after).await
    }

    fn at(&self, turn: &TurnKey, place: &str) -> Option<Payload> {
        let key = format!("{}{place}", key::turn_prefix(turn));
        if key.len() > MAX_KEY_BYTES {
            return None;
        }
        let payload = key::parse_object(&key)?;
        Some(payload).filter(|payload| payload.turn == *turn)
    }
}
impl Objects {
    async fn objects_of(
        &self,
        turn: &TurnKey,
        after: Option<String>,
    ) -> Result<Page<ArchivedObject>, Unavailable> {
        let folder = key::turn_prefix(turn);
        let list = self
            .client
            .list_objects_v2()
            .bucket(&self.bucket)
            .prefix(&folder)
            .set_start_after(after.map(|place| format!("{folder}{place}")));
        let list = list.send().await.map_err(|error| unavailable(failure::cause(error)))?;
        let placed = list.contents.unwrap_or_default().into_iter().filter_map(|object| {
            let key = object.key?;
            Some(ArchivedObject {
                payload: key::parse_object(&key)?,
                place: key.strip_prefix(&folder)?.to_owned(),
                size: object.size.and_then(|size| u64::try_from(size).ok()).unwrap_or(0),
            })
        });
        let items: Vec<ArchivedObject> = placed.collect();
        let next = items.last().filter(|_| list.is_truncated == Some(true)).map(|last| last.place.clone());
        Ok(Page { items, next })
    }
}

/// The tag by which the bucket's lifecycle rules recognize an object, which `template.yaml` names too.
fn lifecycle_tag(kind: &Kind) -> Option<&'static str> {
    matches!(kind, Kind::History(_)).then_some("Content=history")
}

/// The media type of an object. Files have their own.
fn media_type_of(payload: &Payload, stored: Option<String>) -> String {
    match (&payload.kind, stored) {
        (Kind::File { .. }, Some(own)) => own,
        (kind, _) => kind.media_type().to_owned(),
    }
}

/// The `Content-Disposition` of a file. The model chose its name and content, so a browser must never render it.
fn attachment(payload: &Payload) -> Option<String> {
    let Kind::File { name, .. } = &payload.kind else {
        return None;
    };
    let plain: String = name
        .chars()
        .map(|char| if char.is_ascii_alphanumeric() || "-._ ".contains(char) { char } else { '_' })
        .collect();
    let exact = utf8_percent_encode(name, RESERVED);
    Some(format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{exact}"))
}

impl Objects {
    /// Returns the media type of an object, or `None` if it doesn't exist.
    async fn media_type(&self, payload: &Payload) -> Result<Option<String>, Unavailable> {
        let key = key::object(payload);
        if key.len() > MAX_KEY_BYTES {
            return Ok(None);
        }
        let found = self.client.head_object().bucket(&self.bucket).key(key).send().await;
        match found {
            Ok(found) => Ok(Some(media_type_of(payload, found.content_type))),
            Err(error) if error.as_service_error().is_some_and(HeadObjectError::is_not_found) => Ok(None),
            Err(error) => Err(unavailable(failure::cause(error))),
        }
    }

    async fn store(&self, payload: &Payload, media_type: &str, body: Bytes) -> Result<(), Unavailable> {
        let put = self
            .client
            .put_object()
            .bucket(&self.bucket)
            .key(key::object(payload))
            .content_type(media_type)
            .set_tagging(lifecycle_tag(&payload.kind).map(str::to_owned))
            .if_none_match("*")
            .body(ByteStream::from(body))
            .send();
        match put.await {
            Ok(_) => Ok(()),
            // Rule 1: the key contains the writer or the content hash, so an existing object is the same one.
            Err(error) if error.code() == Some("PreconditionFailed") => Ok(()),
            Err(error) => Err(unavailable(failure::cause(error))),
        }
    }
}

impl Objects {
    /// Lists one page of objects in key order.
    ///
    /// # Errors
    /// Fails if the bucket can't be reached.
    pub async fn page(&self, after: Option<String>) -> Result<Page<ObjectEntry>, Unavailable> {
        let list = self.client.list_objects_v2().bucket(&self.bucket).set_continuation_token(after).send();
        let list = list.await.map_err(|error| unavailable(failure::cause(error)))?;
        let objects = list.contents.unwrap_or_default().into_iter().filter_map(|object| {
            let modified = object.last_modified.and_then(|at| at.to_millis().ok());
            Some(ObjectEntry {
                key: object.key?,
                bytes: object.size.and_then(|size| u64::try_from(size).ok()).unwrap_or(0),
                modified: Timestamp::from_millis(modified?),
            })
        });
        Ok(Page { items: objects.collect(), next: list.next_continuation_token })
    }
}

/// An object in a listing of the bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectEntry {
    /// Its key.
    pub key: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// The time of its upload.
    pub modified: Timestamp,
}

impl Payloads for Objects {
    async fn put(&self, payload: &Payload, body: Bytes) -> Result<(), Unavailable> {
        self.store(payload, payload.kind.media_type(), body).await
    }

    async fn put_file(&self, file: &File) -> Result<(), Unavailable> {
        self.store(&file.payload, &file.media_type, file.bytes.clone()).await
    }

    async fn remove(&self, payload: &Payload) -> Result<(), Unavailable> {
        let removed = self.client.delete_object().bucket(&self.bucket).key(key::object(payload)).send().await;
        removed.map(|_| ()).map_err(|error| unavailable(failure::cause(error)))
    }

    async fn versions(&self, session: &SessionKey) -> Result<Vec<PurgeEntry>, Unavailable> {
        let list = self
            .client
            .list_object_versions()
            .bucket(&self.bucket)
            .prefix(key::session_prefix(session))
            .max_keys(i32::try_from(PURGE_VERSION_PAGE_SIZE).unwrap_or(i32::MAX));
        let list = list.send().await.map_err(|error| unavailable(failure::cause(error)))?;
        let versions = list.versions.unwrap_or_default().into_iter().filter_map(|version| {
            let (key, id) = (version.key?, version.version_id?);
            let bytes = version.size.and_then(|size| u64::try_from(size).ok()).unwrap_or(0);
            let payload = key::parse_object(&key);
            let kind = key::kind_of_object(payload.as_ref().map(|payload| &payload.kind));
            Some(PurgeEntry { kind, sort_key: format!("{key}{VERSION_SEPARATOR}{id}"), bytes, payload })
        });
        let markers = list.delete_markers.unwrap_or_default().into_iter().filter_map(|marker| {
            let place = format!("{}{VERSION_SEPARATOR}{}", marker.key?, marker.version_id?);
            Some(PurgeEntry { kind: "delete_markers", sort_key: place, bytes: 0, payload: None })
        });
        let mut entries: Vec<PurgeEntry> = versions.chain(markers).collect();
        entries.sort_by(|one, other| one.sort_key.cmp(&other.sort_key));
        if list.is_truncated.unwrap_or(false) {
            // Versions of one object aren't sorted by id. Leave the last object's versions for the next page.
            let object =
                |entry: &PurgeEntry| entry.sort_key.split(VERSION_SEPARATOR).next().map(str::to_owned);
            let last = entries.last().and_then(object);
            if entries.first().and_then(object) != last {
                entries.retain(|entry| object(entry) != last);
            }
        }
        Ok(entries)
    }

    async fn remove_versions(&self, versions: &[PurgeEntry]) -> Result<(), Unavailable> {
        let identifiers = versions.iter().filter_map(|entry| {
            let (key, version) = entry.sort_key.rsplit_once(VERSION_SEPARATOR)?;
            Some(ObjectIdentifier::builder().key(key).version_id(version).build())
        });
        let identifiers: Result<Vec<_>, _> = identifiers.collect();
        let delete = Delete::builder().set_objects(Some(identifiers.map_err(unavailable)?)).quiet(true);
        let delete = delete.build().map_err(unavailable)?;
        let removed = self.client.delete_objects().bucket(&self.bucket).delete(delete).send().await;
        let removed = removed.map_err(|error| unavailable(failure::cause(error)))?;
        match removed.errors.unwrap_or_default().first() {
            None => Ok(()),
            Some(error) => Err(unavailable(format!(
                "a version could not be removed: {}",
                error.code().unwrap_or("no code")
            ))),
        }
    }
}

/// Separates an object's key from its version in a purge entry. Keys never contain a question mark.
const VERSION_SEPARATOR: &str = "?";
pub(crate) fn is_missing(error: &SdkError<GetObjectError>) -> bool {
    error.as_service_error().is_some_and(GetObjectError::is_no_such_key)
}

pub(crate) fn unavailable(error: impl Into<Source>) -> Unavailable {
    Unavailable { what: "the payload bucket", source: error.into() }
}
