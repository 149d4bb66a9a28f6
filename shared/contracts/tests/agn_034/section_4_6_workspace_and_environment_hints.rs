use super::*;

#[test]
fn hints_must_be_single_lines() {
    for name in ["WorkspaceId", "Repo", "Language"] {
        accepted_turn(&user_turn(json!({name: "NuvOS.Design Playground/Kevin's"})));
        for wrong in [json!(""), json!(" "), json!("a\nb"), json!("a\u{0}"), json!(1), json!([])] {
            refused(&user_turn(json!({name: wrong})), ErrorCode::MemberInvalid, name);
        }
        let long = "x".repeat(limits::MAX_HINT_CHARS + 1);
        refused(&user_turn(json!({name: long})), ErrorCode::MemberTooLarge, name);
    }
}
