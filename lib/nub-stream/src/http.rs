//! HTTP: one kept connection, its deadlines, proxies and certificates. It knows no provider and follows
//! no redirect, since neither the key nor the prompt may go where the user did not send them.

use std::io::{self, Read};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nub_proto::ErrorClass;
use ureq::tls::{RootCerts, TlsConfig};
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{Connector, DefaultConnector};
use ureq::{Agent, BodyReader, Timeout, http};

use crate::cancel::{Cancel, Cancelled};
use crate::failure::Failure;
use crate::proxy;
use crate::target::{Target, host_of, without_query};
use crate::watch::{Wait, Watch};

/// How much of the body of an error is read, in bytes, whatever it was compressed to.
pub const ERROR_BODY: usize = 256 << 10;
const AGENT: &str = concat!("nub/", env!("CARGO_PKG_VERSION"));
/// Proxies hold back what they compress; what comes compressed all the same is read.
const ENCODING: &str = "identity";
/// How long the rest of a finished answer may take to arrive, so that its connection can be kept.
const DRAIN: Duration = Duration::from_millis(20);
/// How much of it is read, in bytes.
const DRAIN_BODY: usize = 64 << 10;

/// One thing to be sent.
#[derive(Debug)]
pub struct Call {
    /// `GET` or `POST`.
    pub method: http::Method,
    /// The whole address.
    pub url: String,
    /// Names and values; checked when they are sent.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Call {
    /// The request as it goes out, for people.
    #[must_use]
    pub fn shown(&self) -> String {
        let mut text = format!("{} {}\nhost: {}\n", self.method, self.url, host_of(&self.url));
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {value}\n"));
        }
        text.push_str(&format!("user-agent: {AGENT}\naccept-encoding: {ENCODING}\n"));
        text.push_str(&format!("content-length: {}\n\n", self.body.len()));
        text.push_str(&String::from_utf8_lossy(&self.body));
        text.push('\n');
        text
    }
}

/// The beginning of what came back.
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    body: BodyReader<'static>,
    watch: Watch,
    idle: Duration,
    begun: bool,
}

/// Sends requests.
pub struct Client {
    agent: Option<Agent>,
    watch: Watch,
    last: Option<Reply>,
}

impl Client {
    /// A client that calls `before_wait` whenever it would block.
    #[must_use]
    pub fn new(before_wait: Arc<dyn Fn() + Send + Sync>) -> Client {
        Client { agent: None, watch: Watch::new(before_wait), last: None }
    }

    /// Sends a request and waits for the head of the answer.
    ///
    /// # Errors
    /// It cannot be sent, no answer came, or it was cancelled.
    pub fn send(&mut self, call: Call, target: &Target, cancel: &Arc<Cancel>) -> Result<Reply, Failure> {
        self.drain();
        let watch = self.watch.clone();
        let agent = self.agent.get_or_insert_with(|| agent(&watch)).clone();
        cancel.holds(&agent);
        let first_byte = target.first_byte_timeout();
        let request = request(call)?;
        let request = agent
            .configure_request(request)
            .timeout_connect(Some(target.connect_timeout()))
            .timeout_resolve((!target.is_local()).then(|| target.connect_timeout()))
            .proxy(proxy::of(target)?)
            .build();
        self.watch.set(Wait::FirstByte(Instant::now() + first_byte + target.connect_timeout()));
        let (runner, started) = (agent, self.watch.clone());
        let sent = cancel.abandonable(move || {
            started.set(Wait::FirstByte(Instant::now() + first_byte));
            runner.run(request)
        });
        match sent {
            Ok(Ok(response)) => Ok(Reply::new(response, self.watch.clone(), target.idle_timeout())),
            Ok(Err(_)) if cancel.fired() => Err(self.cancelled()),
            Ok(Err(e)) => Err(failure(&e, target)),
            Err(Cancelled) => Err(self.cancelled()),
        }
    }

    /// The agent was shut down: the next request gets a new one.
    pub fn cancelled(&mut self) -> Failure {
        self.agent = None;
        Failure::new(ErrorClass::Cancelled, "cancelled")
    }

    /// Keeps the connection of an answer that was read as far as it matters.
    pub fn keep(&mut self, reply: Reply) {
        self.last = Some(reply);
    }

    fn drain(&mut self) {
        let Some(mut last) = self.last.take() else { return };
        self.watch.set(Wait::Next(DRAIN));
        // whatever is wrong with the rest only costs the connection
        drop(last.body.by_ref().take(DRAIN_BODY as u64).read_to_end(&mut Vec::new()));
    }
}

impl Reply {
    fn new(response: http::Response<ureq::Body>, watch: Watch, idle: Duration) -> Reply {
        let (head, body) = response.into_parts();
        let headers = head
            .headers
            .iter()
            .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
            .collect();
        Reply { status: head.status.as_u16(), headers, body: body.into_reader(), watch, idle, begun: false }
    }

    /// Reads more of the body; 0 bytes at its end.
    ///
    /// # Errors
    /// As [`Failure`]: the connection broke or went silent.
    pub fn read(&mut self, buffer: &mut [u8], target: &Target) -> Result<usize, Failure> {
        let count = loop {
            match self.body.read(buffer) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(body_failure(&e, target)),
                Ok(count) => break count,
            }
        };
        if !self.begun {
            self.begun = true;
            self.watch.set(Wait::Next(self.idle));
        }
        Ok(count)
    }

    /// Reads a short body, as far as it comes.
    #[must_use]
    pub fn read_short(&mut self, limit: usize) -> Vec<u8> {
        self.watch.set(Wait::Next(self.idle));
        let mut body = Vec::new();
        // an error is classified by what did come
        drop(self.body.by_ref().take(limit as u64).read_to_end(&mut body));
        body
    }
}

fn agent(watch: &Watch) -> Agent {
    let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .user_agent(AGENT)
        .accept_encoding(ENCODING)
        .tls_config(tls)
        .proxy(None)
        .max_idle_connections_per_host(1)
        .build();
    Agent::with_parts(config, DefaultConnector::default().chain(watch.clone()), DefaultResolver::default())
}

fn request(call: Call) -> Result<http::Request<Vec<u8>>, Failure> {
    let mut request = http::Request::new(call.body);
    *request.method_mut() = call.method;
    *request.uri_mut() = call.url.parse().map_err(|_| {
        Failure::new(ErrorClass::Config, format!("'{}' is no address", without_query(&call.url)))
            .hint("set base_url of the endpoint to something like https://api.openai.com/v1")
    })?;
    for (name, value) in call.headers {
        let bad = |what: &str| {
            Failure::new(
                ErrorClass::Config,
                format!(
                    "the {what} of header '{}' has characters that no header may have",
                    name.escape_debug()
                ),
            )
        };
        let header = http::HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad("name"))?;
        let mut value = http::HeaderValue::from_str(&value).map_err(|_| bad("value"))?;
        value.set_sensitive(true);
        request.headers_mut().insert(header, value);
    }
    Ok(request)
}

fn body_failure(e: &io::Error, target: &Target) -> Failure {
    match e.get_ref().and_then(|inner| inner.downcast_ref::<ureq::Error>()) {
        Some(ureq::Error::Protocol(e)) => broken(&e.to_string(), target),
        Some(inner) => failure(inner, target),
        None => broken(&e.to_string(), target),
    }
}

fn broken(reason: &str, target: &Target) -> Failure {
    Failure::new(ErrorClass::Network, format!("the connection to {} broke: {reason}", target.host()))
        .retryable()
}

fn failure(e: &ureq::Error, target: &Target) -> Failure {
    let host = target.host();
    match e {
        ureq::Error::Timeout(reason) => timeout(*reason, target),
        ureq::Error::Io(e) => io_failure(e, target),
        ureq::Error::HostNotFound => {
            Failure::new(ErrorClass::Network, format!("cannot find the host {host}")).retryable()
        }
        ureq::Error::ConnectionFailed => {
            Failure::new(ErrorClass::Network, format!("cannot connect to {host}")).retryable()
        }
        ureq::Error::ConnectProxyFailed(reason) => {
            Failure::new(ErrorClass::Network, format!("the proxy does not connect to {host}: {reason}"))
                .retryable()
        }
        ureq::Error::Rustls(_) | ureq::Error::Tls(_) | ureq::Error::Pem(_) => {
            Failure::new(ErrorClass::Network, format!("no secure connection to {host}: {e}"))
                .hint("behind a proxy with its own certificate, set SSL_CERT_FILE to it")
        }
        ureq::Error::Protocol(_) | ureq::Error::LargeResponseHeader(..) => {
            Failure::new(ErrorClass::Protocol, format!("{host} does not answer in HTTP: {e}"))
                .hint("check base_url of the endpoint")
        }
        ureq::Error::BadUri(_) | ureq::Error::Http(_) | ureq::Error::InvalidProxyUrl => {
            Failure::new(ErrorClass::Config, format!("cannot ask {host}: {e}"))
                .hint("check base_url of the endpoint")
        }
        _ => Failure::new(ErrorClass::Network, format!("cannot ask {host}: {e}")).retryable(),
    }
}

fn timeout(reason: Timeout, target: &Target) -> Failure {
    let (host, name) = (target.host(), &target.endpoint.name);
    let failure = |what: String, key: &str| {
        Failure::new(ErrorClass::Timeout, what)
            .retryable()
            .hint(format!("raise {key} of endpoint '{name}' if it needs longer"))
    };
    match reason {
        Timeout::Resolve | Timeout::Connect => failure(
            format!("no connection to {host} within {:?}", target.connect_timeout()),
            "connect_timeout",
        ),
        Timeout::RecvBody => {
            failure(format!("{host} was silent for {:?}", target.idle_timeout()), "idle_timeout")
        }
        _ => failure(
            format!("{host} sent no answer within {:?}", target.first_byte_timeout()),
            "first_byte_timeout",
        ),
    }
}

fn io_failure(e: &io::Error, target: &Target) -> Failure {
    let host = target.host();
    match e.kind() {
        io::ErrorKind::ConnectionRefused => {
            let failure =
                Failure::new(ErrorClass::Network, format!("cannot connect to {host}: connection refused"))
                    .retryable();
            if target.is_local() { failure.hint("is the server running?") } else { failure }
        }
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => timeout(Timeout::RecvBody, target),
        io::ErrorKind::InvalidData => {
            Failure::new(ErrorClass::Network, format!("no secure connection to {host}: {e}"))
                .hint("behind a proxy with its own certificate, set SSL_CERT_FILE to it")
        }
        io::ErrorKind::UnexpectedEof
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe => broken(&e.to_string(), target),
        _ => Failure::new(ErrorClass::Network, format!("cannot reach {host}: {e}")).retryable(),
    }
}
