//! What is known of providers, as turns meet it (docs/providers.md).

use serde_json::Value;

use crate::support::{Client, System, playing, turn, turn_in};

async fn refused(client: &Client, instruction: &str) -> Value {
    let answer = client.execute(&turn(instruction)).await;
    let error = answer.errors().remove(0);
    assert_eq!(error["SystemError"], answer.status >= 500, "{error}");
    error
}

#[tokio::test]
async fn what_a_provider_refuses_has_a_code_of_its_own() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    for (script, code) in [
        ("status 403 message \"Your input was flagged.\"", "ModelContentFiltered"),
        ("status 403", "ModelMisconfigured"),
        ("status 404 param model", "ModelNotFound"),
        ("status 404", "ModelRejected"),
        ("status 400 code image_too_large", "ModelAttachmentRefused"),
        ("status 400 code invalid_prompt", "ModelRejected"),
        ("fail bio_policy", "ModelContentFiltered"),
        ("fail invalid_image_format", "ModelAttachmentRefused"),
    ] {
        let error = refused(&ada, &format!("[[script: {script}]]")).await;
        assert_eq!(error["ErrorCode"], code, "{script}");
    }
}

#[tokio::test]
async fn a_second_turn_is_answered_by_every_provider() {
    for provider in ["openai", "openai-zdr", "azure", "openrouter", "vllm", "ollama", "lmstudio", "llamacpp"]
    {
        let system = System::with(playing(provider)).await;
        let ada = system.client("acme", "ada");
        ada.execute(&turn_in("s", "First [[script: say \"One.\"]]")).await.result();
        let second = ada.execute(&turn_in("s", "Second [[script: say \"Two.\"]]")).await.result();
        assert_eq!(second["PrimaryOutputText"], "Two.", "{provider}");
        system.cloud.shutdown().await;
    }
}
