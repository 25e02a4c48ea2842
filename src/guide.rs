//! How the parts fit together, and where you may come from.
//!
//! # Order
//!
#![doc = include_str!("order.svg")]
//!
//! From the outside in, for a client:
//!
//! 1. **Recorder** sees the whole call: one record, however often it was attempted, also when the caller
//!    drops it. A timeout *outside* of it looks like a caller who went away; inside, like a timeout.
//! 2. **Diagnose** explains the one failure that remains after all repetitions, and reads the beginning of
//!    that one body. Below the retries it would read every failing body.
//! 3. **Retry** holds the limit for the whole call, and repeats.
//! 4. **Timeout** limits one attempt. It has to stand below the retries: an attempt that hangs is then
//!    cut, and repeated if that is safe.
//! 5. **Dispatch** notes what really reaches the client. What is below it is the client, to the record.
//!
//! [`ClientStack`](crate::ClientStack) is all of these; [`ServiceBuilder`] puts them together by hand,
//! the first one outermost. For a server:
//!
//! 1. **Respond** turns every error into a response, so that the stack fits a router.
//! 2. **Recorder**, 3. **Diagnose**, 4. **Timeout** as above; a 5xx is our own fault here. Our own side, the
//!    program that these layers run in, is called [`proxy`](crate::FaultDomain::Proxy) on both sides.
//!
//! A user's own circuit breaker, rate limiter, login or guard goes below the retries, so that every attempt
//! passes it, and fails with [`Refused`](crate::Refused): the line then says `(not sent)`, and it is not
//! repeated. In a `ClientStack` that is below Dispatch too, unless
//! [it is left to you](crate::stack#layers-of-your-own). The limits of time stand further out: a call that
//! hangs is dropped, and a breaker has to count that as a failure, or to have a `TimeoutLayer` below it.
//! `load_shed` and limits go outside of a breaker, since what they refuse says nothing of the server.
//! Layers of others, tower-http's above all, have a [table of their own](crate::stack#beside-tower-http).
//!
//! The pages of the layers say the rest: [`recorder`](crate::recorder), [`diagnose`](crate::diagnose),
//! [`retry`](crate::retry), [`timeout`](crate::timeout), [`dispatch`](crate::dispatch),
//! [`respond`](crate::respond), [`stack`](crate::stack).
//!
//! # When it does not compile
//!
//! | the compiler says | because | write |
//! |---|---|---|
//! | the method `oneshot` (`ready`, `call`) exists for struct `ClientService<…>`, but its trait bounds were not satisfied | the type of the client is written down, with a body that cannot be sent twice | `Client<HttpConnector, ReplayBody<Full<Bytes>>>` for `Client<HttpConnector, Full<Bytes>>`, or leave it to be inferred |
//! | the same, of layers put together by hand: `Diagnose<…>`, `Retry<…>`, with three bounds that differ by `&` and `&mut` only | the same: below a `RetryLayer` the body is a `ReplayBody` | the same. `tower::util::Oneshot::new(service, request)` in place of `service.oneshot(request)` makes the compiler name the bound that fails |
//! | the same, of a client of your own | it takes `Request<B>`, or is not `Clone`, or its error is no error | take `Request<ReplayBody<B>>` or any `Request<B>`; derive `Clone`; an error that is `Into<BoxError>`. Call [`send`](crate::ClientService::send) instead, and the compiler says which |
//! | the trait `From<Box<dyn Error + Send + Sync>>` is not implemented for `Infallible`, on a router | a layer that may fail has nothing around it that answers | [`ServerStack`](crate::ServerStack), or [`RespondLayer`](crate::RespondLayer) as the outermost: first in a `ServiceBuilder`, last in a row of `.layer()` |
//! | the trait `From<Diagnosed>` is not implemented for `Infallible`, on a router | a client's layer stands around a service | [`ServerStack`](crate::ServerStack) for `ClientStack`, [`DiagnoseLayer::for_server`](crate::DiagnoseLayer::for_server) for `DiagnoseLayer::new` |
//! | `…` cannot be unpinned | the body of a request is a stream that must not move | `Box::pin(body)`, which is a body too, or `body.boxed()` of `http-body-util` |
//! | the size for values of type `dyn Error + Send + Sync` cannot be known | a [`BoxError`](crate::BoxError) is no error itself | `is_timeout(&*error)`, `find::<Refused>(&*error)` |
//! | no method named `layer` found for struct `ClientStack` | the trait is not in scope | `use tower::Layer`; `tower_layer::Layer`, if the compiler suggests that, is the same trait |
//! | no method named `send` found for struct `LoadShed<…>` | another layer is around the stack | `oneshot` of `tower::ServiceExt`; better, put that layer inside, so that the line says what it refused |
//! | a type is asked for, of a field or of what a function returns | | [types, written down](crate::stack#types-written-down) |
//! | expected `Request<Full<Bytes>>`, found `Request<Empty<Bytes>>` | one client sends one type of body | box them: `body.boxed()` of `http-body-util` |
//!
//! # Where you may come from
//!
//! | there | here | what differs |
//! |---|---|---|
//! | `tower::timeout::TimeoutLayer` | [`TimeoutLayer`](crate::TimeoutLayer) | names the call and the limit; a ready answer wins a tie; bodies on request |
//! | `tower::retry` with a `Policy` | [`RetryLayer`](crate::RetryLayer) | never repeats a write that may have arrived; replays bodies; honours `Retry-After`; no clone of the request |
//! | `tower::retry::budget::TpsBudget` | [`RetryBudget`](crate::RetryBudget) | exact integers, refills however long idle, given back when a call is dropped |
//! | `tower_http::trace::TraceLayer` | [`RecorderLayer`](crate::RecorderLayer) with [`TracingSink`](crate::TracingSink) | one event per call, also if dropped; body failures; never a URL |
//! | `tower_http::timeout::TimeoutLayer` | [`TimeoutLayer`](crate::TimeoutLayer) and [`RespondLayer`](crate::RespondLayer) | an error with a name instead of an invented 408 |
//! | `tower_http::timeout::ResponseBodyTimeoutLayer` | `TimeoutLayer::body_idle` | keeps the length of the body; a slow reader is no slow server |
//! | `HandleErrorLayer` of axum | [`RespondLayer`](crate::RespondLayer) | RFC 9457, content negotiation |
//! | `reqwest-middleware` | `ServiceBuilder` over a client that is a service | layers instead of middleware; nothing boxed on success |
//! | `reqwest-retry`, `RetryTransientMiddleware` | [`RetryLayer`](crate::RetryLayer) | a POST is not repeated unless it provably did not leave, or is declared idempotent |
//! | `reqwest-tracing` | [`RecorderLayer`](crate::RecorderLayer) | no URL in any field |
//! | `tower-resilience` retry and time limiter | [`ClientStack`](crate::ClientStack) | errors keep their type; only what is safe is repeated |
//! | `tower-resilience` circuit breaker, rate limiter | keep it | map its error to [`Refused`](crate::Refused) |
//!
//! # What others do by themselves
//!
//! An attempt is one call of the client. What the client does below that is not seen here:
//!
//! - hyper-util's pooled client sends a request again when the connection that it was queued on closed
//!   before the request was written. That is safe; switch it off with `retry_canceled_requests(false)`.
//! - reqwest follows redirects and repeats some failures below us, and has timeouts of its own. Let one
//!   side do each: see the example `reqwest_client`.
//! - tonic's channel reconnects by itself, and sends no request twice.
//!
//! # What is never printed
//!
//! A header's value, a query, userinfo; a host nowhere but in `{:#}` of an endpoint, in a payload's
//! `endpoint` and as the target of `CONNECT`. Request secrets that a server echoes are removed from its
//! text, and so is what looks like a credential.
//!
//! # What you must still watch
//!
//! - The errors of other libraries, reachable through `source()`, may print URLs. Print the line instead.
//! - Your own `TraceLayer`, and logging at DEBUG in other crates, may print URLs and headers.
//! - A path can carry secrets that look like ordinary words: name the route instead
//!   ([`DiagnoseLayer::path_with`](crate::DiagnoseLayer::path_with)).
//! - A server may put personal data into its message. The message is shown.
//! - What a layer inside of the stack adds to a request, the token of a login say, is not seen here: it is
//!   removed from a message where it looks like a credential, but not by its value.
//! - The pages of [`RecentCalls`](crate::RecentCalls) show everybody's calls: mount them where strangers
//!   cannot look.
//! - What you tell a [`RespondLayer`](crate::RespondLayer) to say, and the reason of a
//!   [`Refused`](crate::Refused), goes to strangers as it is.
//!
//! # Versions
//!
//! Semantic versioning. Names, the grammar of the line and the keys of records and payloads are stable;
//! hints, causes' phrases and error texts are not, and nobody should match on them. Raising the minimum
//! Rust version is a minor version.
//!
//! [`ServiceBuilder`]: https://docs.rs/tower/latest/tower/struct.ServiceBuilder.html
