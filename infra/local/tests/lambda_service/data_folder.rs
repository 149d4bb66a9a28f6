//! Tests of the data folder and of what it stores.

use std::time::{Duration, Instant};

use aws_sdk_dynamodb::types::{AttributeValue, TimeToLiveSpecification};
use axum::body::Bytes;
use local::token::Identity;
use local::{Cloud, Data, Options};

use crate::support::{quiet, start};

pub(crate) async fn data_folder_keeps_items_objects_and_tokens() {
    let folder = tempfile::tempdir().unwrap();
    let options = || Options { data: Data::Folder(folder.path().to_owned()), ..quiet() };
    let cloud = start(options()).await;
    let put = cloud.s3().put_object().bucket(cloud.bucket()).key("a/b").if_none_match("*");
    put.body(Bytes::from_static(b"kept").into()).send().await.unwrap();
    let text = |text: &str| aws_sdk_dynamodb::types::AttributeValue::S(text.to_owned());
    let put = cloud.dynamodb().put_item().table_name(cloud.table());
    put.item("PK", text("p")).item("SK", text("s")).send().await.unwrap();
    let token = cloud.token(&Identity::user("acme", "ada")).unwrap();
    cloud.shutdown().await;

    let cloud = start(options()).await;
    let again = cloud.s3().put_object().bucket(cloud.bucket()).key("a/b").if_none_match("*");
    assert!(again.send().await.is_err());
    let object = cloud.s3().get_object().bucket(cloud.bucket()).key("a/b").send().await.unwrap();
    assert_eq!(&object.body.collect().await.unwrap().into_bytes()[..], b"kept");
    let get = cloud.dynamodb().get_item().table_name(cloud.table()).consistent_read(true);
    assert!(get.key("PK", text("p")).key("SK", text("s")).send().await.unwrap().item.is_some());
    assert!(cloud.tokens().verify(Some(&token)).is_ok());
}

pub(crate) async fn data_folder_of_other_format_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("cloud");
    let options = || Options { data: Data::Folder(data.clone()), ..quiet() };
    start(options()).await.shutdown().await;
    let marker = data.join("format");
    assert_eq!(std::fs::read_to_string(&marker).unwrap(), "4\n");
    start(options()).await.shutdown().await;
    for (format, why) in [
        (None, "by an older version of aptix (format 1; this version reads format 4)"),
        (Some("1"), "by an older version of aptix (format 1; this version reads format 4)"),
        (Some("2"), "by an older version of aptix (format 2; this version reads format 4)"),
        (Some("5\n"), "by a newer version of aptix (format 5; this version reads format 4)"),
        (Some("two"), "an unreadable format marker"),
        (Some(""), "an unreadable format marker"),
    ] {
        match format {
            Some(format) => std::fs::write(&marker, format).unwrap(),
            None => std::fs::remove_file(&marker).unwrap(),
        }
        let error = Cloud::start(options()).await.err().unwrap().to_string();
        assert!(error.contains(why) && error.contains("--data FOLDER"), "{format:?}: {error}");
        assert!(error.contains(data.to_str().unwrap()) && !error.contains('\n'), "{format:?}: {error}");
        assert_eq!(std::fs::read_to_string(&marker).ok().as_deref(), format, "the marker is unchanged");
    }
    std::fs::write(&marker, "3").unwrap();
    start(options()).await.shutdown().await;
    assert_eq!(
        std::fs::read_to_string(&marker).unwrap(),
        "4\n",
        "format 3 is opened and becomes the current one"
    );
}

pub(crate) async fn empty_data_folder_starts() {
    let folder = tempfile::tempdir().unwrap();
    start(Options { data: Data::Folder(folder.path().to_owned()), ..quiet() }).await.shutdown().await;
    assert_eq!(std::fs::read_to_string(folder.path().join("format")).unwrap(), "4\n");
}

pub(crate) async fn ttl_is_enabled_after_interrupted_provisioning() {
    let folder = tempfile::tempdir().unwrap();
    let options = || Options { data: Data::Folder(folder.path().to_owned()), ..quiet() };
    let cloud = start(options()).await;
    // Simulates a kill between creating the table and enabling its TTL.
    let never =
        TimeToLiveSpecification::builder().enabled(false).attribute_name("ExpiresAt").build().unwrap();
    let unset = cloud.dynamodb().update_time_to_live().table_name(cloud.table());
    unset.time_to_live_specification(never).send().await.unwrap();
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let put = cloud.dynamodb().put_item().table_name(cloud.table()).item("PK", text("p"));
    put.item("SK", text("s")).item("ExpiresAt", AttributeValue::N("1".to_owned())).send().await.unwrap();
    cloud.shutdown().await;

    let cloud = start(options()).await;
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let get = cloud.dynamodb().get_item().table_name(cloud.table()).consistent_read(true);
        let found = get.key("PK", text("p")).key("SK", text("s")).send().await.unwrap();
        if found.item.is_none() {
            return;
        }
        assert!(Instant::now() < deadline, "the item has not expired");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

pub(crate) async fn object_keys_have_s3_length_limit() {
    let cloud = start(quiet()).await;
    let key = format!("{}/{}", "%E6%97%A5".repeat(60), "x".repeat(1024 - 541));
    let put = cloud.s3().put_object().bucket(cloud.bucket()).key(&key).content_type("text/x");
    put.body(Bytes::from_static(b"kept").into()).send().await.unwrap();
    let object = cloud.s3().get_object().bucket(cloud.bucket()).key(&key).send().await.unwrap();
    assert_eq!(object.content_type(), Some("text/x"));
    assert_eq!(&object.body.collect().await.unwrap().into_bytes()[..], b"kept");
    let listed = cloud.s3().list_objects_v2().bucket(cloud.bucket()).send().await.unwrap();
    assert_eq!(listed.contents()[0].key(), Some(key.as_str()));
    let longer = cloud.s3().put_object().bucket(cloud.bucket()).key(key + "x");
    assert!(longer.send().await.is_err());
}

pub(crate) async fn exactly_one_conditional_writer_wins() {
    let cloud = start(quiet()).await;
    let writers = (0..20).map(|n| {
        let put = cloud.s3().put_object().bucket(cloud.bucket()).key("contested").if_none_match("*");
        tokio::spawn(put.body(Bytes::from(n.to_string()).into()).send())
    });
    let results = futures::future::join_all(writers.collect::<Vec<_>>()).await;
    assert_eq!(results.into_iter().filter(|result| result.as_ref().unwrap().is_ok()).count(), 1);
}
