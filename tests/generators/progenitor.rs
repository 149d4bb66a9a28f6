//! A turn, held with progenitor's client.

use aptix_client::{Client, types};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let variable = |name: &str| std::env::var(name);
    let mut headers = reqwest::header::HeaderMap::new();
    headers.insert("authorization", format!("Bearer {}", variable("TOKEN")?).parse()?);
    let http = reqwest::Client::builder().default_headers(headers).build()?;
    let client = Client::new_with_client(&variable("API")?, http);
    let request = serde_json::json!({ "SessionId": "progenitor", "TurnId": "one", "Instruction": "Hello" });
    let request: types::AgentExecuteRequest = serde_json::from_value(request)?;
    let answer = client.execute_turn().body(request).send().await?.into_inner();
    let types::AgentExecuteResponse::Final(last) = answer.result else { return Err("no answer".into()) };
    let session = client.read_session().session_id("progenitor").send().await?.into_inner();
    assert_eq!(session.result.turn_count, 1);
    let unknown = client.read_session().session_id("none").send().await.unwrap_err();
    assert_eq!(unknown.status().map(|status| status.as_u16()), Some(404));
    println!("{}", last.primary_output_text);
    Ok(())
}
