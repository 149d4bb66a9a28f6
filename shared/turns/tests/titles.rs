//! A session gets at most one model call for its title, whichever fault hits whichever effect of the finalizer.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use agent::model::{Error, Model, Observer, Reply, Request, providers::Providers};
use contracts::request::TitleSettings;
use protocol::{
    session::{NameSource, Session},
    timing::Timing,
};
use testkit::{
    deployment::{ClientRequest, Deployment, Settings},
    fault::Fault,
    faulty::Faulty,
    ledger::Ledger,
    memory::{Objects, Table},
    schedule::{Faults, Latency, Process, ProcessId, Schedule},
};
use turns::{
    flow::{Titles, write_title},
    ports::Adapters,
};

/// The time budget of a function.
const BUDGET: Duration = Duration::from_secs(840);
const MODEL: &str = "mini";

/// Counts its calls.
#[derive(Debug, Clone, Default)]
struct CountingModel(Arc<AtomicU64>);

impl Model for CountingModel {
    async fn reply(&self, request: &Request, _: Duration, _: &mut Observer<'_>) -> Result<Reply, Error> {
        assert_eq!(request.model, MODEL);
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(Reply {
            response_id: "resp".to_owned(),
            model: MODEL.to_owned(),
            text: "\"Leases\"".to_owned(),
            calls: Vec::new(),
            is_stored: false,
            is_truncated: false,
            replaces_stream: false,
            reasoning: Vec::new(),
            hosted: Vec::new(),
            text_parts: Vec::new(),
        })
    }
}

/// A session whose first turn is final.
struct World {
    table: Table,
    objects: Objects,
    sent: ClientRequest,
    model: CountingModel,
}

impl World {
    fn new() -> Self {
        let mut deployment = Deployment::new(Settings::quiet());
        let sent = ClientRequest::new("ann", "s", "t1", "one");
        let process = deployment.execute(&sent, BUDGET, Faults::None);
        deployment.finish(&process);
        deployment.wait(Duration::from_secs(5));
        let (table, objects) = (deployment.table.clone(), deployment.objects.clone());
        Self { table, objects, sent, model: CountingModel::default() }
    }

    /// Writes the title in a process of its own. Returns the number of effects that it reached.
    fn write_title(&self, number: u32, faults: Faults) -> usize {
        let mut schedule: Schedule<()> = Schedule::new(u64::from(number), Latency::Instant, false);
        let clock = schedule.clock().clone();
        let ledger = Ledger::new(clock.clone());
        let process = Process::new(ProcessId(number), "titler".to_owned(), clock, ledger, faults);
        let deps = Adapters {
            store: Faulty::new(self.table.clone(), process.clone()),
            payloads: Faulty::new(self.objects.clone(), process.clone()),
            host: process.clone(),
            timing: Timing::default(),
        };
        let default = TitleSettings { model: Some(MODEL.to_owned()), provider: None };
        let titles = Titles { model: self.model.clone(), providers: Providers::single("h"), default };
        let turn = self.sent.turn();
        schedule.spawn(&process, async move { write_title(&deps, &titles, &turn).await });
        while schedule.next(Duration::MAX).is_some() {}
        process.reached().len()
    }

    fn session(&self) -> Session {
        self.table.contents().sessions[&self.sent.turn().session].clone()
    }

    /// The calls that the model received, and those that the usage of the org counts.
    fn calls(&self) -> (u64, u64) {
        let contents = self.table.contents();
        let of_titles = contents.usage.iter().filter(|(key, _)| key.model.as_deref() == Some(MODEL));
        (self.model.0.load(Ordering::Relaxed), of_titles.map(|(_, amounts)| amounts.model_calls).sum())
    }
}

#[test]
fn repeated_message_names_the_session_once() {
    let world = World::new();
    for number in 1..=3 {
        world.write_title(number, Faults::None);
        let session = world.session();
        assert_eq!((session.name.as_str(), session.name_source), ("Leases", NameSource::Model));
        assert_eq!(world.calls(), (1, 1));
    }
}

#[test]
fn any_fault_costs_at_most_one_call_and_leaves_a_name() {
    let effects = World::new().write_title(1, Faults::None);
    assert!(effects >= 5, "{effects}");
    for fault in Fault::ALL {
        for index in 0..effects {
            let what = format!("{fault:?} at {index}");
            let world = World::new();
            let excerpt = world.session().name;
            world.write_title(1, Faults::AtIndex([(index, fault)].into()));
            // The message comes again.
            world.write_title(2, Faults::None);
            let Session { name, name_source, .. } = world.session();
            let (made, counted) = world.calls();
            assert!(counted <= made && made <= 1, "{what}: {made} calls, {counted} counted");
            match name_source {
                NameSource::Model => assert_eq!((name.as_str(), made), ("Leases", 1), "{what}"),
                NameSource::Requested => assert_eq!(name, excerpt, "{what}"),
                NameSource::Excerpt | NameSource::User => panic!("{what}: {name_source:?}"),
            }
        }
    }
}
