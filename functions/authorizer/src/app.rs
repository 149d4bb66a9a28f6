//! Builds the authorizer from the settings, once per process.

use lambda_runtime::Error;
use runtime::ClaimNames;
use settings::Env;

use crate::{
    authorize::Authorizer, keys::Keys, mapping::ClaimMapping, table::LazyTable, token::Rules,
    usage::UsageKeys,
};

pub(crate) fn start() -> Result<Authorizer, Error> {
    let mut env = Env::from_process();
    let names = ClaimNames::names(&mut env);
    let mapping = ClaimMapping::read(&mut env, names);
    let usage = UsageKeys::read(&mut env);
    let rules = Rules::read(&mut env);
    let table = LazyTable::new(env.read(&settings::TABLE_NAME));
    let jwks = env.read(&settings::OIDC_JWKS_URL);
    let on_aws = env.is_on_aws();
    for (setting, url) in [("OIDC_ISSUER", Some(&rules.issuer)), ("OIDC_JWKS_URL", jwks.as_ref())] {
        // Without TLS, a man in the middle could supply keys.
        if on_aws && url.is_some_and(|url| url.starts_with("http://")) {
            env.add_fault(format!("{setting} must begin with https://"));
        }
    }
    env.finish()?;
    let keys = Keys::new(rules.issuer.clone(), jwks)?;
    Ok(Authorizer { keys, rules, mapping, table, usage })
}
