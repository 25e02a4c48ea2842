use std::sync::Arc;

use tonic::{Code, Status};

use crate::{
    class::{ErrorClass, FaultDomain},
    diagnosis::{Diagnosed, Diagnosis},
    error::find,
};

/// The line becomes the message, the class the code, and the error the source: `find::<Diagnosed>` gets
/// it back. A status in the head of an answer that was made an error keeps its code, details and metadata;
/// one that the failure holds already keeps its message, too.
impl From<Diagnosed> for Status {
    fn from(error: Diagnosed) -> Self {
        let mut status = match find::<Self>(&error) {
            Some(held) => Self::with_details_and_metadata(
                held.code(),
                held.message(),
                held.details().to_vec().into(),
                held.metadata().clone(),
            ),
            None => answered(&error)
                .unwrap_or_else(|| Self::new(code(error.diagnosis()), error.to_string())),
        };
        status.set_source(Arc::new(error));
        status
    }
}

/// Returns the failing status in the head of an answer that was made an error, with the line for message.
fn answered(error: &Diagnosed) -> Option<Status> {
    let status = Status::from_header_map(&error.response()?.headers)?;
    (status.code() != Code::Ok).then(|| {
        Status::with_details_and_metadata(
            status.code(),
            error.to_string(),
            status.details().to_vec().into(),
            status.metadata().clone(),
        )
    })
}

/// Returns the [status code](https://grpc.io/docs/guides/status-codes/) for a failure without one.
fn code(diagnosis: &Diagnosis) -> Code {
    match diagnosis.class() {
        ErrorClass::Timeout => Code::DeadlineExceeded,
        ErrorClass::Network => Code::Unavailable,
        ErrorClass::Cancelled => Code::Cancelled,
        ErrorClass::Auth if diagnosis.status() == Some(http::StatusCode::FORBIDDEN) => {
            Code::PermissionDenied
        }
        ErrorClass::Auth => Code::Unauthenticated,
        ErrorClass::ProxyPolicy if diagnosis.domain() == FaultDomain::Client => {
            Code::InvalidArgument
        }
        // Our own side is full or has its breaker open, and nothing was sent: try later.
        ErrorClass::ProxyPolicy => Code::Unavailable,
        ErrorClass::ProxyInternal => Code::Internal,
        // The table for answers that are none of gRPC:
        // https://github.com/grpc/grpc/blob/master/doc/http-grpc-status-mapping.md
        _ => match diagnosis.status().map(|status| status.as_u16()) {
            Some(400) => Code::Internal,
            Some(404) => Code::Unimplemented,
            Some(429 | 502 | 503 | 504) => Code::Unavailable,
            _ => Code::Unknown,
        },
    }
}
