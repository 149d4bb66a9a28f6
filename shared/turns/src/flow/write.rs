//! The loop of every write: read, decide, write conditionally, and start over if another writer was faster. The result of
//! a write is always known: an unknown or lost reply is followed by a read-back (I11).

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use protocol::{
    change::{Commit, SessionChange, TurnChange},
    transition::import::Reservation,
    turn::{State, Turn},
};

use crate::{
    ports::{ArchiveItem, Deps, Host, Reads, Source, Store, Unavailable, WriteError},
    refusal::Refusal,
};

/// The most tries of a decision or a write. A start needs the most: it may salvage the session's open turn, seal what
/// that turn has spent, and then still meet other writers.
const MAX_TRIES: u32 = 8;

/// The longest pause before the second try. The limit doubles with each further try.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// The longest pause between two tries. With it, all tries take at most two seconds besides their calls.
const MAX_PAUSE: Duration = Duration::from_millis(400);

/// The result of one try. A refusal is the error of a try: it ends the tries at once.
#[derive(Debug)]
pub(crate) enum Tried<T> {
    /// The result.
    Done(T),
    /// This call changed the state that it decides on. Decides again at once.
    Progress,
    /// Another writer changed the state. Decides again after a pause.
    Conflict,
    /// It is unknown whether the write was applied. Decides again after a pause, and the state that is read then tells.
    Unknown(Source),
}

impl<T> From<Result<T, WriteError>> for Tried<T> {
    fn from(written: Result<T, WriteError>) -> Self {
        match written {
            Ok(done) => Self::Done(done),
            Err(WriteError::ConditionFailed | WriteError::Contended) => Self::Conflict,
            Err(WriteError::Unknown(source)) => Self::Unknown(source),
        }
    }
}

/// The error of a decision whose tries are used up.
#[derive(Debug)]
pub(crate) struct Contended {
    /// The last failure. `None` if other writers were faster every time.
    source: Option<Source>,
}

impl From<Contended> for Unavailable {
    fn from(Contended { source }: Contended) -> Self {
        unavailable(source.unwrap_or_else(|| "it stayed contended".into()))
    }
}

impl From<Contended> for Refusal {
    fn from(Contended { source }: Contended) -> Self {
        source.map_or(Self::Contended, |source| unavailable(source).into())
    }
}

/// Tries until there is a result: each try reads, decides and writes once.
///
/// # Errors
/// The first error of a try, and contention once the tries are used up.
pub(crate) async fn decide<T, E, F>(host: &impl Host, attempt: impl Fn() -> F) -> Result<T, E>
where
    E: From<Contended>,
    F: Future<Output = Result<Tried<T>, E>>,
{
    decide_with(host, (), |()| async { ((), attempt().await) }).await
}

/// Tries as [`decide`] does. Each try gets the state that the one before it returned.
pub(crate) async fn decide_with<S, T, E, F>(
    host: &impl Host,
    mut state: S,
    attempt: impl Fn(S) -> F,
) -> Result<T, E>
where
    E: From<Contended>,
    F: Future<Output = (S, Result<Tried<T>, E>)>,
{
    let mut last = None;
    let mut limit = FIRST_PAUSE;
    for left in (0..MAX_TRIES).rev() {
        // Boxed: loops nest, and the futures of all levels would be one type, deeper than the compiler's limit.
        let (returned, tried) = Box::pin(attempt(state)).await;
        state = returned;
        match tried? {
            Tried::Done(done) => return Ok(done),
            Tried::Progress => continue,
            Tried::Conflict => {}
            Tried::Unknown(source) => last = Some(source),
        }
        if left > 0 {
            host.sleep(host.jitter(limit)).await;
            limit = (limit * 2).min(MAX_PAUSE);
        }
    }
    Err(Contended { source: last }.into())
}

/// The outcome of a conditional write.
#[derive(Debug)]
pub(crate) enum WriteOutcome {
    /// The write was applied, according to the reply or the stored state.
    Applied,
    /// Another write won. Contains the stored head, if there is one.
    Superseded(Option<Box<Turn>>),
}

impl WriteOutcome {
    /// Ends a try with this result if the write was applied.
    pub(crate) fn done<T>(self, result: T) -> Tried<T> {
        match self {
            Self::Applied => Tried::Done(result),
            Self::Superseded(_) => Tried::Conflict,
        }
    }
}

/// The stored state after a write whose result is unknown.
pub(crate) struct ReadBack {
    /// True if the state is the one that the write leads to.
    pub(crate) is_applied: bool,
    /// True if the condition of the write holds, so that the same write is safe to repeat.
    pub(crate) is_pending: bool,
    /// The stored head of a turn.
    pub(crate) stored: Option<Turn>,
}

impl ReadBack {
    /// Compares the stored state with the one before the write and the one that it leads to.
    pub(crate) fn of<T: PartialEq>(stored: &T, before: &T, after: &T) -> Self {
        Self { is_applied: stored == after, is_pending: stored == before, stored: None }
    }
}

/// Writes a turn head.
pub(crate) async fn turn(deps: &impl Deps, change: &TurnChange) -> Result<WriteOutcome, Unavailable> {
    write_head(deps, change, || deps.store().write_turn(change)).await
}

/// Writes a transaction. It is atomic, so its first turn is evidence for all of it. Without turns the stored session is.
pub(crate) async fn commit(deps: &impl Deps, commit: &Commit) -> Result<WriteOutcome, Unavailable> {
    let write = || deps.store().commit(commit);
    let Some(witness) = commit.turns.first() else {
        let SessionChange { condition, after } = &commit.session;
        let read_back = || async {
            let stored = deps.store().session(&after.key).await?;
            let is_applied = stored.as_ref() == Some(after);
            let is_pending = stored.map(|stored| stored.rev) == *condition;
            Ok(ReadBack { is_applied, is_pending, stored: None })
        };
        return until_known(deps.host(), false, write, read_back).await;
    };
    write_head(deps, witness, write).await
}

/// Writes items of an import. Repeating a write is safe, so a lost reply needs no read-back.
pub(crate) async fn archive_items(
    deps: &impl Deps,
    reservation: &Reservation,
    items: &[ArchiveItem],
) -> Result<WriteOutcome, Unavailable> {
    let write = || deps.store().put_archive_items(reservation, items);
    let read_back = || async { Ok(ReadBack { is_applied: false, is_pending: true, stored: None }) };
    until_known(deps.host(), false, write, read_back).await
}

async fn write_head<F: Future<Output = Result<(), WriteError>>>(
    deps: &impl Deps,
    witness: &TurnChange,
    write: impl Fn() -> F,
) -> Result<WriteOutcome, Unavailable> {
    // Every finalization of a turn writes the same head.
    let is_shared = matches!(witness.after.state, State::Finalized(_));
    let read_back = || async {
        let stored = deps.store().turn(&witness.after.key).await?;
        let is_applied = stored.as_ref().is_some_and(|stored| witness.was_applied(stored));
        let is_pending = witness.condition.holds(stored.as_ref());
        Ok(ReadBack { is_applied, is_pending, stored })
    };
    until_known(deps.host(), is_shared, write, read_back).await
}

/// Writes until the result is known. `is_shared` is set if other writers write the same state: then the stored state
/// proves nothing about this write, unless one of its own replies was lost.
pub(crate) async fn until_known<W, R>(
    host: &impl Host,
    is_shared: bool,
    write: impl Fn() -> W,
    read_back: impl Fn() -> R,
) -> Result<WriteOutcome, Unavailable>
where
    W: Future<Output = Result<(), WriteError>>,
    R: Future<Output = Result<ReadBack, Unavailable>>,
{
    let reply_lost = AtomicBool::new(false);
    decide(host, || async {
        let failed = match write().await {
            Ok(()) => return Ok(Tried::Done(WriteOutcome::Applied)),
            Err(WriteError::Contended) => return Ok(Tried::Conflict),
            // The condition may have failed because of an earlier try of this write, whose reply was lost.
            Err(WriteError::ConditionFailed) => None,
            Err(WriteError::Unknown(source)) => {
                reply_lost.store(true, Ordering::Relaxed);
                Some(source)
            }
        };
        let read = || async {
            Ok::<_, Unavailable>(match read_back().await {
                Ok(read) => Tried::Done(read),
                Err(error) => Tried::Unknown(error.source),
            })
        };
        let ReadBack { is_applied, is_pending, stored } = decide(host, read).await?;
        let is_own = !is_shared || reply_lost.load(Ordering::Relaxed);
        Ok(match failed {
            _ if is_applied && is_own => Tried::Done(WriteOutcome::Applied),
            Some(source) if is_pending => Tried::Unknown(source),
            _ => Tried::Done(WriteOutcome::Superseded(stored.map(Box::new))),
        })
    })
    .await
}

fn unavailable(source: Source) -> Unavailable {
    Unavailable { what: "the table", source }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use contracts::Timestamp;
    use futures::FutureExt;
    use protocol::{budget::EntryId, id::AttemptId};

    use super::*;
    use crate::ports::Timer;

    /// A machine on which time passes at once. It keeps the limits of its random pauses.
    #[derive(Default)]
    struct Machine(Mutex<Vec<u64>>);

    impl Timer for Machine {
        fn monotonic(&self) -> Duration {
            Duration::ZERO
        }

        async fn sleep(&self, _: Duration) {}
    }

    impl Host for Machine {
        fn now(&self) -> Timestamp {
            Timestamp::from_millis(0)
        }

        fn attempt_id(&self) -> AttemptId {
            AttemptId::new("a".to_owned())
        }

        fn jitter(&self, limit: Duration) -> Duration {
            self.0.lock().unwrap().push(u64::try_from(limit.as_millis()).unwrap());
            limit
        }

        fn entry_id(&self) -> EntryId {
            EntryId::default()
        }
    }

    /// Runs tries with these results, and returns the result, the pauses, and the number of tries.
    fn run(results: Vec<Result<Tried<u8>, Refusal>>) -> (Result<u8, Refusal>, Vec<u64>, usize) {
        let (host, left) = (Machine::default(), results.len());
        let results = Mutex::new(results.into_iter());
        let decided = decide(&host, || async { results.lock().unwrap().next().unwrap() });
        let result = decided.now_or_never().unwrap();
        let tried = left - results.into_inner().unwrap().len();
        (result, host.0.into_inner().unwrap(), tried)
    }

    fn conflicts(number: usize) -> Vec<Result<Tried<u8>, Refusal>> {
        (0..number).map(|_| Ok(Tried::Conflict)).collect()
    }

    #[test]
    fn refusal_ends_the_tries_at_once() {
        let (result, pauses, tried) =
            run(vec![Ok(Tried::Conflict), Err(Refusal::NotLastTurn), Ok(Tried::Done(1))]);
        assert!(matches!(result, Err(Refusal::NotLastTurn)), "{result:?}");
        assert_eq!((pauses.len(), tried), (1, 2));
    }

    #[test]
    fn conflicts_pause_ever_longer_up_to_a_limit_and_then_refuse() {
        let (result, pauses, tried) = run(conflicts(20));
        assert!(matches!(result, Err(Refusal::Contended)), "{result:?}");
        assert_eq!((pauses, tried), (vec![50, 100, 200, 400, 400, 400, 400], 8));
    }

    #[test]
    fn progress_is_tried_again_without_a_pause() {
        let (result, pauses, _) = run(vec![Ok(Tried::Progress), Ok(Tried::Progress), Ok(Tried::Done(7))]);
        assert_eq!((result.unwrap(), pauses), (7, vec![]));
    }

    #[test]
    fn last_unknown_reply_is_the_cause_of_contention() {
        let mut results = conflicts(7);
        results.insert(3, Ok(Tried::Unknown("a lost reply".into())));
        let (result, _, _) = run(results);
        let Err(Refusal::Unavailable(Unavailable { what, source })) = result else { panic!("{result:?}") };
        assert_eq!((what, source.to_string().as_str()), ("the table", "a lost reply"));
    }
}
