//! Runs the conformance suite on the in-memory ports, as tests/conformance does on the real adapters.

use std::{
    pin::pin,
    task::{Context, Poll, Waker},
    time::Duration,
};

use testkit::{
    conformance,
    deployment::{Deployment, Settings},
    schedule::RunEvent,
};

/// Polls a future once. In-memory ports never wait.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => done,
        Poll::Pending => unreachable!("an in-memory port waited"),
    }
}

#[test]
fn in_memory_table_conforms() {
    let deployment = Deployment::new(Settings::quiet());
    now(conformance::table(&deployment.table, "run"));
}

#[test]
fn in_memory_documents_conform() {
    now(conformance::documents(&Deployment::new(Settings::quiet()).table, "run"));
}

#[test]
fn in_memory_contexts_conform() {
    let Deployment { table, .. } = Deployment::new(Settings::quiet());
    now(conformance::contexts(&table, async |org, document| table.put_context(org, document), "run"));
}

#[test]
fn in_memory_bucket_conforms() {
    let deployment = Deployment::new(Settings::quiet());
    now(conformance::payloads(&deployment.objects, "run"));
}

#[test]
fn in_memory_queue_delivers_after_a_second() {
    let mut deployment = Deployment::new(Settings::quiet());
    let message = now(conformance::announcement(&deployment.queue));
    let Some(RunEvent::Alarm(alarm)) = deployment.schedule.next(Duration::MAX) else {
        unreachable!("a message was announced");
    };
    assert_eq!(deployment.schedule.clock().monotonic(), Duration::from_secs(1));
    assert_eq!(deployment.queue.take(alarm).unwrap().message, message);
}
