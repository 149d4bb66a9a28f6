//! The wiring: settings to rules, once per process.

use lambda_runtime::Error;
use runtime::ClaimNames;
use settings::Env;

use crate::{authorize::Authorizer, keys::Keys, mapping::Mapping, token::Rules};

pub(crate) fn start() -> Result<Authorizer, Error> {
    let mut env = Env::of_process();
    let names = ClaimNames::names(&mut env);
    let mapping = Mapping::read(&mut env, names);
    let rules = Rules::read(&mut env);
    let jwks = env.read(&settings::OIDC_JWKS_URL);
    let on_aws = env.is_on_aws();
    for (setting, url) in [("OIDC_ISSUER", Some(&rules.issuer)), ("OIDC_JWKS_URL", jwks.as_ref())] {
        // Whoever sits in between would say whose keys count.
        if on_aws && url.is_some_and(|url| url.starts_with("http://")) {
            env.fault(format!("{setting} must begin with https://"));
        }
    }
    env.finish()?;
    let keys = Keys::new(rules.issuer.clone(), jwks)?;
    Ok(Authorizer { keys, rules, mapping })
}
