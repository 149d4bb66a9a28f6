use super::*;

#[test]
fn instruction_is_kept_verbatim() {
    let text = "  # Titel\r\n\tünïcode 😀 \u{0} ";
    let turn = accepted_turn(&user_turn(json!({"Instruction": text})));
    assert_eq!(turn.instruction.as_deref(), Some(text));
}

#[test]
fn instruction_must_be_text() {
    for wrong in [json!(1), json!(true), json!(["a"]), json!({})] {
        refused(&user_turn(json!({"Instruction": wrong})), ErrorCode::MemberInvalid, "Instruction");
    }
}

#[test]
fn instruction_length_limited_in_characters() {
    let most = "é".repeat(limits::MAX_INSTRUCTION_CHARS);
    accepted_turn(&user_turn(json!({"Instruction": most})));
    let more = format!("{most}!");
    refused(&user_turn(json!({"Instruction": more})), ErrorCode::MemberTooLarge, "Instruction");
}

#[test]
fn blank_instruction_counts_as_absent() {
    let turn = accepted_turn(&merged(image(json!({})), json!({"Instruction": " \n"})));
    assert_eq!(turn.instruction, None);
}
