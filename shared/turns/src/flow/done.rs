//! What a turn did, out of what is stored of it anyway: outcome objects and recorded steps.

use agent::{
    outcome::{Ending, Outcome},
    progress::Step,
};
use contracts::read::StepKind;
use protocol::turn::{State, Turn};

use super::{
    outcomes,
    steps::{self, By},
};
use crate::{
    ports::{PayloadReads, Reads, Unavailable},
    step_view::{Last, Told},
};

/// What is stored of what a turn did. Of one that runs, what its attempts recorded.
pub(super) async fn told(
    store: &impl Reads,
    payloads: &impl PayloadReads,
    turn: &Turn,
) -> Result<Told, Unavailable> {
    let (by, partial) = match &turn.state {
        State::Running { .. } => {
            let found = steps::last(payloads, turn).await?;
            (found.map(|found| By::Step(Box::new(found.step))), None)
        }
        State::AwaitingTools { .. } => {
            let suspended = outcomes::written_by(payloads, &turn.key, &turn.attempt).await?;
            (Some(By::Outcome(Box::new(suspended))), None)
        }
        State::Settled(_) | State::Finalized(_) => {
            let known = steps::known(store, payloads, turn).await?;
            known.map_or((None, None), |known| (known.by, known.partial))
        }
    };
    let told = match by {
        None => Told::default(),
        Some(By::Step(step)) => of_step(turn, &step),
        Some(By::Outcome(outcome)) => match &outcome.ending {
            Ending::Suspended { step } => of_step(turn, step),
            Ending::Completed { .. } | Ending::Failed { .. } => {
                whole(payloads, turn, of_outcome(*outcome)).await?
            }
        },
    };
    let partial = partial.map(|text| Last { kind: StepKind::PartialAnswer, text, model: None, made: None });
    Ok(Told { last: partial.or(told.last), ..told })
}

fn of_step(turn: &Turn, step: &Step) -> Told {
    let progress = &step.progress;
    let deadline = match &turn.state {
        State::AwaitingTools { deadline, .. } => Some(*deadline),
        State::Running { .. } | State::Settled(_) | State::Finalized(_) => None,
    };
    Told { rounds: progress.rounds_in(progress.mode(turn)), of: progress.rounds, deadline, last: None }
}

fn of_outcome(outcome: Outcome) -> Told {
    let (rounds, report) = (outcome.rounds(), &outcome.report);
    let (of, model) = (report.tool_rounds.unwrap_or_default(), report.model.clone());
    let answer = outcome.response.answer();
    let last = match outcome.ending {
        Ending::Completed { made, .. } => answer.map(|text| (StepKind::Answer, text, made)),
        Ending::Failed { made, partial, .. } => match (partial, made) {
            (None, None) => None,
            (partial, made) => Some((StepKind::PartialAnswer, partial.unwrap_or_default(), made)),
        },
        Ending::Suspended { .. } => None,
    };
    let last = last.map(|(kind, text, made)| Last { kind, text, model, made: made.map(|made| *made) });
    Told { rounds, of, deadline: None, last }
}

/// The same with the values that were cut for the outcome, where the last recorded step has them.
async fn whole(payloads: &impl PayloadReads, turn: &Turn, told: Told) -> Result<Told, Unavailable> {
    let is_whole = usize::try_from(told.of).is_ok_and(|of| told.rounds.len() >= of);
    let made = told.rounds.last().and_then(|round| round.made.as_ref());
    let Some(made) = made.filter(|_| !is_whole || told.rounds.iter().any(agent::call::Round::is_brief))
    else {
        return Ok(told);
    };
    // The last round's results may be the client's, which are recorded with no step of their own.
    let recorded = match steps::step(payloads, turn, &made.by, made.step).await? {
        None => steps::resumed(payloads, turn).await?.filter(|step| step.progress.rounds == told.of),
        recorded => recorded,
    };
    let rounds = recorded.map(|step| step.progress.rounds_in(step.progress.mode(turn)));
    Ok(match rounds {
        Some(rounds) => Told { rounds, ..told },
        None => told,
    })
}
