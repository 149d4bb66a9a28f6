//! Snapshots of the queue messages' JSON.

// Clippy doesn't recognize the helpers as test code.
#![allow(clippy::unwrap_used)]

use std::fmt::Debug;

use protocol::{
    id::SessionKey,
    queue_message::{FinalizeMessage, TurnMessage},
};
use serde::{Serialize, de::DeserializeOwned};

/// Returns the message's JSON, and asserts that it reads back as the same message.
fn shape<M: Serialize + DeserializeOwned + PartialEq + Debug>(message: &M) -> String {
    let text = serde_json::to_string_pretty(message).unwrap();
    assert_eq!(&serde_json::from_str::<M>(&text).unwrap(), message);
    text
}

#[test]
fn queue_messages() {
    let settled = FinalizeMessage::TurnSettled {
        org: contracts::id::OrgId::new("o1").unwrap(),
        session: "s1".parse().unwrap(),
        turn: "t1".parse().unwrap(),
        correlation: Some("r1".parse().unwrap()),
    };
    insta::assert_snapshot!(format!("{}\n{}", shape(&settled), shape(&FinalizeMessage::Sweep)));
    let org = contracts::id::OrgId::new("o1").unwrap();
    let renamed = FinalizeMessage::SessionIndex { org: org.clone(), session: Some("s1".parse().unwrap()) };
    let all = FinalizeMessage::SessionIndex { org: org.clone(), session: None };
    insta::assert_snapshot!("indexed", format!("{}\n{}", shape(&renamed), shape(&all)));
    let turn = SessionKey { org, session: "s1".parse().unwrap() }.turn("t1".parse().unwrap());
    insta::assert_snapshot!("continued", shape(&TurnMessage::continue_turn(&turn)));
}

#[test]
fn invalid_correlation_id_is_dropped_from_message() {
    let read = |correlation: &str| {
        let text = format!(r#"{{"Kind":"turn_settled","Org":"o","Session":"s","Turn":"t"{correlation}}}"#);
        match serde_json::from_str(&text).unwrap() {
            FinalizeMessage::TurnSettled { correlation, .. } => correlation.map(String::from),
            other => panic!("{text}: {other:?}"),
        }
    };
    assert_eq!(read(r#","Correlation":"r1""#).as_deref(), Some("r1"));
    assert_eq!(read(""), None, "an older function sent none");
    for other in [r#""""#, r#""a b""#, "null", "7", "{}", r#"["r1"]"#] {
        assert_eq!(read(&format!(r#","Correlation":{other}"#)), None, "{other}");
    }
}
