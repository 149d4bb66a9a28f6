//! Conformance of the AWS adapters to the ports: the suite of the in-memory adapters
//! (`shared/turns/tests/conformance.rs`), over the AWS SDK, against the services of the local cloud.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test")]

mod contended;

use std::path::PathBuf;

use agent::context::Document;
use aws_sdk_dynamodb::types::AttributeValue;
use contracts::id::OrgId;
use local::{Cloud, Options};
use protocol::queue_message::FinalizeMessage;
use storage::{Objects, Queue, Table};
use testkit::conformance;
use turns::{
    flow::import_context,
    ports::{UsageKey, UsageKeyHolder},
    system::System,
};

/// Starts a cloud with a paused finalizer.
async fn cloud() -> Cloud {
    let options = Options {
        executable: Some(PathBuf::from(env!("CARGO_BIN_EXE_aptix"))),
        sweep: None,
        ..Options::default()
    };
    let cloud = Cloud::start(options).await.expect("the local cloud starts");
    cloud.pause_finalizer().await;
    cloud
}

#[tokio::test(flavor = "multi_thread")]
async fn dynamodb_table_conforms() {
    let cloud = cloud().await;
    let table = Table::new(cloud.dynamodb().clone(), cloud.table().to_owned());
    conformance::table(&table, "run").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dynamodb_table_with_sharded_lists_conforms() {
    let cloud = cloud().await;
    let table = Table::new(cloud.dynamodb().clone(), cloud.table().to_owned()).with_sharded_lists(true);
    conformance::table(&table, "run").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dynamodb_contexts_conform() {
    let cloud = cloud().await;
    let table = Table::new(cloud.dynamodb().clone(), cloud.table().to_owned());
    let put = async |org: &OrgId, document: Document| {
        import_context(&table, &System::new(), org, &document).await.unwrap();
    };
    conformance::contexts(&table, put, "run").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dynamodb_documents_conform() {
    let cloud = cloud().await;
    let table = Table::new(cloud.dynamodb().clone(), cloud.table().to_owned());
    conformance::documents(&table, "run").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dynamodb_orgs_of_clients_are_read_as_written() {
    let cloud = cloud().await;
    let table = || Table::new(cloud.dynamodb().clone(), cloud.table().to_owned());
    let (writer, reader) = (table(), table());
    let org = OrgId::new("acme").unwrap();
    assert_eq!(reader.client_org("ci#1").await.unwrap(), None);
    writer.put_client_org("ci#1", &org).await.unwrap();
    assert_eq!(writer.client_org("ci#1").await.unwrap(), Some(org.clone()));
    assert_eq!(reader.client_org("ci#1").await.unwrap(), None, "absence is cached");
    assert_eq!(table().client_org("ci#1").await.unwrap(), Some(org.clone()));
    assert_eq!(reader.client_orgs(10).await.unwrap(), [("ci#1".to_owned(), org)]);
    writer.remove_client_org("ci#1").await.unwrap();
    assert_eq!(writer.client_org("ci#1").await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn dynamodb_usage_keys_are_read_as_written() {
    let cloud = cloud().await;
    let table = || Table::new(cloud.dynamodb().clone(), cloud.table().to_owned());
    let (writer, reader) = (table(), table());
    let holder = |text: &str| UsageKeyHolder::parse(text).unwrap();
    let (org, user, sly) = (
        holder("acme"),
        holder("acme/ada"),
        UsageKeyHolder { org: OrgId::new("acme/ada").unwrap(), user: None },
    );
    let key = |letter: &str| UsageKey::new(letter.repeat(20)).unwrap();
    assert_eq!(reader.usage_key(&user).await.unwrap(), None);
    for (holder, letter) in [(&org, "o"), (&user, "u"), (&sly, "s")] {
        writer.put_usage_key(holder, &key(letter)).await.unwrap();
        assert_eq!(writer.usage_key(holder).await.unwrap(), Some(key(letter)));
    }
    assert_eq!(reader.usage_key(&user).await.unwrap(), None, "absence is cached");
    let listed = reader.usage_keys(10).await.unwrap();
    assert_eq!(listed, [(org.clone(), key("o")), (user.clone(), key("u")), (sly, key("s"))]);
    writer.remove_usage_key(&user).await.unwrap();
    assert_eq!(writer.usage_key(&user).await.unwrap(), None);

    // A key that can't be read is no absence.
    let item = [("PK", "USAGE_KEYS"), ("SK", "acme"), ("UsageKey", "short")]
        .map(|(name, value)| (name.to_owned(), AttributeValue::S(value.to_owned())));
    let put = cloud.dynamodb().put_item().table_name(cloud.table()).set_item(Some(item.into()));
    put.send().await.unwrap();
    assert!(table().usage_key(&org).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn s3_bucket_conforms() {
    let cloud = cloud().await;
    let bucket = Objects::new(cloud.s3().clone(), cloud.bucket().to_owned());
    conformance::payloads(&bucket, "run").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sqs_queue_delivers_an_announcement_a_second_later() {
    let cloud = cloud().await;
    let url = &cloud.endpoints().finalize_queue;
    let receive = || cloud.sqs().receive_message().queue_url(url);
    let sent = conformance::announcement(&Queue::new(cloud.sqs().clone(), url.clone())).await;
    let early = receive().send().await.unwrap();
    assert_eq!(early.messages().len(), 0, "an announcement is a second late");
    let due = receive().wait_time_seconds(5).send().await.unwrap();
    let body = due.messages()[0].body().unwrap();
    assert_eq!(serde_json::from_str::<FinalizeMessage>(body).unwrap(), sent);
}
