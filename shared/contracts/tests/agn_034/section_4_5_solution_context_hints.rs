use super::*;

#[test]
fn empty_solution_context_differs_from_absent() {
    let of = |members| accepted_turn(&user_turn(members)).solution_context_text;
    assert_eq!(of(json!({})), None);
    assert_eq!(of(json!({"SolutionContextText": ""})), Some(String::new()));
    assert_eq!(of(json!({"SolutionContextText": "a\nb"})), Some("a\nb".to_owned()));
}

#[test]
fn solution_context_length_is_limited() {
    let more = "x".repeat(limits::MAX_SOLUTION_CONTEXT_CHARS + 1);
    let body = user_turn(json!({"SolutionContextText": more}));
    refused(&body, ErrorCode::MemberTooLarge, "SolutionContextText");
}
