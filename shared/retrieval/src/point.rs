//! Deterministic ids of points: the same chunk of the same source of the same org has the same id.

use contracts::id::OrgId;
use uuid::Uuid;

/// The namespace of the ids of this service's points.
const NAMESPACE: Uuid = Uuid::from_u128(0x6e8b_1c1d_5b0e_4f57_9a54_5e5b_6d0c_2a91);

/// Returns the id of a source's part: a UUIDv5 over org, source (a repository's name or a document's id), path and
/// part. Each is prefixed with its length, so that different tuples never produce the same name.
#[must_use]
pub fn point_id(org: &OrgId, source: &str, path: &str, part: u32) -> Uuid {
    let prefixed = [org.as_str(), source, path].map(|name| format!("{}:{name}", name.len())).join("/");
    Uuid::new_v5(&NAMESPACE, format!("{prefixed}/{part}").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn point_id_is_stable_and_unique() {
        let org = OrgId::new("acme").unwrap();
        let first = point_id(&org, "core", "src/a.rs", 0);
        assert_eq!(first.to_string(), "4d5d245c-e3bd-571e-8c58-5a7df690b043");
        let others = [
            point_id(&org, "core", "src/a.rs", 1),
            point_id(&org, "cor", "esrc/a.rs", 0),
            point_id(&org, "core/", "src/a.rs", 0),
            point_id(&OrgId::new("acm").unwrap(), "ecore", "src/a.rs", 0),
        ];
        assert!(others.iter().all(|other| *other != first));
    }
}
