//! The orgs of client applications whose tokens name none, from the table.
//!
//! The table's client is built with the first such token. Others cost no call and no start-up time.

use contracts::id::OrgId;
use storage::Table;
use tokio::sync::OnceCell;
use turns::ports::Unavailable;

/// The orgs of client applications. Each is cached for a minute, absence included.
#[derive(Debug)]
pub(crate) struct ClientOrgs {
    table_name: String,
    table: OnceCell<Table>,
}

impl ClientOrgs {
    pub(crate) fn new(table_name: String) -> Self {
        Self { table_name, table: OnceCell::new() }
    }

    /// Returns the org of a client, if it has one.
    pub(crate) async fn find(&self, client: &str) -> Result<Option<OrgId>, Unavailable> {
        let table = self.table.get_or_init(|| storage::load_table(&self.table_name)).await;
        table.client_org(client).await
    }
}
