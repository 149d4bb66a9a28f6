use super::*;

#[test]
fn streaming_is_boolean_and_defaults_to_false() {
    assert!(!accepted_turn(&user_turn(json!({}))).streaming);
    assert!(!accepted_turn(&user_turn(json!({"Streaming": false}))).streaming);
    assert!(accepted_turn(&user_turn(json!({"Streaming": true}))).streaming);
    for wrong in [json!("true"), json!(1), json!({})] {
        refused(&user_turn(json!({"Streaming": wrong})), ErrorCode::MemberInvalid, "Streaming");
    }
}

#[test]
fn streaming_does_not_change_fingerprint() {
    let streamed = accepted_turn(&user_turn(json!({"Streaming": true})));
    let whole = accepted_turn(&user_turn(json!({"Streaming": false})));
    assert_eq!(streamed.fingerprint(), whole.fingerprint());
}
