//! A Cognito user pool over its wire protocol. It verifies SRP with a verifier alone, as Cognito does, so it never gets the
//! password. The same server answers as CloudFormation.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use aws_lc_rs::{digest, hmac};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use num_bigint::BigUint;
use serde_json::{Value, json};

use super::sources::serve;

/// Id of the pool.
pub const POOL: &str = "us-east-1_TestPool1";
/// Client of the pool.
pub const CLIENT: &str = "client-1";
/// Name with which the user signs in.
pub const USER: &str = "ada@example.com";
/// Name of the stack.
pub const STACK: &str = "agent-dev";
/// Id of the user in the pool.
const USER_ID: &str = "8f1c-ada";
/// Salt of the user's password.
const SALT: &str = "f1d2c3b4a5968778695a4b3c2d1e0f10";
/// Private value of the server.
const PRIVATE: &[u8] = b"a private value of the server, for every sign-in";
const SECRET_BLOCK: &[u8] = b"a secret block";
const SESSION: &str = "session-1";
const REFRESH_TOKEN: &str = "refresh-1";
/// Session of a setup after each of its two requests.
const ASSOCIATED: &str = "session-2";
const VERIFIED: &str = "session-3";
/// Key of an authenticator app, and the code that the app shows.
pub const APP_KEY: &str = "JBSWY3DPEHPK3PXP";
pub const APP_CODE: &str = "123456";
/// The group's prime (RFC 3526, group 15).
const PRIME: &str = concat!(
    "FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DD",
    "EF9519B3CD3A431B302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7ED",
    "EE386BFB5A899FA5AE9F24117C4B1FE649286651ECE45B3DC2007CB8A163BF0598DA48361C55D39A69163FA8FD24CF5F",
    "83655D23DCA3AD961C62F356208552BB9ED529077096966D670C354E4ABC9804F1746C08CA18217C32905E462E36CE3B",
    "E39E772C180E86039B2783A2EC07A28FB5C55DF06F4C52C9DE2BCBF6955817183995497CEA956AE515D2261898FA0510",
    "15728E5A8AAAC42DAD33170D04507A33A85521ABDF1CBA64ECFB850458DBEF0A8AEA71575D060C7DB3970F85A6E1E4C7",
    "ABF5AE8CDB0933D71E8C94E04A25619DCEE3D2261AD2EE6BF12FFA06D98A0864D87602733EC86A64521F2B18177B200C",
    "BBE117577A615D6C770988C0BAD946E208E24FA074E5AB3143DB5BFCE0FD108E4B82D120A93AD2CAFFFFFFFFFFFFFFFF",
);

/// A user pool with one user.
pub struct UserPool {
    pub url: String,
    inner: Arc<Inner>,
}

struct Inner {
    password: Mutex<String>,
    /// True until the user chooses a password.
    is_temporary: Mutex<bool>,
    /// True until the user sets up an authenticator app.
    needs_app: Mutex<bool>,
    /// The tokens to issue, in this order. The last one is issued again and again.
    tokens: Mutex<VecDeque<String>>,
    is_revoked: Mutex<bool>,
    /// The client's public value of the sign-in in progress.
    client_public: Mutex<BigUint>,
    requests: Mutex<Vec<(String, String)>>,
    stack: Mutex<BTreeMap<String, String>>,
}

impl UserPool {
    /// Starts a pool whose user has this password, and gets these tokens.
    pub async fn start(password: &str, tokens: &[&str]) -> Self {
        let inner = Arc::new(Inner {
            password: Mutex::new(password.to_owned()),
            is_temporary: Mutex::new(false),
            needs_app: Mutex::new(false),
            tokens: Mutex::new(tokens.iter().map(|token| (*token).to_owned()).collect()),
            is_revoked: Mutex::new(false),
            client_public: Mutex::new(BigUint::ZERO),
            requests: Mutex::new(Vec::new()),
            stack: Mutex::new(BTreeMap::new()),
        });
        let router = Router::new().fallback(answer).with_state(Arc::clone(&inner));
        Self { url: serve(router).await, inner }
    }

    /// Makes the password a temporary one.
    pub fn require_new_password(&self) {
        *self.inner.is_temporary.lock().unwrap() = true;
    }

    /// Requires a second factor, which the user has not set up.
    pub fn require_second_factor(&self) {
        *self.inner.needs_app.lock().unwrap() = true;
    }

    /// Deploys the stack with these outputs.
    pub fn deploy(&self, outputs: &[(&str, &str)]) {
        let outputs = outputs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        *self.inner.stack.lock().unwrap() = outputs.collect();
    }

    /// The requests so far: action and body.
    pub fn requests(&self) -> Vec<(String, String)> {
        self.inner.requests.lock().unwrap().clone()
    }
}

async fn answer(State(pool): State<Arc<Inner>>, headers: HeaderMap, body: Bytes) -> (StatusCode, String) {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let body = String::from_utf8_lossy(&body).into_owned();
    let target = header("x-amz-target").to_owned();
    let action =
        target.strip_prefix("AWSCognitoIdentityProviderService.").unwrap_or("cloudformation").to_owned();
    pool.requests.lock().unwrap().push((action.clone(), body.clone()));
    if target == "GraniteServiceVersion20100801.GetMetricStatistics" {
        let points = [(1, 400), (3, 17), (2, 60)].map(|(at, age)| json!({"Timestamp": at, "Maximum": age}));
        return (StatusCode::OK, json!({"Datapoints": points}).to_string());
    }
    if action == "cloudformation" {
        return pool.describe_stacks(header("authorization"), &body);
    }
    let request: Value = serde_json::from_str(&body).unwrap();
    if action.starts_with("Admin") {
        let authorization = header("authorization");
        assert!(authorization.contains("/us-east-1/cognito-idp/aws4_request"), "unsigned: {authorization}");
        assert_eq!(request["UserPoolId"], POOL);
        if let Some(password) = request["Password"].as_str() {
            password.clone_into(&mut pool.password.lock().unwrap());
        }
        return (StatusCode::OK, "{}".to_owned());
    }
    if action.ends_with("SoftwareToken") {
        return answered(pool.set_up_app(&action, &request));
    }
    assert_eq!(request["ClientId"], CLIENT);
    answered(match action.as_str() {
        "InitiateAuth" => pool.initiate(&request),
        "RespondToAuthChallenge" => pool.respond(&request),
        "RevokeToken" => {
            assert_eq!(request["Token"], REFRESH_TOKEN);
            *pool.is_revoked.lock().unwrap() = true;
            Ok(json!({}))
        }
        other => panic!("{other} is not an action of this pool"),
    })
}

fn answered(answered: Result<Value, &'static str>) -> (StatusCode, String) {
    match answered {
        Ok(answer) => (StatusCode::OK, answer.to_string()),
        Err(message) => {
            let error = json!({"__type": "NotAuthorizedException", "message": message});
            (StatusCode::BAD_REQUEST, error.to_string())
        }
    }
}

impl Inner {
    fn initiate(&self, request: &Value) -> Result<Value, &'static str> {
        let parameters = &request["AuthParameters"];
        if request["AuthFlow"] == "REFRESH_TOKEN_AUTH" {
            if *self.is_revoked.lock().unwrap() || parameters["REFRESH_TOKEN"] != REFRESH_TOKEN {
                return Err("Refresh Token has been revoked");
            }
            let mut result = self.signed_in();
            result["AuthenticationResult"].as_object_mut().unwrap().remove("RefreshToken");
            return Ok(result);
        }
        assert_eq!((&request["AuthFlow"], &parameters["USERNAME"]), (&json!("USER_SRP_AUTH"), &json!(USER)));
        *self.client_public.lock().unwrap() = number(parameters["SRP_A"].as_str().unwrap());
        Ok(json!({
            "ChallengeName": "PASSWORD_VERIFIER",
            "Session": SESSION,
            "ChallengeParameters": {
                "SALT": SALT,
                "SECRET_BLOCK": STANDARD.encode(SECRET_BLOCK),
                "SRP_B": self.server_public().to_str_radix(16),
                "USERNAME": USER_ID,
                "USER_ID_FOR_SRP": USER_ID,
            },
        }))
    }

    fn set_up_app(&self, action: &str, request: &Value) -> Result<Value, &'static str> {
        if action == "AssociateSoftwareToken" {
            assert_eq!(request["Session"], SESSION);
            return Ok(json!({"SecretCode": APP_KEY, "Session": ASSOCIATED}));
        }
        assert_eq!((action, &request["Session"]), ("VerifySoftwareToken", &json!(ASSOCIATED)));
        if request["UserCode"] != APP_CODE {
            return Err("Code mismatch");
        }
        *self.needs_app.lock().unwrap() = false;
        Ok(json!({"Status": "SUCCESS", "Session": VERIFIED}))
    }

    fn respond(&self, request: &Value) -> Result<Value, &'static str> {
        let responses = &request["ChallengeResponses"];
        if request["ChallengeName"] == "MFA_SETUP" {
            assert_eq!((&request["Session"], &responses["USERNAME"]), (&json!(VERIFIED), &json!(USER_ID)));
            assert!(!*self.needs_app.lock().unwrap());
            return Ok(self.signed_in());
        }
        assert_eq!((&request["Session"], &responses["USERNAME"]), (&json!(SESSION), &json!(USER_ID)));
        if request["ChallengeName"] == "NEW_PASSWORD_REQUIRED" {
            let password = responses["NEW_PASSWORD"].as_str().unwrap();
            password.clone_into(&mut self.password.lock().unwrap());
            *self.is_temporary.lock().unwrap() = false;
            return Ok(self.signed_in());
        }
        assert_eq!(request["ChallengeName"], "PASSWORD_VERIFIER");
        let timestamp = responses["TIMESTAMP"].as_str().unwrap();
        let day = timestamp.split(" ").nth(2).unwrap();
        assert!(timestamp.contains(" UTC 20") && !day.starts_with("0"), "{timestamp}");
        assert_eq!(responses["PASSWORD_CLAIM_SECRET_BLOCK"], STANDARD.encode(SECRET_BLOCK));
        if responses["PASSWORD_CLAIM_SIGNATURE"] != self.proof(timestamp) {
            return Err("Incorrect username or password.");
        }
        if *self.is_temporary.lock().unwrap() {
            return Ok(json!({
                "ChallengeName": "NEW_PASSWORD_REQUIRED",
                "Session": SESSION,
                "ChallengeParameters": {"userAttributes": "{}", "requiredAttributes": "[]"},
            }));
        }
        if *self.needs_app.lock().unwrap() {
            let offered = json!({"MFAS_CAN_SETUP": "[\"SOFTWARE_TOKEN_MFA\"]"});
            return Ok(
                json!({"ChallengeName": "MFA_SETUP", "Session": SESSION, "ChallengeParameters": offered}),
            );
        }
        Ok(self.signed_in())
    }

    fn signed_in(&self) -> Value {
        let mut tokens = self.tokens.lock().unwrap();
        let token = if tokens.len() > 1 { tokens.pop_front() } else { tokens.front().cloned() };
        json!({"AuthenticationResult": {
            "IdToken": token.unwrap(), "AccessToken": "access", "RefreshToken": REFRESH_TOKEN, "ExpiresIn": 3600,
        }})
    }

    fn describe_stacks(&self, authorization: &str, body: &str) -> (StatusCode, String) {
        assert!(
            authorization.contains("/us-east-1/cloudformation/aws4_request"),
            "unsigned: {authorization}"
        );
        assert!(body.starts_with("Action=DescribeStacks&Version=2010-05-15&StackName="), "{body}");
        let outputs = self.stack.lock().unwrap();
        if outputs.is_empty() || !body.ends_with(&format!("={STACK}")) {
            let error = "<ErrorResponse><Error><Type>Sender</Type><Code>ValidationError</Code>\
                         <Message>Stack with id x does not exist</Message></Error></ErrorResponse>";
            return (StatusCode::BAD_REQUEST, error.to_owned());
        }
        let outputs: String = outputs
            .iter()
            .map(|(name, value)| {
                format!("<member><OutputKey>{name}</OutputKey><OutputValue>{value}</OutputValue></member>")
            })
            .collect();
        let stack = format!(
            "<DescribeStacksResponse xmlns=\"http://cloudformation.amazonaws.com/doc/2010-05-15/\">\
             <DescribeStacksResult><Stacks><member><StackName>{STACK}</StackName>\
             <StackStatus>CREATE_COMPLETE</StackStatus><Outputs>{outputs}</Outputs><Parameters><member>\
             <ParameterKey>AuthMode</ParameterKey><ParameterValue>cognito</ParameterValue></member></Parameters>\
             </member></Stacks></DescribeStacksResult></DescribeStacksResponse>"
        );
        (StatusCode::OK, stack)
    }

    /// The verifier, which is stored in place of the password.
    fn verifier(&self) -> BigUint {
        let (_, pool) = POOL.split_once('_').unwrap();
        let identity = format!("{pool}{USER_ID}:{}", self.password.lock().unwrap());
        let inner = digest::digest(&digest::SHA256, identity.as_bytes());
        generator().modpow(&hash(&[&padded(&number(SALT)), inner.as_ref()]), &number(PRIME))
    }

    /// `k·v + g^b`.
    fn server_public(&self) -> BigUint {
        let multiplier = hash(&[&padded(&number(PRIME)), &padded(&generator())]);
        let power = generator().modpow(&BigUint::from_bytes_be(PRIVATE), &number(PRIME));
        (multiplier * self.verifier() + power) % number(PRIME)
    }

    /// The proof that the client has to send, from `(A·v^u)^b`.
    fn proof(&self, timestamp: &str) -> String {
        let client_public = self.client_public.lock().unwrap().clone();
        let scramble = hash(&[&padded(&client_public), &padded(&self.server_public())]);
        let base = client_public * self.verifier().modpow(&scramble, &number(PRIME));
        let shared = base.modpow(&BigUint::from_bytes_be(PRIVATE), &number(PRIME));
        let extracted = tag(&padded(&scramble), &padded(&shared));
        let expanded = tag(extracted.as_ref(), b"Caldera Derived Key\x01");
        let (_, pool) = POOL.split_once('_').unwrap();
        let message = [pool.as_bytes(), USER_ID.as_bytes(), SECRET_BLOCK, timestamp.as_bytes()].concat();
        STANDARD.encode(tag(&expanded.as_ref()[..16], &message))
    }
}

fn generator() -> BigUint {
    BigUint::from(2_u32)
}

fn number(hexadecimal: &str) -> BigUint {
    BigUint::parse_bytes(hexadecimal.as_bytes(), 16).unwrap()
}

/// Big-endian bytes that no reader takes for a negative number.
fn padded(number: &BigUint) -> Vec<u8> {
    let bytes = number.to_bytes_be();
    if bytes[0] < 0x80 { bytes } else { [&[0][..], &bytes].concat() }
}

fn hash(parts: &[&[u8]]) -> BigUint {
    BigUint::from_bytes_be(digest::digest(&digest::SHA256, &parts.concat()).as_ref())
}

fn tag(key: &[u8], message: &[u8]) -> hmac::Tag {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), message)
}
