//! Access to deployments on AWS, for the commands of a developer or an operator.
//!
//! [`Aws`] sends signed requests to services, and [`Stack`] reads the outputs of a CloudFormation stack. [`cognito`]
//! signs in with a password, [`browser`] with the identity provider's own page. [`doctor`] checks a deployment. A [`SignIn`] is stored by [`Store`] and
//! kept valid by [`TokenSource`].
//!
//! Deliberately absent: calls of the API, and an SDK crate for each service. Those of CloudFormation and Cognito would take
//! longer to compile than the rest of the program (docs/internals/decisions/0026-sign-in.md).

pub mod aws;
pub mod browser;
pub mod cognito;
pub mod doctor;
mod http;
pub mod page_token_key;
pub mod queue_age;
mod sign_in;
mod stack;
mod store;
mod token_source;
mod users;

pub use aws::{Aws, AwsError};
pub use sign_in::{Refresh, SignIn, expiry, token_claim};
pub use stack::{Stack, StackError};
pub use store::{Store, StoreError};
pub use token_source::{TokenError, TokenSource, revoke};
pub use users::NewUser;
