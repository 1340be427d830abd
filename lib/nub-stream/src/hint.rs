//! What the user can do about a failure, where nub knows more than the server.

use nub_proto::ErrorClass;

use crate::failure::Failure;
use crate::key::Key;
use crate::target::Target;

/// Adds advice, and takes out of the server's words what must not be seen.
#[must_use]
pub fn advise(mut failure: Failure, target: &Target, key: &Key) -> Failure {
    failure.message = key.mask(failure.message);
    failure.partial = key.mask(failure.partial);
    let name = &target.endpoint.name;
    let advice = match (failure.class, failure.status) {
        (ErrorClass::Auth, Some(402)) => {
            Some(format!("check the credit of the account behind endpoint '{name}'"))
        }
        (ErrorClass::Auth, _) => Some(match key.secret() {
            Some(_) => format!("check the key of endpoint '{name}': it comes from {}", key.source()),
            None => format!("endpoint '{name}' has no key: set its api_key"),
        }),
        _ => None,
    };
    if let Some(advice) = advice {
        failure.hint = Some(advice);
    }
    failure
}
