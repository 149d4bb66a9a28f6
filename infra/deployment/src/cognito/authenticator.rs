//! Setup of an authenticator app (TOTP) in the middle of a sign-in, for pools that require a second factor.

use reqwest::Client;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Answers, CognitoError, Step, call};

/// Name of the challenge.
pub(super) const CHALLENGE: &str = "MFA_SETUP";

/// The key of an app.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Association {
    secret_code: String,
    session: Option<String>,
}

/// The result of the first code.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Verification {
    status: String,
    session: Option<String>,
}

/// Shows the user a key for an authenticator app, and registers the app with its first code. Returns the session in which the
/// challenge is answered.
pub(super) async fn set_up(
    http: &Client,
    endpoint: &str,
    user: &str,
    step: &Step,
    answers: &mut (dyn Answers + Send),
) -> Result<Option<String>, CognitoError> {
    let offered = step.challenge_parameters.get("MFAS_CAN_SETUP").and_then(Value::as_str).unwrap_or_default();
    if !offered.contains("SOFTWARE_TOKEN_MFA") {
        return Err(CognitoError::Unsupported(format!("{CHALLENGE} with {offered}")));
    }
    let body = json!({"Session": step.session});
    let key: Association = call(http, endpoint, "AssociateSoftwareToken", &body).await?;
    let secret = &key.secret_code;
    answers.show(&format!(
        "The user pool requires a second factor. Add this key to an authenticator app: {secret}\n\
         otpauth://totp/Aptix:{user}?secret={secret}&issuer=Aptix"
    ));
    let code = answers.code("Code from the authenticator app").map_err(CognitoError::Terminal)?;
    let body = json!({"Session": key.session, "UserCode": code});
    let verified: Verification = call(http, endpoint, "VerifySoftwareToken", &body).await?;
    if verified.status != "SUCCESS" {
        return Err(CognitoError::Unsupported(format!("{CHALLENGE} with the status {}", verified.status)));
    }
    Ok(verified.session)
}
