//! The budgets and the settings of an org.

use std::sync::Arc;

use contracts::request::{Budgets, OrgSettings};
use protocol::Caller;

use crate::{
    flow::{
        access::require_operator, entity_tag::with_entity_tag, org_settings,
        read::session_reader::SessionReader,
    },
    ports::{MeterReads, OrgSettingsReads, PayloadReads, Reads},
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

impl<R: Reads + OrgSettingsReads, P: PayloadReads> SessionReader<R, P> {
    /// Returns the settings of the caller's org, which are the default before the first change.
    ///
    /// # Errors
    /// If the caller isn't an operator.
    pub async fn org_settings(&self, caller: &Caller) -> Result<OrgSettings, Refusal> {
        require_operator(caller)?;
        let stored = self.store.stored_org_settings(&caller.org).await?;
        Ok(org_settings::from_stored(stored.settings, &caller.org))
    }

    /// Returns the settings that turns of the caller's org have.
    ///
    /// # Errors
    /// If the table can't be reached.
    pub async fn effective_org_settings(&self, caller: &Caller) -> Result<Arc<OrgSettings>, Refusal> {
        Ok(self.store.org_settings(&caller.org).await?)
    }
}
