//! The contents of documents for the agents of orgs, on S3.

use aws_sdk_s3::primitives::ByteStream;
use bytes::Bytes;
use contracts::id::OrgId;
use knowledge::{DocumentId, ports::Contents};
use turns::ports::Unavailable;

use crate::{
    Objects, failure,
    key::{MAX_KEY_BYTES, knowledge_prefix},
    objects::{is_missing, unavailable},
};

impl Contents for Objects {
    async fn put_content(
        &self,
        org: &OrgId,
        id: &DocumentId,
        upload: &str,
        content: Bytes,
    ) -> Result<bool, Unavailable> {
        let key = key(org, id, upload);
        if key.len() > MAX_KEY_BYTES {
            return Ok(false);
        }
        let put = self.client.put_object().bucket(&self.bucket).key(key).body(ByteStream::from(content));
        put.send().await.map(|_| true).map_err(|error| unavailable(failure::cause(error)))
    }

    async fn content(
        &self,
        org: &OrgId,
        id: &DocumentId,
        upload: &str,
    ) -> Result<Option<Bytes>, Unavailable> {
        let get = self.client.get_object().bucket(&self.bucket).key(key(org, id, upload));
        match get.send().await {
            Ok(object) => {
                object.body.collect().await.map(|body| Some(body.into_bytes())).map_err(unavailable)
            }
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(unavailable(failure::cause(error))),
        }
    }

    async fn uploads(&self, org: &OrgId, id: &DocumentId) -> Result<Vec<String>, Unavailable> {
        let prefix = knowledge_prefix(org, id);
        let list = self.client.list_objects_v2().bucket(&self.bucket).prefix(&prefix).send().await;
        let list = list.map_err(|error| unavailable(failure::cause(error)))?;
        let keys = list.contents.unwrap_or_default().into_iter().filter_map(|object| object.key);
        Ok(keys.filter_map(|key| key.strip_prefix(&prefix).map(str::to_owned)).collect())
    }

    async fn remove_content(&self, org: &OrgId, id: &DocumentId, upload: &str) -> Result<(), Unavailable> {
        let delete = self.client.delete_object().bucket(&self.bucket).key(key(org, id, upload));
        delete.send().await.map(|_| ()).map_err(|error| unavailable(failure::cause(error)))
    }
}

fn key(org: &OrgId, id: &DocumentId, upload: &str) -> String {
    format!("{}{upload}", knowledge_prefix(org, id))
}
