//! The supported DynamoDB operations, as JSON requests and responses.

use dynoxide::{Database, DynoxideError};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Prefix of the header that names the operation.
const TARGET_PREFIX: &str = "DynamoDB_20120810.";
/// Markers that dynoxide puts before the message of an invalid request. Longer ones come first.
const MARKERS: [&str; 5] =
    ["VALIDATION_REQUEST:", "VALIDATION_AS_READ:", "VALIDATION:", "SERIALIZATION_AS_READ:", "SERIALIZATION:"];

/// Answers a request. `target` names the operation.
pub(super) fn answer(database: &Database, target: &str, body: &[u8]) -> Result<String, DynoxideError> {
    let db = database;
    match target.strip_prefix(TARGET_PREFIX).unwrap_or_default() {
        "CreateTable" => run(body, |request| db.create_table(request)),
        "DeleteTable" => run(body, |request| db.delete_table(request)),
        "DescribeTable" => run(body, |request| db.describe_table(request)),
        "ListTables" => run(body, |request| db.list_tables(request)),
        "UpdateTable" => run(body, |request| db.update_table(request)),
        "DescribeTimeToLive" => run(body, |request| db.describe_time_to_live(request)),
        "UpdateTimeToLive" => run(body, |request| db.update_time_to_live(request)),
        "GetItem" => run(body, |request| db.get_item(request)),
        "PutItem" => run(body, |request| db.put_item(request)),
        "UpdateItem" => run(body, |request| db.update_item(request)),
        "DeleteItem" => run(body, |request| db.delete_item(request)),
        "Query" => run(body, |request| db.query(request)),
        "Scan" => run(body, |request| db.scan(request)),
        "BatchGetItem" => run(body, |request| db.batch_get_item(request)),
        "BatchWriteItem" => run(body, |request| db.batch_write_item(request)),
        "TransactGetItems" => run(body, |request| db.transact_get_items(request)),
        "TransactWriteItems" => run(body, |request| db.transact_write_items(request)),
        _ => Err(DynoxideError::ValidationException(format!(
            "The local DynamoDB does not support the operation {target:?}"
        ))),
    }
}

fn run<I: DeserializeOwned, O: Serialize>(
    body: &[u8],
    operation: impl FnOnce(I) -> Result<O, DynoxideError>,
) -> Result<String, DynoxideError> {
    let request = serde_json::from_slice(body).map_err(|error| invalid(&error.to_string()))?;
    let response = operation(request)?;
    serde_json::to_string(&response).map_err(|error| DynoxideError::InternalServerError(error.to_string()))
}

/// Returns the error for a request that can't be read.
fn invalid(message: &str) -> DynoxideError {
    let marked = MARKERS.iter().find_map(|marker| message.strip_prefix(marker));
    DynoxideError::ValidationException(marked.unwrap_or(message).to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn call(database: &Database, operation: &str, body: &Value) -> Result<Value, DynoxideError> {
        let response = answer(database, &format!("{TARGET_PREFIX}{operation}"), body.to_string().as_bytes())?;
        Ok(serde_json::from_str(&response).unwrap())
    }

    #[test]
    fn items_are_stored_conditionally() {
        let database = Database::memory().unwrap();
        let table = json!({
            "TableName": "table", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{ "AttributeName": "PK", "AttributeType": "S" }],
            "KeySchema": [{ "AttributeName": "PK", "KeyType": "HASH" }],
        });
        call(&database, "CreateTable", &table).unwrap();
        let put = json!({
            "TableName": "table", "Item": { "PK": { "S": "a" }, "N": { "N": "1" } },
            "ConditionExpression": "attribute_not_exists(PK)",
        });
        call(&database, "PutItem", &put).unwrap();
        let refused = call(&database, "PutItem", &put).unwrap_err();
        assert!(refused.to_json().contains("ConditionalCheckFailedException"), "{}", refused.to_json());
        let found =
            call(&database, "GetItem", &json!({ "TableName": "table", "Key": { "PK": { "S": "a" } } }));
        assert_eq!(found.unwrap()["Item"]["N"]["N"], "1");
    }

    #[test]
    fn invalid_request_is_named_without_markers() {
        let database = Database::memory().unwrap();
        for (operation, body) in [
            ("PutItem", json!({ "TableName": "table", "Item": { "PK": {} } })),
            ("PutItem", json!({ "TableName": "table", "Item": { "PK": { "N": "x" } } })),
            ("PutItem", json!({ "TableName": 1 })),
            ("GetItem", json!({})),
            ("ExecuteStatement", json!({})),
        ] {
            let error = call(&database, operation, &body).unwrap_err();
            assert_eq!(error.status_code(), 400, "{body}");
            assert!(!MARKERS.iter().any(|marker| error.to_json().contains(marker)), "{}", error.to_json());
        }
    }
}
