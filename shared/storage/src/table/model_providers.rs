//! The additional model providers of a deployment, a JSON list in one item. Written with AWS credentials alone, because the
//! functions send their requests and keys to what it names.

use aws_sdk_dynamodb::types::AttributeValue;
use turns::ports::Unavailable;

use super::{
    RESOURCE, Table,
    read::{primary, text, unreadable},
};
use crate::{
    failure,
    item::{Unreadable, check_version},
    key::Item,
};

impl Table {
    /// Returns the list, if one is stored.
    ///
    /// # Errors
    /// Fails if the table can't be reached or the item can't be read.
    pub async fn model_providers(&self) -> Result<Option<String>, Unavailable> {
        let Some(item) = self.get(&Item::ModelProviders).await? else { return Ok(None) };
        check_version(&item).map_err(unreadable)?;
        let list = text(&item, "Document").ok_or_else(|| unreadable(Unreadable::Lacks("Document")))?;
        Ok(Some(list.to_owned()))
    }

    /// Stores a valid list, in place of the one before.
    ///
    /// # Errors
    /// Fails if the table can't be reached.
    pub async fn put_model_providers(&self, list: &str) -> Result<(), Unavailable> {
        let put = self.put_item(&Item::ModelProviders).item("Document", AttributeValue::S(list.to_owned()));
        put.send().await.map(|_| ()).map_err(|error| failure::unavailable(RESOURCE, error))
    }

    /// Removes the list.
    ///
    /// # Errors
    /// Fails if the table can't be reached.
    pub async fn remove_model_providers(&self) -> Result<(), Unavailable> {
        let delete = self.client.delete_item().table_name(&self.name);
        let removed = delete.set_key(Some(primary(&Item::ModelProviders))).send().await;
        removed.map(|_| ()).map_err(|error| failure::unavailable(RESOURCE, error))
    }
}
