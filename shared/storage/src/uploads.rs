//! Files that users upload for later requests, on S3.
//!
//! A file belongs to one user of one org, and its key is built from the verified caller. The bucket's lifecycle rule
//! removes it after 30 days.

use aws_sdk_s3::{operation::head_object::HeadObjectError, primitives::ByteStream};
use bytes::Bytes;
use contracts::id::{OrgId, UserId};
use turns::ports::Unavailable;

use crate::{
    Objects, failure,
    key::{MAX_KEY_BYTES, upload_prefix},
    objects::{is_missing, unavailable},
};

/// The tag by which the bucket's lifecycle rule recognizes an upload, which `template.yaml` names too.
const UPLOAD_TAG: &str = "Content=upload";

/// The uploaded files of all users.
#[derive(Debug, Clone)]
pub struct Uploads(Objects);

/// A file in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    /// The id.
    pub id: String,
    /// The size in bytes.
    pub bytes: u64,
}

/// The content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadContent {
    /// The media type.
    pub media_type: String,
    /// The bytes.
    pub bytes: Bytes,
}

impl Uploads {
    /// Creates an adapter for the bucket of the payloads.
    #[must_use]
    pub fn new(objects: Objects) -> Self {
        Self(objects)
    }

    /// Stores a file. Returns false if the ids of org, user and file are too long for a key.
    ///
    /// # Errors
    /// If the bucket can't be reached.
    pub async fn put(
        &self,
        org: &OrgId,
        user: &UserId,
        id: &str,
        media_type: &str,
        body: Bytes,
    ) -> Result<bool, Unavailable> {
        let Some(key) = key(org, user, id) else { return Ok(false) };
        let Objects { client, bucket } = &self.0;
        let put = client.put_object().bucket(bucket).key(key).content_type(media_type);
        let put = put.tagging(UPLOAD_TAG).if_none_match("*").body(ByteStream::from(body)).send();
        put.await.map(|_| true).map_err(|error| unavailable(failure::cause(error)))
    }

    /// Lists the files of a user, in no particular order. Returns at most 1,000, which is more than a user may have.
    ///
    /// # Errors
    /// If the bucket can't be reached.
    pub async fn list(&self, org: &OrgId, user: &UserId) -> Result<Vec<Upload>, Unavailable> {
        self.list_under(org, user, "").await
    }

    /// Lists the files of a user whose ids begin with this text, in no particular order. Returns at most 1,000.
    ///
    /// # Errors
    /// If the bucket can't be reached.
    pub async fn list_under(
        &self,
        org: &OrgId,
        user: &UserId,
        start: &str,
    ) -> Result<Vec<Upload>, Unavailable> {
        let Objects { client, bucket } = &self.0;
        let prefix = upload_prefix(org, user);
        let list = client.list_objects_v2().bucket(bucket).prefix(format!("{prefix}{start}")).send().await;
        let list = list.map_err(|error| unavailable(failure::cause(error)))?;
        let uploads = list.contents.unwrap_or_default().into_iter().filter_map(|object| {
            let id = object.key?.strip_prefix(&prefix)?.to_owned();
            Some(Upload { id, bytes: object.size.and_then(|size| u64::try_from(size).ok()).unwrap_or(0) })
        });
        Ok(uploads.collect())
    }

    /// Returns the size of a file in bytes, or `None` if the user has no such file.
    ///
    /// # Errors
    /// If the bucket can't be reached.
    pub async fn size(&self, org: &OrgId, user: &UserId, id: &str) -> Result<Option<u64>, Unavailable> {
        let Some(key) = key(org, user, id) else { return Ok(None) };
        let Objects { client, bucket } = &self.0;
        match client.head_object().bucket(bucket).key(key).send().await {
            Ok(head) => Ok(Some(head.content_length.and_then(|size| u64::try_from(size).ok()).unwrap_or(0))),
            Err(error) if error.as_service_error().is_some_and(HeadObjectError::is_not_found) => Ok(None),
            Err(error) => Err(unavailable(failure::cause(error))),
        }
    }

    /// Reads a file, or returns `None` if the user has no such file.
    ///
    /// # Errors
    /// If the bucket can't be reached.
    pub async fn read(
        &self,
        org: &OrgId,
        user: &UserId,
        id: &str,
    ) -> Result<Option<UploadContent>, Unavailable> {
        let Some(key) = key(org, user, id) else { return Ok(None) };
        let Objects { client, bucket } = &self.0;
        let object = match client.get_object().bucket(bucket).key(key).send().await {
            Ok(object) => object,
            Err(error) if is_missing(&error) => return Ok(None),
            Err(error) => return Err(unavailable(failure::cause(error))),
        };
        let media_type = object.content_type.unwrap_or_else(|| "application/octet-stream".to_owned());
        let bytes = object.body.collect().await.map_err(unavailable)?.into_bytes();
        Ok(Some(UploadContent { media_type, bytes }))
    }

    /// Removes a file. Succeeds if it doesn't exist.
    ///
    /// # Errors
    /// If the bucket can't be reached.
    pub async fn remove(&self, org: &OrgId, user: &UserId, id: &str) -> Result<(), Unavailable> {
        let Some(key) = key(org, user, id) else { return Ok(()) };
        let Objects { client, bucket } = &self.0;
        let removed = client.delete_object().bucket(bucket).key(key).send().await;
        removed.map(|_| ()).map_err(|error| unavailable(failure::cause(error)))
    }
}

/// Returns the key of a file, unless it is too long for S3. The id is one of ours, so it has no separator.
fn key(org: &OrgId, user: &UserId, id: &str) -> Option<String> {
    let key = format!("{}{id}", upload_prefix(org, user));
    (key.len() <= MAX_KEY_BYTES && !id.contains('/')).then_some(key)
}
