//! The id of a point: the same chunk of the same source of the same org is the same point.

use contracts::id::OrgId;
use uuid::Uuid;

/// The namespace of the ids of this service's points.
const NAMESPACE: Uuid = Uuid::from_u128(0x6e8b_1c1d_5b0e_4f57_9a54_5e5b_6d0c_2a91);

/// The id of a source's part: a UUIDv5 over org, source (a repository's name or a document's id), path and part.
/// Each is written with its length, so that no two of them run together.
#[must_use]
pub fn id(org: &OrgId, source: &str, path: &str, part: u32) -> Uuid {
    let named = [org.as_str(), source, path].map(|name| format!("{}:{name}", name.len())).join("/");
    Uuid::new_v5(&NAMESPACE, format!("{named}/{part}").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_stays_and_no_two_parts_share_one() {
        let org = OrgId::new("acme").unwrap();
        let first = id(&org, "core", "src/a.rs", 0);
        assert_eq!(first.to_string(), "4d5d245c-e3bd-571e-8c58-5a7df690b043");
        let others = [
            id(&org, "core", "src/a.rs", 1),
            id(&org, "cor", "esrc/a.rs", 0),
            id(&org, "core/", "src/a.rs", 0),
            id(&OrgId::new("acm").unwrap(), "ecore", "src/a.rs", 0),
        ];
        assert!(others.iter().all(|other| *other != first));
    }
}
