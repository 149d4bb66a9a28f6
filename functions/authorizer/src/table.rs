//! The table, connected to on the first request that needs it. Others cost no call and no start-up time.

use storage::Table;
use tokio::sync::OnceCell;

#[derive(Debug)]
pub(crate) struct LazyTable {
    name: String,
    table: OnceCell<Table>,
}

impl LazyTable {
    pub(crate) fn new(name: String) -> Self {
        Self { name, table: OnceCell::new() }
    }

    pub(crate) async fn get(&self) -> &Table {
        self.table.get_or_init(|| storage::load_table(&self.name)).await
    }
}
