//! The proxy: callers in front, one upstream behind, a stack on either side.

use std::time::Duration;

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    response::Response,
    routing::get,
};
use http::{
    HeaderMap, HeaderValue, StatusCode, Uri,
    header::{self, HeaderName},
    uri::Authority,
};
use hyper::upgrade::OnUpgrade;
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioIo, TokioTimer},
};
use tower::{Layer, ServiceExt};
use tower_diagnose::{
    ClientStack, RecordSink, ReplayBody, Respond, RespondLayer, ServerStack, stack::ClientService,
};

/// How long the upstream may take for one attempt, and for all of them.
const ATTEMPT: Duration = Duration::from_millis(300);
const TOTAL: Duration = Duration::from_secs(1);
/// Longer than the upstream may take: what runs out of this is our own fault.
const OURS: Duration = Duration::from_secs(2);

type Http = Client<HttpConnector, ReplayBody<Body>>;

#[derive(Clone)]
struct Proxy {
    upstream: Authority,
    client: Respond<ClientService<Http>>,
}

/// Passes everything on to `upstream`, but for a route of its own. `front` gets the records of its callers'
/// calls, `back` those of its own calls of the upstream.
pub(crate) fn proxy(upstream: Authority, front: impl RecordSink, back: impl RecordSink) -> Router {
    let http = Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(Duration::from_secs(5))
        .build_http();
    let stack = ClientStack::new(TOTAL)
        .attempt_timeout(ATTEMPT)
        .record(back);
    let client = RespondLayer::new().layer(stack.layer(http));
    Router::new()
        .route("/own", get(async || StatusCode::INTERNAL_SERVER_ERROR))
        .fallback(forward)
        .with_state(Proxy { upstream, client })
        // It keeps a diagnosis that it finds: what the client stack says of the upstream.
        .layer(ServerStack::new(OURS).record(front))
}

async fn forward(State(proxy): State<Proxy>, mut request: Request) -> Response {
    let mut target = std::mem::take(request.uri_mut()).into_parts();
    target.scheme = Some(http::uri::Scheme::HTTP);
    target.authority = Some(proxy.upstream);
    let Ok(uri) = Uri::from_parts(target) else {
        // `OPTIONS *` and the like have no path.
        return answer(StatusCode::BAD_REQUEST);
    };
    *request.uri_mut() = uri;
    *request.version_mut() = http::Version::HTTP_11;
    let upgrade = wanted_upgrade(request.headers());
    let callers_end = upgrade.is_some().then(|| hyper::upgrade::on(&mut request));
    strip(request.headers_mut(), upgrade.as_ref());
    request.headers_mut().remove(header::HOST);

    // Whatever becomes of it, there is a response: an answer of the upstream's, or a problem.
    let Ok(mut response) = proxy.client.oneshot(request).await;
    let is_upgraded = response.status() == StatusCode::SWITCHING_PROTOCOLS;
    if let (true, Some(callers_end)) = (is_upgraded, callers_end) {
        let upstreams_end = hyper::upgrade::on(&mut response);
        tokio::spawn(tunnel(callers_end, upstreams_end));
    }
    strip(
        response.headers_mut(),
        upgrade.as_ref().filter(|_| is_upgraded),
    );
    response.map(Body::new)
}

fn answer(status: StatusCode) -> Response {
    let mut response = Response::default();
    *response.status_mut() = status;
    response
}

/// Copies bytes both ways until either side has ended.
async fn tunnel(callers_end: OnUpgrade, upstreams_end: OnUpgrade) {
    if let (Ok(caller), Ok(upstream)) = tokio::join!(callers_end, upstreams_end) {
        let (mut caller, mut upstream) = (TokioIo::new(caller), TokioIo::new(upstream));
        // That one of them went is how a tunnel ends.
        let _ = tokio::io::copy_bidirectional(&mut caller, &mut upstream).await;
    }
}

/// Returns what the caller wants to speak from here on, if not HTTP.
fn wanted_upgrade(headers: &HeaderMap) -> Option<HeaderValue> {
    names_in_connection(headers)
        .any(|name| name == header::UPGRADE)
        .then(|| headers.get(header::UPGRADE).cloned())?
}

/// Removes what is meant for one connection only (RFC 9110 section 7.6.1), except an upgrade.
fn strip(headers: &mut HeaderMap, upgrade: Option<&HeaderValue>) {
    const OF_ONE_CONNECTION: [HeaderName; 6] = [
        header::CONNECTION,
        HeaderName::from_static("keep-alive"),
        HeaderName::from_static("proxy-connection"),
        header::TE,
        header::TRANSFER_ENCODING,
        header::UPGRADE,
    ];
    let named: Vec<_> = names_in_connection(headers).collect();
    for name in OF_ONE_CONNECTION.iter().chain(&named) {
        headers.remove(name);
    }
    if let Some(protocol) = upgrade {
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(header::UPGRADE, protocol.clone());
    }
}

fn names_in_connection(headers: &HeaderMap) -> impl Iterator<Item = HeaderName> {
    headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
}
