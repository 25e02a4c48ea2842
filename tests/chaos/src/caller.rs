//! Makes one call, as a user would, and holds what comes against what the client gave.

use std::{pin::Pin, sync::Arc, time::Duration};

use http::{Request, Response};
use http_body::Body;
use http_body_util::BodyExt;
use hyper_util::client::legacy::Client;
use tokio::time::{Instant, sleep, timeout};
use tower::{Service, ServiceExt};
use tower_diagnose::{
    Diagnosed, Diagnosis, ReplayBody, ResponseExt, Retried, RetryError, find, stack::ClientService,
};

use crate::{
    body::PlannedBody,
    connector::Connector,
    tap::{CallLog, Head, Origin, Piece, Seen, Tap, What},
};

/// The client under test.
pub type Stack = ClientService<Tap<Client<Connector, ReplayBody<PlannedBody>>>>;

/// How a call went, for the caller.
#[derive(Clone, Debug)]
pub struct Told {
    pub end: End,
    /// From the call to the head, or to the error.
    pub took: Duration,
    pub diagnosis: Option<Diagnosis>,
    pub retried: Option<Retried>,
    /// How the caller was done with the body.
    pub body: Option<What>,
}

/// What the caller was given.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// Nothing: it did not wait.
    Cancelled,
    Answered(Head),
    /// An error that a status was made into.
    Status(Head),
    Failed,
}

/// Makes the call of `log`.
pub async fn make(mut stack: Stack, log: &Arc<CallLog>) -> Told {
    let caller = log.plan.caller;
    let mut request = log.plan.request();
    request.extensions_mut().insert(Arc::clone(log));
    if let Err(error) = ready(&mut stack).await {
        log.fault(format!("not ready: {error}"));
    }
    let began = Instant::now();
    let call = stack.call(request);
    let result = match caller.patience {
        None => call.await,
        Some(patience) => match timeout(patience, call).await {
            Ok(result) => result,
            Err(_) => {
                return Told {
                    end: End::Cancelled,
                    took: began.elapsed(),
                    diagnosis: None,
                    retried: None,
                    body: None,
                };
            }
        },
    };
    let took = began.elapsed();
    match result {
        Ok(response) => answered(response, log, took).await,
        Err(error) => failed(&error, log, took),
    }
}

async fn ready(stack: &mut Stack) -> Result<(), Diagnosed> {
    ServiceExt::<Request<PlannedBody>>::ready(stack).await?;
    Ok(())
}

async fn answered<B>(response: Response<B>, log: &CallLog, took: Duration) -> Told
where
    B: Body<Data = bytes::Bytes> + Unpin,
    B::Error: std::fmt::Debug,
{
    let attempts = log.attempts();
    let head = Head::of(&response);
    let origin = response.extensions().get::<Origin>().map(|origin| origin.0);
    match origin.and_then(|origin| attempts.get(origin)) {
        Some(attempt) => {
            if !matches!(&attempt.result, Seen::Answered(given) if *given == head) {
                log.fault(format!("the head is not the one that came: {head:?}"));
            }
        }
        None => log.fault("the extensions of the response are lost".to_owned()),
    }
    let diagnosis = response.diagnosis().cloned();
    let retried = response.retried();
    let body = read(response.into_body(), log, origin.unwrap_or_default()).await;
    Told {
        end: End::Answered(head),
        took,
        diagnosis,
        retried,
        body,
    }
}

/// Reads as much of a body as the caller wants, and compares it with what came from the wire. Returns
/// the last it saw.
async fn read<B>(mut body: B, log: &CallLog, origin: usize) -> Option<What>
where
    B: Body<Data = bytes::Bytes> + Unpin,
{
    let caller = log.plan.caller;
    if !caller.reads_after.is_zero() {
        sleep(caller.reads_after).await;
    }
    let (mut pieces, mut bytes) = (Vec::new(), 0);
    while bytes < caller.reads {
        // As they are when the frame comes, not when one began to wait for it.
        let before = |body: &B| (body.is_end_stream(), body.size_hint());
        let mut said = before(&body);
        let next = std::future::poll_fn(|cx| {
            said = before(&body);
            Pin::new(&mut body).poll_frame(cx)
        });
        let Ok(item) = timeout(caller.frame_limit, next).await else {
            break;
        };
        let what = What::of(&item);
        if let What::Data(length, _) = what {
            bytes += length;
        }
        let is_over = !matches!(item, Some(Ok(_)));
        pieces.push(Piece {
            is_end_stream: said.0,
            lower: said.1.lower(),
            upper: said.1.upper(),
            what,
        });
        if is_over {
            // What is over stays over.
            if body.frame().await.is_some() {
                log.fault("a body went on after its end".to_owned());
            }
            break;
        }
    }
    let attempts = log.attempts();
    let given = attempts
        .get(origin)
        .map_or(&[][..], |attempt| &attempt.body);
    if !given.starts_with(&pieces) {
        let at = pieces
            .iter()
            .zip(given)
            .position(|(got, given)| got != given);
        let at = at.unwrap_or(given.len());
        log.fault(format!(
            "the body differs at frame {at}: got {:?}, the client gave {:?}",
            pieces.get(at),
            given.get(at),
        ));
    }
    pieces.pop().map(|piece| piece.what)
}

fn failed(error: &Diagnosed, log: &CallLog, took: Duration) -> Told {
    let diagnosis = error.diagnosis().clone();
    let end = match error.response() {
        None => End::Failed,
        Some(parts) => {
            let head = Head {
                status: parts.status,
                version: parts.version,
                headers: parts.headers.clone(),
            };
            let attempts = log.attempts();
            let origin = parts.extensions.get::<Origin>().map(|origin| origin.0);
            let attempt = origin.and_then(|origin| attempts.get(origin));
            let is_same = attempt.is_some_and(
                |attempt| matches!(&attempt.result, Seen::Answered(given) if *given == head),
            );
            if !is_same {
                log.fault("the error's head is not the one that came".to_owned());
            }
            End::Status(head)
        }
    };
    let retried = match error.response() {
        Some(parts) => parts.extensions.get().copied(),
        None => find::<RetryError>(error).map(RetryError::retried),
    };
    Told {
        end,
        took,
        diagnosis: Some(diagnosis),
        retried,
        body: None,
    }
}
