use super::*;

const AT: &str = "RagScope.Conditions[0]";

#[test]
fn three_members_are_required() {
    for name in ["Key", "Operator", "Values"] {
        refused(&condition(json!({name: null})), ErrorCode::MemberRequired, &format!("{AT}.{name}"));
    }
}

#[test]
fn only_four_operators_accepted() {
    for (word, operator) in [
        ("==", RagOperator::Equals),
        ("!=", RagOperator::NotEquals),
        ("contains", RagOperator::Contains),
        ("does_not_contain", RagOperator::DoesNotContain),
    ] {
        let turn = accepted_turn(&condition(json!({"Operator": word})));
        assert_eq!(turn.rag_scope[0].operator, operator);
    }
    for wrong in [json!("="), json!("Contains"), json!(">"), json!(""), json!(1)] {
        refused(&condition(json!({"Operator": wrong})), ErrorCode::MemberInvalid, &format!("{AT}.Operator"));
    }
}

#[test]
fn values_are_strings_integers_and_booleans() {
    let turn = accepted_turn(&condition(json!({"Values": ["a", 3, -3, 2.0, true]})));
    let expected = [
        RagValue::Text("a".to_owned()),
        RagValue::Integer(3),
        RagValue::Integer(-3),
        RagValue::Integer(2),
        RagValue::Flag(true),
    ];
    assert_eq!(turn.rag_scope[0].values.as_slice(), expected);
    for wrong in [json!(null), json!(1.5), json!(1e300), json!([]), json!({}), json!(""), json!(" ")] {
        let at = format!("{AT}.Values[1]");
        refused(&condition(json!({"Values": ["a", wrong]})), ErrorCode::MemberInvalid, &at);
    }
}

#[test]
fn at_least_one_value_required() {
    for wrong in [json!([]), json!("core"), json!({})] {
        refused(&condition(json!({"Values": wrong})), ErrorCode::MemberInvalid, &format!("{AT}.Values"));
    }
    let many = vec!["v"; limits::MAX_VALUES + 1];
    refused(&condition(json!({"Values": many})), ErrorCode::MemberTooLarge, &format!("{AT}.Values"));
}

#[test]
fn key_must_not_be_blank() {
    for wrong in [json!(""), json!(" "), json!("a\n"), json!(1)] {
        refused(&condition(json!({"Key": wrong})), ErrorCode::MemberInvalid, &format!("{AT}.Key"));
    }
}

#[test]
fn empty_scope_equals_no_scope() {
    refused(&user_turn(json!({"RagScope": {}})), ErrorCode::MemberRequired, "RagScope.Conditions");
    refused(&user_turn(json!({"RagScope": []})), ErrorCode::MemberInvalid, "RagScope");
    refused(
        &user_turn(json!({"RagScope": {"Conditions": {}}})),
        ErrorCode::MemberInvalid,
        "RagScope.Conditions",
    );
    let none = accepted_turn(&user_turn(json!({"RagScope": {"Conditions": []}})));
    assert_eq!(none, accepted_turn(&user_turn(json!({}))));
}
