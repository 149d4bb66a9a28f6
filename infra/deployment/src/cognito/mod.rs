//! Sign-in to a Cognito user pool with a password, by SRP, and without AWS credentials.

mod authenticator;
mod error;
mod srp;

use std::time::SystemTime;

use jiff::Timestamp;
use reqwest::Client;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::aws::service_url;
use crate::http::{self, Unreachable};
use crate::sign_in::{Refresh, SignIn, expiry, token_claim};
pub use error::CognitoError;
use srp::{Challenge, Exchange};

/// Service name of user pools.
const SERVICE: &str = "cognito-idp";
/// Challenges whose answer is a code, with the name of the answer and the question to the user.
const CODES: [(&str, &str, &str); 3] = [
    ("SMS_MFA", "SMS_MFA_CODE", "Code from the text message"),
    ("SOFTWARE_TOKEN_MFA", "SOFTWARE_TOKEN_MFA_CODE", "Code from the authenticator app"),
    ("EMAIL_OTP", "EMAIL_OTP_CODE", "Code from the email"),
];
/// Challenges after the password, at most. More would be a loop.
const MAX_CHALLENGES: usize = 5;

/// A user pool and the client of it that `aptix` signs in with.
#[derive(Debug, Clone)]
pub struct UserPool {
    endpoint: String,
    id: String,
    client_id: String,
}

/// The user's side of a sign-in.
pub trait Answers {
    /// Asks for the password.
    ///
    /// # Errors
    /// Fails if it can't be read.
    fn password(&mut self) -> std::io::Result<String>;

    /// Asks for a new password, since the current one is temporary.
    ///
    /// # Errors
    /// Fails if it can't be read.
    fn new_password(&mut self) -> std::io::Result<String>;

    /// Asks for a code of a second factor.
    ///
    /// # Errors
    /// Fails if it can't be read.
    fn code(&mut self, question: &str) -> std::io::Result<String>;

    /// Shows a text, such as the key for an authenticator app.
    fn show(&mut self, text: &str);
}

/// A response to a step of a sign-in: tokens, or the next challenge.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Step {
    authentication_result: Option<Tokens>,
    challenge_name: String,
    challenge_parameters: Map<String, Value>,
    session: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Tokens {
    id_token: String,
    refresh_token: Option<String>,
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tokens")
    }
}

impl Step {
    fn parameter(&self, name: &str) -> Result<&str, CognitoError> {
        let value = self.challenge_parameters.get(name).and_then(Value::as_str);
        value.ok_or_else(|| CognitoError::Unsupported(format!("{} without {name}", self.challenge_name)))
    }
}

impl UserPool {
    /// Returns a pool by its id, which begins with its region. `endpoint` replaces AWS's.
    ///
    /// # Errors
    /// Fails if the id is not one of a pool.
    pub fn new(id: &str, client_id: &str, endpoint: Option<&str>) -> Result<Self, CognitoError> {
        let (region, _) = id.split_once('_').ok_or_else(|| CognitoError::PoolId(id.to_owned()))?;
        let endpoint = endpoint.map_or_else(|| service_url(SERVICE, region), str::to_owned);
        Ok(Self { endpoint, id: id.to_owned(), client_id: client_id.to_owned() })
    }

    /// The pool's OpenID Connect issuer, which is AWS's even if the endpoint is not.
    #[must_use]
    pub fn issuer(&self) -> String {
        let region = self.id.split('_').next().unwrap_or_default();
        format!("{}/{}", service_url(SERVICE, region), self.id)
    }

    /// The URL below which the pool publishes its discovery document.
    #[must_use]
    pub fn discovery_url(&self) -> String {
        format!("{}/{}", self.endpoint, self.id)
    }

    /// The client.
    #[must_use]
    pub fn client_id(&self) -> &str {
        &self.client_id
    }

    /// Signs a user in. The user answers with the password, and with a new password or a code if the pool asks for one.
    ///
    /// # Errors
    /// Fails if the pool refuses the user, or asks for something that a terminal can't provide.
    pub async fn sign_in(
        &self,
        api_url: &str,
        user: &str,
        answers: &mut (dyn Answers + Send),
    ) -> Result<SignIn, CognitoError> {
        let http = http::client();
        let password = answers.password().map_err(CognitoError::Terminal)?;
        let exchange = Exchange::start()?;
        let body = json!({
            "AuthFlow": "USER_SRP_AUTH",
            "ClientId": self.client_id,
            "AuthParameters": {"USERNAME": user, "SRP_A": exchange.public()},
        });
        let mut step: Step = call(&http, &self.endpoint, "InitiateAuth", &body).await?;
        // The id that later answers name: challenges after the first don't repeat it.
        let mut user_id = user.to_owned();
        for _ in 0..MAX_CHALLENGES {
            if let Some(tokens) = step.authentication_result.take() {
                return self.signed_in(api_url, user, tokens);
            }
            if let Some(id) = step.challenge_parameters.get("USER_ID_FOR_SRP").and_then(Value::as_str) {
                id.clone_into(&mut user_id);
            }
            let mut responses = match step.challenge_name.as_str() {
                "PASSWORD_VERIFIER" => self.prove(&exchange, &step, &password)?,
                authenticator::CHALLENGE => {
                    step.session = authenticator::set_up(&http, &self.endpoint, user, &step, answers).await?;
                    Map::new()
                }
                _ => respond(&step, answers)?,
            };
            responses.insert("USERNAME".to_owned(), user_id.clone().into());
            let body = json!({
                "ChallengeName": step.challenge_name,
                "ClientId": self.client_id,
                "ChallengeResponses": responses,
                "Session": step.session,
            });
            step = call(&http, &self.endpoint, "RespondToAuthChallenge", &body).await?;
        }
        Err(CognitoError::Unsupported(step.challenge_name))
    }

    /// Proves the password.
    fn prove(
        &self,
        exchange: &Exchange,
        step: &Step,
        password: &str,
    ) -> Result<Map<String, Value>, CognitoError> {
        let challenge = Challenge {
            user_id: step.parameter("USER_ID_FOR_SRP")?,
            salt: step.parameter("SALT")?,
            server_public: step.parameter("SRP_B")?,
            secret_block: step.parameter("SECRET_BLOCK")?,
        };
        let timestamp = srp::timestamp(Timestamp::now());
        let proof = exchange.proof(&self.id, password, &challenge, &timestamp)?;
        let responses = [
            ("PASSWORD_CLAIM_SECRET_BLOCK", challenge.secret_block.to_owned()),
            ("PASSWORD_CLAIM_SIGNATURE", proof),
            ("TIMESTAMP", timestamp),
        ];
        Ok(responses.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect())
    }

    fn signed_in(&self, api_url: &str, user: &str, tokens: Tokens) -> Result<SignIn, CognitoError> {
        let refresh_token =
            tokens.refresh_token.ok_or_else(|| CognitoError::Unsupported("no refresh token".to_owned()))?;
        Ok(SignIn {
            api_url: api_url.to_owned(),
            stack: None,
            user: token_claim(&tokens.id_token, "email").unwrap_or_else(|| user.to_owned()),
            expires_at: expiry(&tokens.id_token, SystemTime::now()),
            token: tokens.id_token,
            refresh: Refresh::Cognito {
                endpoint: self.endpoint.clone(),
                client_id: self.client_id.clone(),
                refresh_token,
            },
        })
    }
}

/// Answers a challenge that needs the user.
fn respond(step: &Step, answers: &mut (dyn Answers + Send)) -> Result<Map<String, Value>, CognitoError> {
    let challenge = step.challenge_name.as_str();
    let (name, value) = if challenge == "NEW_PASSWORD_REQUIRED" {
        let required = step.challenge_parameters.get("requiredAttributes").and_then(Value::as_str);
        if required.is_some_and(|required| !matches!(required.trim(), "" | "[]")) {
            return Err(CognitoError::Unsupported(format!(
                "the attributes {}",
                required.unwrap_or_default()
            )));
        }
        ("NEW_PASSWORD", answers.new_password())
    } else {
        let code = CODES.iter().find(|(name, ..)| *name == challenge);
        let (_, name, question) = code.ok_or_else(|| CognitoError::Unsupported(challenge.to_owned()))?;
        (*name, answers.code(question))
    };
    let value = value.map_err(CognitoError::Terminal)?;
    Ok(Map::from_iter([(name.to_owned(), value.into())]))
}

/// Returns a new token, and a new refresh token if the pool rotates them.
pub(crate) async fn refresh(
    endpoint: &str,
    client_id: &str,
    refresh_token: &str,
) -> Result<(String, Option<String>), CognitoError> {
    let body = json!({
        "AuthFlow": "REFRESH_TOKEN_AUTH",
        "ClientId": client_id,
        "AuthParameters": {"REFRESH_TOKEN": refresh_token},
    });
    let step: Step = call(&http::client(), endpoint, "InitiateAuth", &body).await?;
    match step.authentication_result {
        Some(tokens) => Ok((tokens.id_token, tokens.refresh_token)),
        None => Err(CognitoError::Unsupported(step.challenge_name)),
    }
}

/// Revokes a refresh token and every token that came from it.
pub(crate) async fn revoke(endpoint: &str, client_id: &str, refresh_token: &str) -> Result<(), CognitoError> {
    let body = json!({"Token": refresh_token, "ClientId": client_id});
    call::<Value>(&http::client(), endpoint, "RevokeToken", &body).await.map(drop)
}

/// Calls an action of a user pool that needs no AWS credentials.
async fn call<T: serde::de::DeserializeOwned>(
    http: &Client,
    endpoint: &str,
    action: &str,
    body: &Value,
) -> Result<T, CognitoError> {
    let url = format!("{endpoint}/");
    let request = http.post(&url).header("content-type", "application/x-amz-json-1.1");
    let request = request.header("x-amz-target", format!("AWSCognitoIdentityProviderService.{action}"));
    let response = request.body(body.to_string()).send().await.map_err(Unreachable::at(&url))?;
    let status = response.status();
    let text = response.text().await.map_err(Unreachable::at(&url))?;
    if !status.is_success() {
        return Err(CognitoError::refused(status.as_u16(), &text));
    }
    let text = if text.is_empty() { "null" } else { &text };
    serde_json::from_str(text).map_err(|_| CognitoError::Unsupported(format!("its response to {action}")))
}
