//! Restrictions of the org on a turn that is about to start.

use agent::context::{check_disabled, check_files};
use contracts::request::OrgSettings;
use protocol::{session::Contexts, transition::begin::Snapshot};

use crate::flow::start::turn_start::TurnStart;
use crate::{ports::AgentDeps, refusal::Refusal};

impl<D: AgentDeps> TurnStart<'_, D> {
    /// The settings of the org, as the start has read them with its first snapshot.
    pub(super) fn org_settings(&self) -> &OrgSettings {
        self.org_settings.get_or_init(Default::default)
    }

    /// Returns the contexts of the session, or those that its first turn asks for.
    pub(super) fn contexts<'s>(&'s self, snapshot: &'s Snapshot) -> &'s Contexts {
        snapshot.session.as_ref().map_or(&self.submission.contexts, |session| &session.contexts)
    }

    /// Requires what is known before the contexts are read: that nothing is disabled, and that the files are small
    /// enough. The model and the tools are checked with the contexts.
    pub(super) fn check_restrictions(&self, snapshot: &Snapshot) -> Result<(), Refusal> {
        let settings = self.org_settings();
        let (user, agent) = (&self.submission.requested_by.id, self.contexts(snapshot).agent_id());
        check_disabled(&settings.disabled, user, agent).map_err(Refusal::Restricted)?;
        check_files(&settings.policy, self.request).map_err(Refusal::Restricted)
    }
}
