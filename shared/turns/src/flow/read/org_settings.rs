//! The settings of an org.

use std::sync::Arc;

use contracts::request::OrgSettings;
use protocol::Caller;

use crate::flow::{access::require_operator, org_settings, read::session_reader::SessionReader};
use crate::{
    ports::{OrgSettingsReads, PayloadReads, Reads},
    refusal::Refusal,
};

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
