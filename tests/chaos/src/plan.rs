//! What a seed stands for: a client with its settings, a server with its temper, and the calls.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};
use tower_diagnose::{Idempotency, MaxAttempts, NoRetry, RequestTimeout};

use crate::{
    body::{BodyPlan, PlannedBody},
    random::Random,
    settings::Settings,
};

/// No text that we make may hold this; every secret does.
pub const SENTINEL: &str = "SENTINEL";

/// Nor this, the end of every host's name.
pub const DOMAIN: &str = "chaos.test";

/// Everything that a seed decides before the first byte is sent.
#[derive(Clone, Debug)]
pub struct Plan {
    pub seed: u64,
    /// In memory with a virtual clock, or over sockets of this machine.
    pub in_memory: bool,
    pub http2: bool,
    pub settings: Settings,
    pub calls: Vec<CallPlan>,
    /// All calls at once, or one after the other.
    pub concurrent: bool,
    /// How often in a hundred the server does not do what it should.
    pub faults: u64,
    /// How long it hesitates at the longest.
    pub longest_delay: Duration,
    /// The client's `retry_canceled_requests`.
    pub resends: bool,
    /// The client keeps connections for later calls.
    pub pools: bool,
    /// How long it keeps one that nobody uses.
    pub pool_idle: Duration,
    /// How long the server waits for a client that says nothing.
    pub patience: Option<Duration>,
}

/// One call.
#[derive(Clone, Debug)]
pub struct CallPlan {
    pub number: usize,
    pub method: Method,
    pub uri: Uri,
    pub headers: HeaderMap,
    pub body: BodyPlan,
    pub declared: Option<Idempotency>,
    pub no_retry: bool,
    pub max_attempts: Option<u32>,
    pub own_timeout: Option<Duration>,
    pub caller: Caller,
    /// What a spiteful server may say back.
    pub secrets: Vec<String>,
}

/// What the caller does with its call.
#[derive(Clone, Copy, Debug)]
pub struct Caller {
    /// Lets go of the call if there is no answer by then.
    pub patience: Option<Duration>,
    /// Reads so many bytes of the body and then lets go of it.
    pub reads: usize,
    /// Waits so long before it reads.
    pub reads_after: Duration,
    /// Waits so long for each frame of the body.
    pub frame_limit: Duration,
}

impl Plan {
    /// Draws the plan of `seed`.
    #[must_use]
    pub fn of(seed: u64) -> Self {
        let mut random = Random::new(seed).fork(1);
        let in_memory = random.percent(35);
        let limit = if in_memory {
            Duration::from_secs(30)
        } else {
            Duration::from_millis(120)
        };
        let count = 1 + random.index(4);
        Self::drawn(random, seed, in_memory, count, limit)
    }

    /// Draws a plan of so many calls over sockets, whose limits are about as long as `limit`.
    #[must_use]
    pub fn of_size(seed: u64, count: usize, limit: Duration) -> Self {
        Self::drawn(Random::new(seed).fork(1), seed, false, count, limit)
    }

    fn drawn(
        mut random: Random,
        seed: u64,
        in_memory: bool,
        count: usize,
        limit: Duration,
    ) -> Self {
        let random = &mut random;
        Self {
            seed,
            in_memory,
            http2: random.percent(45),
            settings: Settings::of(random, limit),
            calls: (0..count)
                .map(|number| CallPlan::of(random, seed, number, limit))
                .collect(),
            concurrent: random.percent(40),
            faults: *random.pick(&[10, 30, 30, 60, 90]),
            longest_delay: *random.pick(&[limit / 10, limit / 3, limit]),
            resends: random.percent(80),
            pools: random.percent(85),
            pool_idle: Duration::from_secs(90),
            patience: None,
        }
    }

    /// Returns the name of the server.
    #[must_use]
    pub fn host(&self) -> String {
        format!("h{}.{DOMAIN}", self.seed)
    }
}

impl CallPlan {
    fn of(random: &mut Random, seed: u64, number: usize, limit: Duration) -> Self {
        let method = match random.below(20) {
            0..5 => Method::GET,
            5..8 => Method::PUT,
            8..14 => Method::POST,
            14 => Method::HEAD,
            15 | 16 => Method::DELETE,
            17 => Method::PATCH,
            18 => Method::OPTIONS,
            _ => Method::from_bytes(b"PURGE").expect("a token"),
        };
        let mut secrets = Vec::new();
        let mut secret = |random: &mut Random, name: &str| {
            // At the end: the beginning of a secret, where a text is cut, tells little.
            let value = format!("{:016x}-{name}-{SENTINEL}", random.draw());
            secrets.push(value.clone());
            value
        };
        let mut headers = HeaderMap::new();
        let mut put = |name: &'static str, value: String, is_sensitive: bool| {
            let mut value = HeaderValue::try_from(value).expect("plain text");
            value.set_sensitive(is_sensitive);
            headers.append(HeaderName::from_static(name), value);
        };
        if random.percent(60) {
            put(
                "authorization",
                format!("Bearer {}", secret(random, "auth")),
                false,
            );
        }
        if random.percent(30) {
            let session = secret(random, "sid");
            put("cookie", format!("theme=dark; sid={session}"), false);
        }
        if random.percent(30) {
            put("x-api-key", secret(random, "key"), false);
        }
        if random.percent(20) {
            put("x-vendor-token", secret(random, "vendor"), false);
        }
        if random.percent(20) {
            put("x-signature", secret(random, "signature"), true);
        }
        // No credential: nobody says it back, and nobody prints it.
        put("x-plain", format!("{SENTINEL}-plain"), false);
        if random.percent(25) {
            put(
                "idempotency-key",
                format!("{SENTINEL}-{seed}-{number}"),
                false,
            );
        }
        if random.percent(3) {
            put("expect", "100-continue".to_owned(), false);
        }
        let user = if random.percent(10) {
            format!("user:{}@", secret(random, "password"))
        } else {
            String::new()
        };
        let query = if random.percent(50) {
            format!("?page=2&token={}", secret(random, "query"))
        } else {
            String::new()
        };
        let uri = format!("http://{user}h{seed}.{DOMAIN}:8080/call/{number}{query}");
        Self {
            number,
            method,
            uri: uri.parse().expect("a URI"),
            headers,
            body: BodyPlan::of(random, limit / 20),
            declared: match random.below(10) {
                0 => Some(Idempotency::Idempotent),
                1 => Some(Idempotency::NotIdempotent),
                2 => Some(Idempotency::Safe),
                _ => None,
            },
            no_retry: random.percent(4),
            max_attempts: random.percent(10).then(|| random.below(5) as u32),
            own_timeout: random.percent(8).then(|| random.time(limit * 2)),
            caller: Caller {
                patience: random.percent(15).then(|| random.time(limit)),
                reads: match random.below(6) {
                    0 => 0,
                    1 => random.index(2_000),
                    _ => 300_000,
                },
                reads_after: if random.percent(10) {
                    random.time(limit / 4)
                } else {
                    Duration::ZERO
                },
                frame_limit: limit / 3,
            },
            secrets,
        }
    }

    /// Makes the request.
    #[must_use]
    pub fn request(&self) -> Request<PlannedBody> {
        let mut request = Request::new(PlannedBody::new(self.body.clone(), self.number));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.headers.clone();
        let extensions = request.extensions_mut();
        if let Some(declared) = self.declared {
            extensions.insert(declared);
        }
        if self.no_retry {
            extensions.insert(NoRetry);
        }
        if let Some(attempts) = self.max_attempts {
            extensions.insert(MaxAttempts(attempts));
        }
        if let Some(timeout) = self.own_timeout {
            extensions.insert(RequestTimeout(timeout));
        }
        request
    }

    /// Returns whether applying the request twice is no harm, by what it says of itself.
    #[must_use]
    pub fn is_repeatable(&self) -> bool {
        match self.declared {
            Some(declared) => declared != Idempotency::NotIdempotent,
            None => {
                matches!(
                    self.method.as_str(),
                    "GET" | "HEAD" | "OPTIONS" | "PUT" | "DELETE"
                ) || self.headers.contains_key("idempotency-key")
            }
        }
    }

    /// Returns how many attempts the settings allow.
    #[must_use]
    pub fn attempts_allowed(&self, settings: &Settings) -> u32 {
        let never = self.no_retry
            || self.headers.contains_key("expect")
            || settings.only_declared && self.declared.is_none()
            || !settings.repeat_unsent && !self.is_repeatable();
        if never {
            return 1;
        }
        self.max_attempts.unwrap_or(settings.max_attempts).max(1)
    }

    /// Returns the limit for all attempts together.
    #[must_use]
    pub fn total(&self, settings: &Settings) -> Duration {
        self.own_timeout.unwrap_or(settings.total)
    }
}
