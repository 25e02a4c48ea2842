//! What an error says about the way to the server: read once here, for class, cause and delivery.
//!
//! The evidence is types, kinds and predicates, as hyper 1.12, hyper-util 0.1 and h2 0.4 raise them
//! over real sockets. No text is read.

use std::{error::Error, fmt, io, time::Duration};

use hyper_util::client::legacy;
use tower::load_shed::error::Overloaded;

use crate::{
    argument::InvalidArgument,
    error::{BoxError, Refused, TimeoutError, chain, find, is_timeout, is_timer, own},
};

/// What failed, in the order in which it is looked for.
#[derive(Debug)]
pub(crate) enum Failure<'a> {
    /// A service of ours had no room.
    Overloaded,
    /// A guard of the user refused.
    Refused(&'a Refused),
    /// An argument could not be right.
    InvalidArgument(&'a InvalidArgument),
    /// The request's own body failed, or was shorter than it said.
    RequestBody,
    /// A limit of time ran out.
    TimedOut(Limit),
    /// The client would not even try: no absolute URI, a scheme or a method it cannot do.
    InvalidRequest,
    /// The connection could not be made, or broke.
    Network(Fault),
    /// Nothing that we know.
    Unknown,
}

/// Which limit of time ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// One of ours, which is known.
    Known(Duration),
    /// One of somebody else's layers.
    Unknown,
    /// The system's.
    System,
}

/// How the network failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The system or the resolver has a name for it.
    Code(&'static str),
    /// The connection ended where an answer was due.
    Closed,
    /// No TLS session came about.
    Tls,
    /// The server turned the stream away unprocessed.
    StreamRefused,
    /// What came is not HTTP.
    InvalidResponse,
    /// A transport failed in some other way.
    Other,
}

/// Returns what `error` says; the first that holds, in the order of [`Failure`].
pub(crate) fn read<'a>(error: &'a (dyn Error + 'static)) -> Failure<'a> {
    if find::<Overloaded>(error).is_some() {
        Failure::Overloaded
    } else if let Some(refused) = find(error) {
        Failure::Refused(refused)
    } else if let Some(argument) = find(error) {
        Failure::InvalidArgument(argument)
    } else if until_left_behind(error).any(is_request_body) {
        Failure::RequestBody
    } else if is_timeout(error) {
        Failure::TimedOut(limit(error))
    } else if is_invalid_request(error) {
        Failure::InvalidRequest
    } else {
        fault(error).map_or(Failure::Unknown, Failure::Network)
    }
}

/// Returns whether this level of a chain says that the request's body failed.
///
/// Over HTTP/1 hyper raises a user error. Over HTTP/2 it resets the stream and all that is left is
/// that the reset came neither from the server nor from h2 itself.
pub(crate) fn is_request_body(error: &(dyn Error + 'static)) -> bool {
    if let Some(error) = own::<hyper::Error>(error) {
        return error.is_user() && (error.is_body_write_aborted() || error.source().is_some());
    }
    own::<h2::Error>(error)
        .is_some_and(|error| error.is_reset() && !error.is_remote() && !error.is_library())
}

/// A request that its connection left behind: one, say, that waited for its turn on an HTTP/2
/// connection which then broke.
///
/// hyper raises the same kind of error as when the request's body fails, with a bare text below, and
/// nothing but that text tells them apart. A [`BodyFailure`] is never a bare text, so whoever marks the
/// failures of a body knows that this is none. It reads as the error that it holds, which is its
/// `source()`.
#[derive(Debug)]
pub(crate) struct LeftBehind(BoxError);

impl LeftBehind {
    /// Marks the error of a request whose body did not fail, if that is what it speaks of: a user's error
    /// with a bare text below.
    pub(crate) fn explain(error: BoxError) -> BoxError {
        let speaks_of_body = find::<hyper::Error>(&*error).is_some_and(|error| {
            error.is_user()
                && !error.is_body_write_aborted()
                && error.source().is_some_and(is_bare_text)
        });
        match speaks_of_body {
            true => Box::new(Self(error)),
            false => error,
        }
    }
}

/// The failure of a caller's body, where it would look like a bare text. It reads as the error that it
/// holds, which is its `source()`.
#[derive(Debug)]
pub(crate) struct BodyFailure(BoxError);

impl BodyFailure {
    /// Marks the failure of a body, unless its shape is enough.
    pub(crate) fn mark(error: BoxError) -> BoxError {
        match is_bare_text(&*error) {
            true => Box::new(Self(error)),
            false => error,
        }
    }
}

/// Returns whether an error can be the one that std makes of a text. Its type has no name; it is a
/// `String` and nothing below.
fn is_bare_text(error: &(dyn Error + 'static)) -> bool {
    size_of_val(error) == size_of::<String>() && error.source().is_none()
}

impl fmt::Display for BodyFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for BodyFailure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0)
    }
}

impl fmt::Display for LeftBehind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for LeftBehind {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0)
    }
}

/// Walks a chain up to where somebody knows better than what stands below.
fn until_left_behind<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    chain(error).take_while(|error| own::<LeftBehind>(*error).is_none())
}

/// Returns whether this level of a chain is hyper's refusal of what it was asked for.
fn is_user_refusal(error: &hyper::Error) -> bool {
    error.is_user() && !error.is_body_write_aborted() && error.source().is_none()
}

/// Returns whether this level of a chain is a stream that the server provably did not process.
pub(crate) fn is_refused_stream(error: &h2::Error) -> bool {
    // h2 raises a remote GOAWAY only on streams above the last one that the server promised to
    // process, whatever its code.
    error.is_remote() && (error.is_go_away() || error.reason() == Some(h2::Reason::REFUSED_STREAM))
}

/// Returns whether an error is a GOAWAY of the server's.
pub(crate) fn is_goaway(error: &(dyn Error + 'static)) -> bool {
    find::<h2::Error>(error).is_some_and(|error| error.is_remote() && error.is_go_away())
}

fn limit(error: &(dyn Error + 'static)) -> Limit {
    if let Some(error) = find::<TimeoutError>(error) {
        return Limit::Known(error.limit());
    }
    if chain(error).any(is_timer) {
        Limit::Unknown
    } else {
        Limit::System
    }
}

fn is_invalid_request(error: &(dyn Error + 'static)) -> bool {
    chain(error).any(|error| {
        is_unsendable(error)
            || own::<legacy::Error>(error)
                .is_some_and(|error| error.is_connect() && error.source().is_some_and(is_bare))
    })
}

/// Returns whether this level of a chain is a client's refusal of what it was asked for, other than
/// a connector's.
pub(crate) fn is_unsendable(error: &(dyn Error + 'static)) -> bool {
    #[cfg(feature = "reqwest")]
    if own::<reqwest::Error>(error).is_some_and(reqwest::Error::is_builder) {
        return true;
    }
    own::<legacy::Error>(error).is_some_and(|error| !error.is_connect() && error.source().is_none())
        || own::<hyper::Error>(error).is_some_and(is_user_refusal)
}

/// Returns whether this level of a chain is a connection that never came about.
pub(crate) fn is_connect(error: &(dyn Error + 'static)) -> bool {
    #[cfg(feature = "tonic")]
    if own::<tonic::ConnectError>(error).is_some() {
        return true;
    }
    own::<legacy::Error>(error).is_some_and(legacy::Error::is_connect)
}

/// Returns the code of gRPC that an error carries.
pub(crate) fn grpc_status(error: &(dyn Error + 'static)) -> Option<u32> {
    #[cfg(feature = "tonic")]
    return find::<tonic::Status>(error)
        .and_then(|status| u32::try_from(i32::from(status.code())).ok());
    #[cfg(not(feature = "tonic"))]
    {
        let _ = error;
        None
    }
}

/// Returns whether a connector gave an error without a cause: it did not like the URI. What tried
/// and failed holds an `io::Error` or something deeper.
fn is_bare(error: &(dyn Error + 'static)) -> bool {
    chain(error).nth(1).is_none()
        && own::<io::Error>(error).is_none()
        // Of requests that wait for one HTTP/2 connection, one learns why it failed; the others get
        // this.
        && own::<legacy::pool::Error>(error).is_none()
}

/// Returns how the network failed, if it did: what the innermost level that can tell says.
fn fault(error: &(dyn Error + 'static)) -> Option<Fault> {
    let mut found = None;
    let mut place = Place::Anywhere;
    for error in chain(error) {
        let here = if own::<LeftBehind>(error).is_some() {
            Some(Fault::Closed)
        } else if is_connect(error) {
            place = Place::Connect;
            Some(Fault::Other)
        } else if own::<legacy::Error>(error).is_some() {
            place = Place::Exchange;
            Some(Fault::Other)
        } else if let Some(error) = own::<hyper::Error>(error) {
            if place == Place::Anywhere {
                place = Place::Exchange;
            }
            Some(of_hyper(error))
        } else if let Some(error) = own::<h2::Error>(error) {
            if place == Place::Anywhere {
                place = Place::Exchange;
            }
            Some(of_h2(error))
        } else if let Some(error) = own::<io::Error>(error) {
            of_io(error, place)
        } else {
            None
        };
        match here {
            Some(Fault::Other) => found = found.or(here),
            Some(_) => found = here,
            None => {}
        }
    }
    found
}

/// Where in a chain we are: below what.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Anywhere,
    Connect,
    Exchange,
}

fn of_hyper(error: &hyper::Error) -> Fault {
    if error.is_parse() {
        Fault::InvalidResponse
    } else if error.is_incomplete_message() || error.is_closed() || error.is_canceled() {
        Fault::Closed
    } else if error.source().is_none() {
        // The one kind without predicate and cause: bytes came that nobody asked for.
        Fault::InvalidResponse
    } else {
        Fault::Other
    }
}

fn of_h2(error: &h2::Error) -> Fault {
    if is_refused_stream(error) {
        Fault::StreamRefused
    } else if error.is_library() {
        Fault::InvalidResponse
    } else {
        Fault::Other
    }
}

fn of_io(error: &io::Error, place: Place) -> Option<Fault> {
    if let Some(code) = code(error.kind()) {
        return Some(Fault::Code(code));
    }
    match (error.kind(), place) {
        // Only TLS reads before there is a connection to hand out.
        (io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof, Place::Connect) => {
            Some(Fault::Tls)
        }
        // In TLS 1.3 a server refuses a client's certificate when the client has shaken hands
        // already: what is left of it is an alert where an answer was due.
        (io::ErrorKind::InvalidData, Place::Exchange) => Some(Fault::Tls),
        (io::ErrorKind::UnexpectedEof, _) => Some(Fault::Closed),
        (_, Place::Connect) if is_unresolved(error) => Some(Fault::Code("ENOTFOUND")),
        (_, Place::Connect | Place::Exchange) => Some(Fault::Other),
        (_, Place::Anywhere) => None,
    }
}

/// Returns the POSIX name of what only a network can do.
fn code(kind: io::ErrorKind) -> Option<&'static str> {
    Some(match kind {
        io::ErrorKind::ConnectionRefused => "ECONNREFUSED",
        io::ErrorKind::ConnectionReset => "ECONNRESET",
        io::ErrorKind::ConnectionAborted => "ECONNABORTED",
        io::ErrorKind::BrokenPipe => "EPIPE",
        io::ErrorKind::TimedOut => "ETIMEDOUT",
        io::ErrorKind::HostUnreachable => "EHOSTUNREACH",
        io::ErrorKind::NetworkUnreachable => "ENETUNREACH",
        io::ErrorKind::NetworkDown => "ENETDOWN",
        io::ErrorKind::AddrNotAvailable => "EADDRNOTAVAIL",
        io::ErrorKind::NotConnected => "ENOTCONN",
        _ => return None,
    })
}

/// The resolver's failure has no code, and the kind that std gives to what it cannot name.
fn is_unresolved(error: &io::Error) -> bool {
    error.raw_os_error().is_none() && error.kind() == io::Error::from_raw_os_error(i32::MAX).kind()
}

#[cfg(test)]
#[path = "../tests/unit/transport/mod.rs"]
mod tests;
