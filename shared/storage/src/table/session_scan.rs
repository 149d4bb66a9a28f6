//! Every session of the table, whatever its org. For commands of an operator with AWS credentials.

use aws_sdk_dynamodb::types::AttributeValue;
use protocol::id::SessionKey;
use turns::ports::{Page, Unavailable};

use super::{RESOURCE, Table, list::keys_of};
use crate::{failure, item::Attributes, key};

/// The sort key of a session's own item.
const SESSION: &str = "SESSION";

impl Table {
    /// Returns one page of the keys of all sessions, those that were purged included, in no order. `after` is the
    /// `next` of the page before. Reads the whole table, a megabyte for each page; a page may be empty.
    ///
    /// # Errors
    /// Fails if the table can't be reached.
    pub async fn session_keys(&self, after: Option<String>) -> Result<Page<SessionKey>, Unavailable> {
        let start = after.and_then(|after| {
            let (pk, sk) = after.split_once('\n')?;
            let key = [("PK", pk), ("SK", sk)];
            let key = key.map(|(name, value)| (name.to_owned(), AttributeValue::S(value.to_owned())));
            Some(Attributes::from(key))
        });
        let page = self
            .client
            .scan()
            .table_name(&self.name)
            .consistent_read(true)
            .projection_expression("PK, SK")
            .filter_expression("SK = :session")
            .expression_attribute_values(":session", AttributeValue::S(SESSION.to_owned()))
            .set_exclusive_start_key(start)
            .send()
            .await
            .map_err(|error| failure::unavailable(RESOURCE, error))?;
        let keys = page.items().iter().filter_map(keys_of);
        Ok(Page {
            items: keys.filter_map(|(pk, _)| key::parse_session(&pk)).collect(),
            next: page.last_evaluated_key.as_ref().and_then(keys_of).map(|(pk, sk)| format!("{pk}\n{sk}")),
        })
    }
}
