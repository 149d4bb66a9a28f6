use super::*;

const TARGET: &str = "DynamoDB_20120810.Scan";

fn verifier() -> Verifier {
    let folder = tempfile::tempdir().unwrap();
    let keys = ServiceKeys::from_folder(folder.path()).unwrap();
    Verifier { keys, service: "dynamodb", max_bytes: 1024 }
}

/// Returns a request that is signed with these keys.
fn signed(keys: &ServiceKeys, service: &str, access_key: &str) -> Parts {
    let request = axum::http::Request::post("/").header("host", "127.0.0.1:1").header("x-amz-target", TARGET);
    let (mut parts, ()) = request.body(()).unwrap().into_parts();
    keys.sign(service, access_key, &mut parts, b"{}").unwrap();
    parts
}

fn check(verifier: &Verifier, request: &Parts, body: &[u8], now: SystemTime) -> Result<(), Rejection> {
    verifier.check(&verifier.authorization(request)?, request, body, now)
}

#[test]
fn signed_request_passes_and_changed_one_does_not() {
    let verifier = verifier();
    let now = SystemTime::now();
    let request = signed(&verifier.keys, "dynamodb", "local-cloud-execute");
    assert_eq!(check(&verifier, &request, b"{}", now), Ok(()));
    assert_eq!(check(&verifier, &request, b"[]", now), Err(Rejection::InvalidSignature));
    for (name, value) in [("x-amz-target", "DynamoDB_20120810.DeleteTable"), ("host", "evil.example")] {
        let mut other = request.clone();
        other.headers.insert(name, value.parse().unwrap());
        assert_eq!(check(&verifier, &other, b"{}", now), Err(Rejection::InvalidSignature), "{name}");
    }
    let mut other = request.clone();
    other.uri = "/?a=b".parse().unwrap();
    assert_eq!(check(&verifier, &other, b"{}", now), Err(Rejection::InvalidSignature));
}

#[test]
fn other_keys_services_and_times_are_rejected() {
    let (ours, theirs) = (verifier(), verifier());
    let now = SystemTime::now();
    let rejection = |request: &Parts, now| check(&ours, request, b"{}", now).unwrap_err();
    let foreign = signed(&theirs.keys, "dynamodb", "local-cloud");
    assert_eq!(rejection(&foreign, now), Rejection::InvalidSignature);
    assert_eq!(rejection(&signed(&ours.keys, "dynamodb", "AKID"), now), Rejection::UnrecognizedClient);
    assert_eq!(rejection(&signed(&ours.keys, "sqs", "local-cloud"), now), Rejection::IncompleteSignature);
    let request = signed(&ours.keys, "dynamodb", "local-cloud");
    for other in [now + MAX_SKEW + Duration::from_secs(5), now - MAX_SKEW - Duration::from_secs(5)] {
        assert_eq!(rejection(&request, other), Rejection::SignatureExpired);
    }
    let mut unsigned = request.clone();
    unsigned.headers.remove("authorization");
    assert_eq!(rejection(&unsigned, now), Rejection::MissingAuthenticationToken);
    for text in ["", "Bearer x", "AWS4-HMAC-SHA256 Credential=local-cloud", "AWS4-HMAC-SHA256 Signature=a"] {
        unsigned.headers.insert("authorization", text.parse().unwrap());
        assert_eq!(rejection(&unsigned, now), Rejection::IncompleteSignature, "{text}");
    }
}

#[test]
fn unsigned_target_is_rejected() {
    let verifier = verifier();
    let request = axum::http::Request::post("/").header("host", "127.0.0.1:1");
    let (mut parts, ()) = request.body(()).unwrap().into_parts();
    verifier.keys.sign("dynamodb", "local-cloud", &mut parts, b"{}").unwrap();
    parts.headers.insert("x-amz-target", TARGET.parse().unwrap());
    let rejection = check(&verifier, &parts, b"{}", SystemTime::now());
    assert_eq!(rejection, Err(Rejection::IncompleteSignature));
}
