//! Creation of users in a deployment's user pool, by an administrator with AWS credentials.

use serde_json::{Value, json};

use crate::aws::{Aws, AwsError};

/// A user to create.
#[derive(Debug)]
pub struct NewUser<'a> {
    /// The email address, with which the user signs in.
    pub email: &'a str,
    /// The attributes besides the email address, by name.
    pub attributes: &'a [(&'a str, &'a str)],
}

impl NewUser<'_> {
    /// Creates the user in a pool. Cognito emails a temporary password.
    ///
    /// # Errors
    /// Fails if the pool refuses the user, for example because it exists.
    pub async fn invite(&self, aws: &Aws, pool: &str) -> Result<(), AwsError> {
        self.create(aws, pool, json!({"DesiredDeliveryMediums": ["EMAIL"]})).await
    }

    /// Creates the user in a pool with this password. Nothing is emailed.
    ///
    /// # Errors
    /// Fails if the pool refuses the user or the password.
    pub async fn create_with_password(&self, aws: &Aws, pool: &str, password: &str) -> Result<(), AwsError> {
        self.create(aws, pool, json!({"MessageAction": "SUPPRESS"})).await?;
        let body =
            json!({"UserPoolId": pool, "Username": self.email, "Password": password, "Permanent": true});
        call(aws, "AdminSetUserPassword", &body).await
    }

    async fn create(&self, aws: &Aws, pool: &str, mut body: Value) -> Result<(), AwsError> {
        let verified = [("email", self.email), ("email_verified", "true")];
        let attributes = verified.iter().chain(self.attributes);
        let attributes: Vec<Value> =
            attributes.map(|(name, value)| json!({"Name": name, "Value": value})).collect();
        if let Some(body) = body.as_object_mut() {
            body.insert("UserPoolId".to_owned(), pool.into());
            body.insert("Username".to_owned(), self.email.into());
            body.insert("UserAttributes".to_owned(), attributes.into());
        }
        call(aws, "AdminCreateUser", &body).await
    }
}

async fn call(aws: &Aws, action: &str, body: &Value) -> Result<(), AwsError> {
    let target = format!("AWSCognitoIdentityProviderService.{action}");
    aws.json("cognito-idp", &target, body).await.map(drop)
}
