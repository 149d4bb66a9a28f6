//! The queue message's shape, reviewed.

use protocol::announcement::FinalizeMessage;

/// What is written reads back as the same.
fn shape(message: &FinalizeMessage) -> String {
    let text = serde_json::to_string_pretty(message).unwrap();
    assert_eq!(&serde_json::from_str::<FinalizeMessage>(&text).unwrap(), message);
    text
}

#[test]
fn queue_messages() {
    let settled = FinalizeMessage::TurnSettled {
        org: contracts::id::OrgId::new("o1").unwrap(),
        session: "s1".parse().unwrap(),
        turn: "t1".parse().unwrap(),
        correlation: Some("r1".to_owned()),
    };
    insta::assert_snapshot!(format!("{}\n{}", shape(&settled), shape(&FinalizeMessage::Sweep)));
}
