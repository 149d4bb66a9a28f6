//! Access to the stored items and objects.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use aws_sdk_dynamodb::types::AttributeValue;

use super::{PATIENCE, System};

impl System {
    /// Returns every item of the table.
    pub async fn items(&self) -> Vec<HashMap<String, AttributeValue>> {
        let scan = self.cloud.dynamodb().scan().table_name(self.cloud.table()).consistent_read(true);
        scan.send().await.expect("a scan").items.unwrap_or_default()
    }

    /// Returns a text attribute of the only item with this sort key.
    pub async fn attribute(&self, sk: &str, name: &str) -> Option<String> {
        let items = self.items().await;
        let item = items.iter().find(|item| item["SK"].as_s().is_ok_and(|found| found == sk))?;
        item.get(name).and_then(|value| value.as_s().ok()).cloned()
    }

    /// Waits until the only item with this sort key has a text attribute with this value.
    pub async fn until_attribute(&self, sk: &str, name: &str, value: &str) {
        let give_up = Instant::now() + PATIENCE;
        loop {
            let stands = self.attribute(sk, name).await;
            if stands.as_deref() == Some(value) {
                return;
            }
            assert!(Instant::now() < give_up, "{name} of {sk} is {stands:?}, not {value}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits for an item that is as wanted: finalization writes about a second later.
    pub async fn until_item(
        &self,
        wanted: impl Fn(&HashMap<String, AttributeValue>) -> bool,
    ) -> HashMap<String, AttributeValue> {
        let give_up = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = self.items().await.into_iter().find(&wanted) {
                return found;
            }
            assert!(Instant::now() < give_up, "no item is as wanted");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until a session has this many turns and all are finalized.
    pub async fn until_finalized(&self, session: &str, turns: usize) {
        self.until_item(|item| {
            let is = |name: &str, ends: &str| item[name].as_s().is_ok_and(|text| text.ends_with(ends));
            is("PK", &format!("#S#{session}"))
                && is("SK", "SESSION")
                && item["TurnCount"].as_n().is_ok_and(|count| *count == turns.to_string())
                && !item.contains_key("OpenTurn")
        })
        .await;
    }

    /// Returns the key of every object.
    pub async fn objects(&self) -> Vec<String> {
        let list =
            self.cloud.s3().list_objects_v2().bucket(self.cloud.bucket()).send().await.expect("a list");
        list.contents().iter().filter_map(|object| object.key().map(str::to_owned)).collect()
    }

    /// Returns the key of every object version, with `marker` for a delete marker.
    pub async fn versions(&self) -> Vec<String> {
        let list = self.cloud.s3().list_object_versions().bucket(self.cloud.bucket()).send().await;
        let list = list.expect("a list of versions");
        let versions = list.versions().iter().filter_map(|version| version.key().map(str::to_owned));
        let markers =
            list.delete_markers().iter().filter_map(|marker| Some(format!("{} marker", marker.key()?)));
        versions.chain(markers).collect()
    }

    /// Waits for an object with a wanted key.
    pub async fn object(&self, wanted: impl Fn(&str) -> bool) -> String {
        let give_up = Instant::now() + PATIENCE;
        loop {
            let objects = self.objects().await;
            if let Some(found) = objects.iter().find(|key| wanted(key)) {
                return found.clone();
            }
            assert!(Instant::now() < give_up, "no such object: {objects:#?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// True if the table and the bucket are empty.
    pub async fn has_no_trace(&self) -> bool {
        self.items().await.is_empty() && self.objects().await.is_empty()
    }
}
