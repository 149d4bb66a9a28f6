//! Restrictions of the org on a turn that is about to start.

use agent::context::check_files;

use crate::flow::start::turn_start::{Admission, ReadStart};
use crate::{ports::AgentDeps, refusal::Refusal};

impl<D: AgentDeps> ReadStart<'_, '_, D> {
    /// Requires what is known before the contexts are read: that nothing is disabled, that the files are small enough,
    /// and that the budgets have room, in which it reserves a part. The model and the tools are checked with the
    /// contexts.
    ///
    /// A start reserves once. If it has, the admission for an earlier snapshot is in `slot`, and this snapshot is only
    /// checked.
    ///
    /// # Errors
    /// Returns the first limit that refuses the turn.
    pub(super) async fn admit<'s>(&self, slot: &'s mut Option<Admission>) -> Result<&'s Admission, Refusal> {
        let Self { start, snapshot, org } = self;
        let (key, user) = (&start.submission.key.session, &start.submission.requested_by.id);
        // Those of the session, or those that its first turn asks for.
        let contexts =
            snapshot.session.as_ref().map_or(&start.submission.contexts, |session| &session.contexts);
        let limits = &org.limits;
        let subjects = limits.subjects(start.deps.store(), key, user, contexts).await?;
        limits.check_disabled(&subjects)?;
        check_files(&limits.settings.policy, start.request)?;
        match slot {
            // Another request may have created the session meanwhile, for an agent whose meters don't count this turn.
            Some(admission) if limits.has_budgets() && admission.subjects.agents != subjects.agents => {
                Err(Refusal::Contended)
            }
            Some(admission) => {
                admission.subjects = subjects;
                Ok(admission)
            }
            None => {
                // Boxed: few orgs have budgets.
                let reservation = Box::pin(start.reserve(limits, &subjects)).await?;
                Ok(slot.insert(Admission { subjects, reservation }))
            }
        }
    }
}
