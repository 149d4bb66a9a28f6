//! The ports on the database.

use std::sync::Arc;
use std::time::Duration;

use contracts::id::OrgId;
use futures::future::try_join;
use llm::breaker::Breaker;
use llm::key::Keys;
use protocol::{id::SessionKey, purge::Forgot};
use qdrant_client::qdrant::{
    DeletePoints, DeletePointsBuilder, GetPointsBuilder, PointStruct, PointsIdsList, UpsertPointsBuilder,
};
use tokio::time::{Instant, timeout};
use turns::ports::{
    Candidates, Filled, ForgetSessions, IndexSessions, Indexed, SessionIndex, Sought, Unavailable,
};

use super::{layout, sought};
use crate::connection::{Connection, Failure, Patience, Unusable};
use crate::retriever::BREAKER;

const WHAT: &str = "the index of sessions";

/// How long the database is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// For what.
    pub patience: Patience,
    /// For all of a question.
    pub question: Duration,
}

impl Wait {
    /// For a search: somebody waits for it.
    pub const OF_A_SEARCH: Self =
        Self { patience: Patience::OF_A_TURN, question: Duration::from_millis(1_500) };
    /// For what keeps the index, behind everybody's answer.
    pub const OF_A_KEEPER: Self = Self {
        patience: Patience { connect: Duration::from_secs(2), attempt: Duration::from_secs(5) },
        question: Duration::from_secs(8),
    };
}

/// The index of sessions in a collection. One of it serves a process; clones share what is known of the database.
#[derive(Debug, Clone)]
pub struct SessionPoints<K> {
    connection: Connection<K>,
    collection: String,
    question: Duration,
    breaker: Arc<Breaker>,
}

impl<K: Keys> SessionPoints<K> {
    /// Prepares it. Nothing is sent before the first question.
    ///
    /// # Errors
    ///
    /// [`Unusable`], which says what is wrong.
    pub fn new(url: &str, key: Option<K>, collection: String, wait: Wait) -> Result<Self, Unusable> {
        Ok(Self {
            connection: Connection::new(url, key, wait.patience)?,
            collection,
            question: wait.question,
            breaker: Arc::new(Breaker::new(BREAKER).around(WHAT)),
        })
    }

    /// Waits for an answer no longer than for a question, and not at all where the database does not answer.
    async fn bounded<T>(&self, answer: impl Future<Output = Result<T, Failure>>) -> Result<T, Unavailable> {
        let Ok(admission) = self.breaker.admit(Instant::now()) else {
            return Err(Unavailable { what: WHAT, source: "it is not asked for a while".into() });
        };
        let answer = timeout(self.question, answer).await.unwrap_or(Err(Failure::TimedOut));
        let is_outage = matches!(answer, Err(Failure::TimedOut | Failure::Unavailable));
        admission.ended(is_outage, Instant::now());
        answer.map_err(|failure| Unavailable { what: WHAT, source: failure.into() })
    }

    async fn found(&self, sought: &Sought<'_>) -> Result<Option<Candidates>, Failure> {
        let query = sought::query(&self.collection, sought);
        let found = self.connection.ask(|qdrant| {
            let query = query.clone();
            async move { qdrant.points().query(query).await }
        });
        match try_join(found, self.filled_to(sought.org)).await {
            Ok((found, Filled::Whole)) => Ok(Some(sought::candidates(sought.org, found.result))),
            Ok(_) | Err(Failure::NoCollection) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    async fn filled_to(&self, org: &OrgId) -> Result<Filled, Failure> {
        let ids = vec![layout::id_of_org(org).into()];
        let asked = GetPointsBuilder::new(&self.collection, ids).with_payload(true).build();
        let answer = self.connection.ask(|qdrant| {
            let asked = asked.clone();
            async move { qdrant.points().get(asked).await }
        });
        match answer.await {
            Ok(answer) => Ok(layout::filled(answer.result.into_iter().next().map(|point| point.payload))),
            Err(Failure::NoCollection) => Ok(Filled::Nothing),
            Err(failure) => Err(failure),
        }
    }

    /// Writes points, into a collection that is made where there is none.
    async fn written(&self, points: Vec<PointStruct>) -> Result<(), Failure> {
        let asked = UpsertPointsBuilder::new(&self.collection, points).wait(true).build();
        let upsert = || {
            self.connection.ask(|qdrant| {
                let asked = asked.clone();
                async move { qdrant.points().upsert(asked).await }
            })
        };
        match upsert().await {
            Err(Failure::NoCollection) => {
                self.create().await?;
                upsert().await.map(drop)
            }
            answer => answer.map(drop),
        }
    }

    async fn create(&self) -> Result<(), Failure> {
        let asked = layout::create(&self.collection);
        let created = self.connection.ask(|qdrant| {
            let asked = asked.clone();
            async move { qdrant.collections().create(asked).await }
        });
        if let Err(failure) = created.await {
            // Somebody else made it in the meantime, or nobody can.
            self.connection.collection(&self.collection).await.map_err(|_| failure)?;
        }
        for index in layout::indexes(&self.collection) {
            let made = self.connection.ask(|qdrant| {
                let index = index.clone();
                async move { qdrant.points().create_field_index(index).await }
            });
            made.await?;
        }
        tracing::info!(collection = self.collection, "the index of sessions was made");
        Ok(())
    }
}

impl<K: Keys> SessionIndex for SessionPoints<K> {
    async fn candidates(&self, sought: &Sought<'_>) -> Result<Option<Candidates>, Unavailable> {
        self.bounded(self.found(sought)).await
    }
}

impl<K: Keys> IndexSessions for SessionPoints<K> {
    async fn put(&self, sessions: &[Indexed]) -> Result<(), Unavailable> {
        if sessions.is_empty() {
            return Ok(());
        }
        let put = async {
            match self.written(sessions.iter().map(layout::point).collect()).await {
                // Trying again changes nothing, until somebody changes the key or the collection.
                Err(failure @ (Failure::Refused | Failure::Rejected | Failure::TooLarge)) => {
                    tracing::error!(error = %failure, "sessions can't be indexed");
                    Ok(())
                }
                answer => answer,
            }
        };
        self.bounded(put).await
    }

    async fn filled(&self, org: &OrgId) -> Result<Filled, Unavailable> {
        self.bounded(self.filled_to(org)).await
    }

    async fn note_filled(&self, org: &OrgId, filled: &Filled) -> Result<(), Unavailable> {
        self.bounded(self.written(vec![layout::point_of_org(org, filled)])).await
    }
}

impl<K: Keys> ForgetSessions for SessionPoints<K> {
    async fn forget(&self, session: &SessionKey) -> Result<Forgot, Unavailable> {
        let ids = PointsIdsList { ids: vec![layout::id(session).into()] };
        let asked: DeletePoints = DeletePointsBuilder::new(&self.collection).points(ids).wait(true).build();
        let answer = self.connection.ask(|qdrant| {
            let asked = asked.clone();
            async move { qdrant.points().delete(asked).await }
        });
        let forgotten = async {
            match answer.await {
                Ok(_) | Err(Failure::NoCollection) => Ok(Forgot::Yes),
                Err(failure) => Err(failure),
            }
        };
        self.bounded(forgotten).await
    }
}
