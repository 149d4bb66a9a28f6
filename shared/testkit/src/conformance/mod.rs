//! The conformance suite for ports, which in-memory and real adapters must pass alike.
//!
//! Each case has its own tenant, so that one table can serve all cases, concurrently or repeatedly.

mod approvals;
mod archive;
mod checkpoints;
mod concurrency;
mod conditions;
mod contexts;
mod documents;
mod due;
mod effects;
mod lists;
mod meters;
mod payloads;
mod round_trip;
mod usage;

use std::time::Duration;

use contracts::{
    Timestamp,
    id::{OrgId, SessionId, TurnId},
};
use protocol::Caller;
use protocol::{
    change::{Commit, SessionChange, TurnChange},
    detail::Participant,
    id::{AttemptId, SessionKey, TurnKey},
    session::Session,
    timing::Timing,
    transition::{
        begin,
        finalize::{Finalization, finalize},
        settle, spend,
    },
    turn::{EndReason, Turn, Verdict},
};
use turns::ports::{FinalizeQueue, Store};

pub use contexts::contexts;
pub use documents::documents;
pub use payloads::payloads;

use crate::build;

/// Checks that a table implements [`Store`]. `run` makes the tenants unique.
pub async fn table(store: &impl Store, run: &str) {
    round_trip::check(store, run).await;
    conditions::check(store, run).await;
    concurrency::check(store, run).await;
    due::check(store, run).await;
    lists::check(store, run).await;
    checkpoints::check(store, run).await;
    archive::check(store, run).await;
    usage::check(store, run).await;
    meters::check(store, run).await;
    effects::check(store, run).await;
    approvals::check(store, run).await;
}

/// Sends a message. The owner of the queue's other end checks that it arrives.
pub async fn announcement(queue: &impl FinalizeQueue) -> protocol::queue_message::FinalizeMessage {
    let message = protocol::queue_message::FinalizeMessage::TurnSettled {
        org: OrgId::new("an org/with|odd#signs").unwrap(),
        session: SessionId::new("s").unwrap(),
        turn: TurnId::new("t").unwrap(),
        correlation: Some("c".parse().unwrap()),
    };
    queue.send(&message).await.unwrap();
    message
}

/// A tenant with its own timing.
struct Tenant<'a, S> {
    store: &'a S,
    org: OrgId,
    timing: Timing,
}

impl<'a, S: Store> Tenant<'a, S> {
    fn new(store: &'a S, run: &str, case: &str) -> Self {
        // Contains every separator used in keys, none of which may matter.
        let org = OrgId::new(format!("{run}#{case}/o|ü")).unwrap();
        Self { store, org, timing: Timing::default() }
    }

    fn session(&self, session: &str) -> SessionKey {
        SessionKey { org: self.org.clone(), session: SessionId::new(session).unwrap() }
    }

    fn turn(&self, session: &str, turn: &str) -> TurnKey {
        self.session(session).turn(TurnId::new(turn).unwrap())
    }

    /// Returns the transaction that starts a turn on top of the stored state.
    fn start(&self, before: Option<&Session>, user: &str, turn: &TurnKey, at: Timestamp) -> Commit {
        let caller = Caller {
            org: self.org.clone(),
            org_name: None,
            user: build::user(user),
            operator: false,
            agent_editor: false,
            token: None,
        };
        let name = turn.turn.as_str();
        let request = build::request(turn.session.session.as_str(), name, &format!("Instruction {name}"));
        let attempt = AttemptId::new(format!("owner-{name}"));
        let newcomer = before.is_none_or(|session| session.owner.id != caller.user.id);
        begin::begin(
            before,
            None,
            &build::submission(&caller, &request),
            &build::setup(),
            attempt,
            newcomer,
            at,
            &self.timing,
        )
    }

    async fn start_turn(&self, user: &str, turn: &TurnKey, at: Timestamp) -> Turn {
        let before = self.store.session(&turn.session).await.unwrap();
        let mut commit = self.start(before.as_ref(), user, turn, at);
        if commit.participant.is_some()
            && self.store.is_participant(&turn.session, &build::user(user).id).await.unwrap()
        {
            commit.participant = None;
        }
        self.store.commit(&commit).await.unwrap();
        commit.turns[0].after.clone()
    }

    async fn finalize_turn(&self, turn: &Turn, at: Timestamp) -> Finalization {
        let verdict = Verdict::Ended(EndReason::Abandoned);
        let settled = settle::settle(turn, verdict, at, at, &self.timing).unwrap();
        self.store.write_turn(&settled).await.unwrap();
        let session = self.store.session(&turn.key.session).await.unwrap().unwrap();
        let finalized = finalize(&session, &spend::sealed(&settled.after), None).unwrap();
        self.store.commit(&finalized.clone().commit(&session)).await.unwrap();
        finalized
    }

    /// Commits a transaction that sets a participant's last activity.
    async fn set_activity(&self, activity: Participant) {
        let session = self.store.session(&activity.session).await.unwrap().unwrap();
        let change = SessionChange {
            condition: Some(session.rev),
            after: Session { rev: session.rev + 1, ..session },
        };
        let commit = Commit { activity: Some(activity), ..Commit::new(change) };
        self.store.commit(&commit).await.unwrap();
    }

    async fn head(&self, turn: &TurnKey) -> Option<Turn> {
        self.store.turn(turn).await.unwrap()
    }

    async fn write(&self, change: &TurnChange) -> bool {
        match self.store.write_turn(change).await {
            Ok(()) => true,
            Err(turns::ports::WriteError::ConditionFailed) => false,
            Err(error) => panic!("neither applied nor lost: {error:?}"),
        }
    }
}

fn at(seconds: u64) -> Timestamp {
    build::instant(seconds)
}

fn later(at: Timestamp, seconds: u64) -> Timestamp {
    at.after(Duration::from_secs(seconds))
}
