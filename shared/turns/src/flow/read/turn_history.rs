//! The history of a turn, from its outcome object or its recorded steps.

use agent::{
    attempt::RecoveryPoint,
    outcome::{Ending, Outcome},
};
use contracts::read::StepKind;
use protocol::turn::{State, Turn};

use crate::flow::finish::{
    evidence::{TurnEvidence, WorkRecord},
    steps,
};
use crate::{
    ports::{PayloadReads, Reads, Unavailable},
    step_view::{FinalReply, TurnHistory},
};

/// Loads a turn's history. For a running turn, it is what the attempts recorded so far.
pub(crate) async fn load(
    store: &impl Reads,
    payloads: &impl PayloadReads,
    turn: &Turn,
) -> Result<TurnHistory, Unavailable> {
    let TurnEvidence { work, partial_answer } = TurnEvidence::load(store, payloads, turn).await?;
    let history = match work {
        None => TurnHistory::default(),
        Some(WorkRecord::RecoveryPoint(step)) => from_step(turn, &step),
        Some(WorkRecord::Outcome(outcome)) => match &outcome.ending {
            Ending::Suspended { recovery_point } => from_step(turn, recovery_point),
            Ending::Completed { .. } | Ending::Failed { .. } => {
                with_full_values(payloads, turn, from_outcome(*outcome)).await?
            }
        },
    };
    let partial = partial_answer.map(|text| FinalReply {
        kind: StepKind::PartialAnswer,
        text,
        model: None,
        model_call: None,
    });
    Ok(TurnHistory { last: partial.or(history.last), ..history })
}

fn from_step(turn: &Turn, step: &RecoveryPoint) -> TurnHistory {
    let state = &step.state;
    let deadline = match &turn.state {
        State::AwaitingTools { deadline, .. } => Some(*deadline),
        State::Running { .. } | State::Settled(_) | State::Finalized(_) => None,
    };
    TurnHistory {
        rounds: state.rounds.for_replay(state.effects.mode(turn)),
        of: state.rounds.count,
        deadline,
        last: None,
    }
}

fn from_outcome(outcome: Outcome) -> TurnHistory {
    let (rounds, report) = (outcome.rounds(), &outcome.report);
    let (of, model) = (report.tool_rounds.unwrap_or_default(), report.model.clone());
    let answer = outcome.response.answer_text();
    let last = match outcome.ending {
        Ending::Completed { model_call, .. } => answer.map(|text| (StepKind::Answer, text, model_call)),
        Ending::Failed { model_call, partial, .. } => match (partial, model_call) {
            (None, None) => None,
            (partial, model_call) => Some((StepKind::PartialAnswer, partial.unwrap_or_default(), model_call)),
        },
        Ending::Suspended { .. } => None,
    };
    let last = last.map(|(kind, text, model_call)| FinalReply {
        kind,
        text,
        model,
        model_call: model_call.map(|model_call| *model_call),
    });
    TurnHistory { rounds, of, deadline: None, last }
}

/// Restores the long values that the outcome cut, from the last recorded step if it has them.
async fn with_full_values(
    payloads: &impl PayloadReads,
    turn: &Turn,
    history: TurnHistory,
) -> Result<TurnHistory, Unavailable> {
    let is_complete = usize::try_from(history.of).is_ok_and(|of| history.rounds.len() >= of);
    let model_call = history.rounds.last().and_then(|round| round.model_call.as_ref());
    let Some(model_call) = model_call.filter(|_| {
        !is_complete || history.rounds.iter().any(agent::tool::rounds::Round::has_truncated_values)
    }) else {
        return Ok(history);
    };
    // The last round's results may come from the client, and those have no recorded step of their own.
    let recorded = match steps::recorded(payloads, turn, &model_call.attempt_id, model_call.recovery_point)
        .await?
    {
        None => steps::resumed(payloads, turn).await?.filter(|step| step.state.rounds.count == history.of),
        recorded => recorded,
    };
    let rounds = recorded.map(|step| step.state.rounds.for_replay(step.state.effects.mode(turn)));
    Ok(match rounds {
        Some(rounds) => TurnHistory { rounds, ..history },
        None => history,
    })
}
