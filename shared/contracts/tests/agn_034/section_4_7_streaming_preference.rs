use super::*;

#[test]
fn is_a_boolean_and_false_by_default() {
    assert!(!accepted_turn(&user_turn(json!({}))).streaming);
    assert!(!accepted_turn(&user_turn(json!({"Streaming": false}))).streaming);
    assert!(accepted_turn(&user_turn(json!({"Streaming": true}))).streaming);
    for wrong in [json!("true"), json!(1), json!({})] {
        refused(&user_turn(json!({"Streaming": wrong})), ErrorCode::MemberInvalid, "Streaming");
    }
}

#[test]
fn affects_delivery_and_not_the_request() {
    let streamed = accepted_turn(&user_turn(json!({"Streaming": true})));
    let whole = accepted_turn(&user_turn(json!({"Streaming": false})));
    assert_eq!(streamed.fingerprint(), whole.fingerprint());
}
