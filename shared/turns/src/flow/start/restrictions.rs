//! Restrictions of the org on a turn that is about to start.

use agent::context::check_files;
use protocol::{budget::Subjects, transition::begin::Snapshot};

use crate::flow::{limits::OrgLimits, start::turn_start::TurnStart};
use crate::{ports::AgentDeps, refusal::Refusal};

impl<D: AgentDeps> TurnStart<'_, D> {
    /// Requires what is known before the contexts are read: that nothing is disabled, that the files are small enough,
    /// and that the budgets have room, in which it reserves a part. The model and the tools are checked with the
    /// contexts.
    ///
    /// # Errors
    /// Returns the first limit that refuses the turn.
    pub(super) async fn admit(&self, snapshot: &Snapshot, limits: &OrgLimits) -> Result<Subjects, Refusal> {
        let (key, user) = (&self.submission.key.session, &self.submission.requested_by.id);
        // Those of the session, or those that its first turn asks for.
        let contexts =
            snapshot.session.as_ref().map_or(&self.submission.contexts, |session| &session.contexts);
        let subjects = limits.subjects(self.deps.store(), key, user, contexts).await?;
        limits.check_disabled(&subjects)?;
        check_files(&limits.settings.policy, self.request)?;
        // Boxed: few orgs have budgets.
        Box::pin(self.reserve(limits, &subjects)).await?;
        Ok(subjects)
    }
}
