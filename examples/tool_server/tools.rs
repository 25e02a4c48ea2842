//! The tools that an agent may call.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, header::CONTENT_TYPE};
use http_body_util::{BodyExt, Full};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde_json::{Value, json};
use tower::{BoxError, ServiceBuilder, ServiceExt};
use tower_diagnose::{
    ClientStack, DiagnoseLayer, Idempotency, Payload, Protocol, ResponseExt, require_full_uuid,
    stack::ClientService,
};

use crate::{
    breaker::{Breaker, BreakerLayer},
    session::{InSession, SessionLayer},
};

type Http = Client<HttpConnector, Full<Bytes>>;

#[derive(Clone)]
pub(crate) struct Tools {
    api: ClientService<Breaker<InSession<Http>>>,
    url: String,
}

impl Tools {
    pub(crate) fn new(base: &str, token: &str) -> Result<Self, BoxError> {
        let http: Http = Client::builder(TokioExecutor::new()).build_http();
        let session = SessionLayer::new(token, format!("{base}/login"))?;
        let stack = ClientStack::new(Duration::from_secs(10))
            .attempt_timeout(Duration::from_secs(2))
            // Failures of JSON-RPC come with status 200.
            .diagnose(DiagnoseLayer::new().inspect(Protocol::JsonRpc));
        // One attempt is: is the circuit closed, send, and where the session has ended log in, send again.
        let api = ServiceBuilder::new()
            .layer(stack)
            .layer(BreakerLayer::new(3, Duration::from_secs(1)))
            .layer(session)
            .service(http);
        Ok(Self {
            api,
            url: format!("{base}/rpc"),
        })
    }

    /// Calls a tool. What fails is what the agent is to read.
    pub(crate) async fn call(&self, tool: &str, arguments: &Value) -> Result<Value, Value> {
        // Every operation that takes an id checks it here, before anything is sent.
        let id = || {
            let id = arguments["commentId"].as_str().unwrap_or_default();
            match require_full_uuid(tool, "commentId", id) {
                Ok(()) => Ok(json!({ "id": id })),
                Err(error) => Err(json!(Payload::from(&error))),
            }
        };
        let (method, idempotency, params) = match tool {
            "get_comment" => ("comments.get", Idempotency::Safe, id()?),
            "resolve_comment" => ("comments.resolve", Idempotency::Idempotent, id()?),
            "delete_comment" => ("comments.delete", Idempotency::Idempotent, id()?),
            "reply_to_comment" => ("comments.create", Idempotency::NotIdempotent, id()?),
            "list_comments" => ("comments.list", Idempotency::Safe, json!({})),
            "export_comments" => ("comments.export", Idempotency::Safe, json!({})),
            _ => return Err(json!({ "error": "client", "tool": tool, "message": "no such tool" })),
        };
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let request = Request::post(&self.url)
            .header(CONTENT_TYPE, "application/json")
            .extension(idempotency)
            .body(Full::new(Bytes::from(request.to_string())))
            .map_err(|_| json!({ "error": "client", "tool": tool, "message": "no such server" }))?;

        let answer = self.api.clone().oneshot(request).await;
        let response = answer.map_err(|error| json!(error.diagnosis().payload(tool)))?;
        if let Some(diagnosis) = response.diagnosis() {
            return Err(json!(diagnosis.payload(tool)));
        }
        let broken =
            || json!({ "error": "network", "tool": tool, "message": "the answer broke off" });
        let body = response.into_body().collect().await.map_err(|_| broken())?;
        let mut body: Value = serde_json::from_slice(&body.to_bytes()).map_err(|_| broken())?;
        Ok(body["result"].take())
    }
}
