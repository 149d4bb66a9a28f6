//! Issuer and audience: the tokens of users are those that the API accepts.

use serde_json::{Value, json};

use super::Finding;
use crate::aws::Aws;
use crate::browser::Provider;
use crate::cognito::UserPool;
use crate::sign_in::{SignIn, audiences_of};
use crate::stack::Stack;

/// Subject of the finding about the issuer.
const ISSUER: &str = "issuer";
/// Subject of the finding about the audience.
const AUDIENCE: &str = "audience";

/// Checks issuer and audience of a stack. A sign-in to it is compared with both.
pub async fn check(aws: &Aws, stack: &Stack, sign_in: Option<&SignIn>) -> Vec<Finding> {
    let audiences = stack.token_audiences();
    let (issuer, mut findings) = match stack.oidc_issuer() {
        Some(issuer) => (issuer.to_owned(), vec![check_issuer(issuer).await]),
        None => match stack.user_pool() {
            Some(pool) => check_user_pool(aws, pool, &audiences).await,
            None => return vec![Finding::failed(ISSUER, "the stack has no user pool. Deploy it again.")],
        },
    };
    if audiences.is_empty() {
        findings.push(Finding::failed(AUDIENCE, "the API accepts none. Deploy with TokenAudiences."));
    }
    findings.extend(sign_in.map(|sign_in| check_sign_in(sign_in, &issuer, &audiences)));
    findings
}

async fn check_issuer(issuer: &str) -> Finding {
    match Provider::discover(issuer, Some(issuer)).await {
        Ok(_) => Finding::ok(ISSUER, format!("{issuer} publishes its discovery document")),
        Err(error) => Finding::failed(
            ISSUER,
            format!("{error}. Deploy with OidcIssuer exactly as in the provider's discovery document."),
        ),
    }
}

/// Checks a user pool and its first accepted client. Returns the pool's issuer too.
async fn check_user_pool(aws: &Aws, pool: &str, audiences: &[String]) -> (String, Vec<Finding>) {
    let client = audiences.first().map_or("", String::as_str);
    let issuer = UserPool::new(pool, client, None).map(|pool| pool.issuer()).unwrap_or_default();
    let body = json!({"UserPoolId": pool, "ClientId": client});
    let target = "AWSCognitoIdentityProviderService.DescribeUserPoolClient";
    let finding = match aws.json("cognito-idp", target, &body).await {
        Ok(found) => {
            let flows = found.pointer("/UserPoolClient/ExplicitAuthFlows").and_then(Value::as_array);
            let has_srp = flows.is_some_and(|flows| flows.iter().any(|flow| flow == "ALLOW_USER_SRP_AUTH"));
            if has_srp {
                Finding::ok(ISSUER, format!("{pool} has the client {client}, which allows SRP"))
            } else {
                let text = format!(
                    "the client {client} of {pool} doesn't allow SRP. Sign in with --browser, or add ALLOW_USER_SRP_AUTH."
                );
                Finding::warning(ISSUER, text)
            }
        }
        Err(error) if error.code() == Some("ResourceNotFoundException") => {
            let text = format!(
                "{pool} has no client {client}. Deploy with UserPoolArn and TokenAudiences of one pool."
            );
            Finding::failed(ISSUER, text)
        }
        Err(error) => Finding::of_error(ISSUER, &error),
    };
    (issuer, vec![finding])
}

/// Compares the token of a sign-in with the stack.
fn check_sign_in(sign_in: &SignIn, issuer: &str, audiences: &[String]) -> Finding {
    let fix = "Sign in again with `aptix sign-in`.";
    let found = sign_in.claim("iss").unwrap_or_default();
    if found != issuer {
        return Finding::failed(
            AUDIENCE,
            format!("your token is from {found:?}, and the API accepts {issuer:?}. {fix}"),
        );
    }
    let named = audiences_of(&sign_in.token);
    if named.iter().any(|name| audiences.contains(name)) {
        return Finding::ok(AUDIENCE, format!("your token is for {}", named.join(", ")));
    }
    let (named, accepted) = (named.join(", "), audiences.join(", "));
    Finding::failed(AUDIENCE, format!("your token is for {named:?}, and the API accepts {accepted:?}. {fix}"))
}

#[cfg(test)]
mod tests {
    use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

    use super::*;
    use crate::doctor::Severity;
    use crate::sign_in::Refresh;

    #[test]
    fn token_of_another_issuer_or_audience_is_found() {
        let refresh =
            Refresh::Cognito { endpoint: "e".into(), client_id: "c".into(), refresh_token: "r".into() };
        let severity = |claims: Value| {
            let sign_in = SignIn {
                api_url: "https://api".into(),
                stack: None,
                user: "ada".into(),
                token: format!("e30.{}.x", URL_SAFE_NO_PAD.encode(claims.to_string())),
                expires_at: 0,
                refresh: refresh.clone(),
            };
            check_sign_in(&sign_in, "https://issuer", &["web".to_owned(), "cli".to_owned()]).severity
        };
        assert_eq!(severity(json!({"iss": "https://issuer", "aud": "cli"})), Severity::Ok);
        assert_eq!(severity(json!({"iss": "https://issuer", "aud": ["a", "web"]})), Severity::Ok);
        assert_eq!(severity(json!({"iss": "https://issuer", "aud": "other"})), Severity::Failed);
        assert_eq!(severity(json!({"iss": "https://issuer/", "aud": "cli"})), Severity::Failed);
    }
}
