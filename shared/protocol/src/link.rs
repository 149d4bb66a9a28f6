//! Links to payloads through this API: stable and authorized, never a bucket's URL.
//!
//! Links are URLs relative to the API's base, which ends in `/`. A stored response stays valid when the API moves,
//! and a URL resolver handles any stage in the base.

use contracts::{
    FileAddress,
    paths::{self, TurnPath},
};

use crate::id::TurnKey;

/// Returns the link to a file of a turn.
#[must_use]
pub fn file(key: &TurnKey, address: &FileAddress, name: &str) -> String {
    relative(&paths::FILE.fill(&key.session.session, &key.turn, address, name))
}

/// Returns the link to a payload of a turn.
#[must_use]
pub fn payload(key: &TurnKey, path: TurnPath) -> String {
    relative(&path.fill(&key.session.session, &key.turn))
}

/// Returns the link to an approval.
#[must_use]
pub fn approval(id: &str) -> String {
    relative(&paths::APPROVAL.fill(id))
}

/// Strips the leading slash, which would resolve to the host's root and drop the stage.
fn relative(path: &str) -> String {
    path.trim_start_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;
    use crate::id::SessionKey;

    #[test]
    fn link_resolves_against_any_api_base() {
        let session =
            SessionKey { org: "acme".parse().unwrap(), session: "s:1".replace(':', "~").parse().unwrap() };
        let key = session.turn("t1".parse().unwrap());
        let address = FileAddress::hash_bytes(b"x");
        for base in ["http://127.0.0.1:9000/", "https://x.execute-api.eu-west-1.amazonaws.com/live/"] {
            let base = Url::parse(base).unwrap();
            for (link, path) in [
                (payload(&key, paths::ANSWER), paths::ANSWER.fill(&key.session.session, &key.turn)),
                (
                    file(&key, &address, "a b/ü.md"),
                    paths::FILE.fill(&key.session.session, &key.turn, &address, "a b/ü.md"),
                ),
            ] {
                let found = base.join(&link).unwrap();
                assert_eq!(found.as_str(), format!("{}{}", base.as_str().trim_end_matches('/'), path));
            }
        }
    }
}
