//! What is held while a call is under way, if anything.

use http::{Extensions, Request};

use super::{connection::ConnectionWatch, operation::Operation, replay::ReplayBody, spare::Spare};
use crate::call::CallRecorder;

/// What a call holds on to, for later attempts and for whoever wants to know of them.
pub(super) struct Held<B> {
    pub(super) spare: Spare<B>,
    /// The request's, copied if it had any beside the recorder, which is put back apart.
    pub(super) extensions: Extensions,
    pub(super) recorder: Option<CallRecorder>,
    pub(super) connection: Option<ConnectionWatch>,
}

impl<B> Held<B> {
    fn next_request(&self) -> Option<Request<ReplayBody<B>>> {
        let mut request = self.spare.request()?;
        if !self.extensions.is_empty() {
            *request.extensions_mut() = self.extensions.clone();
        }
        if let Some(recorder) = &self.recorder {
            request.extensions_mut().insert(recorder.clone());
        }
        Some(request)
    }
}

impl<B> Operation<B> {
    /// Makes the request of the next attempt, unless it cannot be made after all.
    pub(super) fn next_request(&self) -> Option<Request<ReplayBody<B>>> {
        self.held.as_ref()?.next_request()
    }

    pub(super) fn spare(&self) -> &Spare<B> {
        match &self.held {
            Some(held) => &held.spare,
            None => &Spare::Nothing,
        }
    }

    pub(super) fn recorder(&self) -> Option<&CallRecorder> {
        self.held.as_ref()?.recorder.as_ref()
    }

    pub(super) fn connection(&self) -> Option<&ConnectionWatch> {
        self.held.as_ref()?.connection.as_ref()
    }
}
