//! Which proxy a request goes through: the variables that curl reads. What is on this machine never does.

use std::env;

use nub_proto::ErrorClass;
use ureq::Proxy;

use crate::failure::Failure;
use crate::target::Target;

/// The proxy for a target, if any.
///
/// # Errors
/// The variable holds no address of a proxy.
pub fn of(target: &Target) -> Result<Option<Proxy>, Failure> {
    let Some((variable, url)) = chosen(&target.endpoint.base_url, target, |name| env::var(name).ok()) else {
        return Ok(None);
    };
    // the value may carry a password, so it is not shown
    Proxy::new(&url)
        .map(Some)
        .map_err(|_| Failure::new(ErrorClass::Config, format!("{variable} is no address of a proxy")))
}

fn chosen(
    url: &str,
    target: &Target,
    var: impl Fn(&str) -> Option<String>,
) -> Option<(&'static str, String)> {
    let host = target.host();
    let exempt = || ["NO_PROXY", "no_proxy"].iter().find_map(|name| var(name)).unwrap_or_default();
    if target.is_local() || is_exempt(host, &exempt()) {
        return None;
    }
    let names: &[&'static str] = if url.starts_with("https:") {
        &["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]
    } else {
        &["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"]
    };
    names.iter().find_map(|name| var(name).filter(|value| !value.is_empty()).map(|value| (*name, value)))
}

/// Whether `NO_PROXY` names the host, a domain above it, or everything.
fn is_exempt(host: &str, list: &str) -> bool {
    let name = bare(host).to_ascii_lowercase();
    list.split([',', ' ']).map(|entry| entry.trim().to_ascii_lowercase()).filter(|e| !e.is_empty()).any(
        |entry| {
            let entry = bare(&entry).trim_start_matches("*.").trim_start_matches('.').to_owned();
            entry == "*" || name == entry || name.strip_suffix(&entry).is_some_and(|rest| rest.ends_with('.'))
        },
    )
}

/// A host without its port.
fn bare(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::is_exempt;

    #[test]
    fn no_proxy_names_hosts_and_domains() {
        for (host, list, exempt) in [
            ("api.example.com", "example.com", true),
            ("api.example.com:443", "localhost, .example.com", true),
            ("api.example.com", "*.example.com", true),
            ("api.example.com", "*", true),
            ("badexample.com", "example.com", false),
            ("api.example.com", "", false),
        ] {
            assert_eq!(is_exempt(host, list), exempt, "{host} {list}");
        }
    }
}
