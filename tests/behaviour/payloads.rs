//! `GET …/turns/{TurnId}/payloads/…`.

use crate::support::{PATIENCE, System, turn, turn_path};

#[tokio::test]
async fn instruction_and_answer_are_read_whole_through_short_lived_links() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let long = format!("{} end", "word ".repeat(2_000));
    let request = turn(&long);
    let answer = ada.execute(&request).await.result();
    let path = turn_path(&request);
    let published =
        |answer: &crate::support::Answer| answer.json()["Result"]["FullAgentAnswerUrl"].is_string();
    let read = ada.until(&path, PATIENCE, published).await.result();
    assert_eq!(read["InstructionSummary"].as_str().unwrap().chars().count(), 1_024);

    let http = reqwest::Client::new();
    let instruction = ada.get(read["FullInstructionUrl"].as_str().unwrap()).await;
    assert_eq!(instruction.status, 302);
    let stored: serde_json::Value = serde_json::from_str(
        &http.get(instruction.header("location").unwrap()).send().await.unwrap().text().await.unwrap(),
    )
    .unwrap();
    assert_eq!(stored["Instruction"], long);

    let link = ada.get(read["FullAgentAnswerUrl"].as_str().unwrap()).await;
    let text = http.get(link.header("location").unwrap()).send().await.unwrap().text().await.unwrap();
    assert_eq!(text, answer["PrimaryOutputText"].as_str().unwrap());

    let tampered = link.header("location").unwrap().replace("X-Amz-Expires=300", "X-Amz-Expires=3000");
    assert_eq!(http.get(tampered).send().await.unwrap().status(), 403);
    assert_eq!(ada.get(&format!("{path}/payloads/llm-request")).await.status, 404);
}
