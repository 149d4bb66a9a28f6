//! The budgets of an org.

use contracts::request::Budgets;
use protocol::Caller;

use crate::flow::{
    access::require_operator, entity_tag::with_entity_tag, read::session_reader::SessionReader,
};
use crate::{
    ports::{MeterReads, PayloadReads, Reads},
    refusal::Refusal,
};

impl<R: Reads + MeterReads, P: PayloadReads> SessionReader<R, P> {
    /// Returns the budgets of the caller's org with their entity tag.
    ///
    /// # Errors
    /// If the caller isn't an operator.
    pub async fn budgets(&self, caller: &Caller) -> Result<Budgets, Refusal> {
        require_operator(caller)?;
        Ok(with_entity_tag(self.store.stored_budgets(&caller.org).await?.budgets))
    }
}
