use super::*;

#[test]
fn is_kept_as_it_was_sent() {
    let text = "  # Titel\r\n\tünïcode 😀 \u{0} ";
    let turn = accepted_turn(&user_turn(json!({"Instruction": text})));
    assert_eq!(turn.instruction.as_deref(), Some(text));
}

#[test]
fn is_text() {
    for wrong in [json!(1), json!(true), json!(["a"]), json!({})] {
        refused(&user_turn(json!({"Instruction": wrong})), ErrorCode::MemberInvalid, "Instruction");
    }
}

#[test]
fn has_a_length_limit_in_characters() {
    let most = "é".repeat(limits::MAX_INSTRUCTION_CHARS);
    accepted_turn(&user_turn(json!({"Instruction": most})));
    let more = format!("{most}!");
    refused(&user_turn(json!({"Instruction": more})), ErrorCode::MemberTooLarge, "Instruction");
}

#[test]
fn blank_is_absent() {
    let turn = accepted_turn(&merged(image(json!({})), json!({"Instruction": " \n"})));
    assert_eq!(turn.instruction, None);
}
