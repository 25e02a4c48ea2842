//! How long a request's body is, as far as that shows before it is sent.

use std::any::Any;

use bytes::Bytes;
use http::{HeaderMap, header::CONTENT_LENGTH};
use http_body::Body;
use http_body_util::{Empty, Full};

/// Returns the length that the request declares, or that its body knows if it is of a kind that we
/// know: the recorder takes any body at all, and cannot ask it.
pub(super) fn bytes_out<B: 'static>(headers: &HeaderMap, body: &B) -> Option<u64> {
    known(body).or_else(|| {
        if headers.is_empty() {
            return None;
        }
        headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
    })
}

fn known(body: &dyn Any) -> Option<u64> {
    if body.is::<()>() {
        return Some(0);
    }
    length_of::<Full<Bytes>>(body)
        .or_else(|| length_of::<Empty<Bytes>>(body))
        .or_else(|| length_of::<String>(body))
        .or_else(|| length_of::<hyper::body::Incoming>(body))
        .or_else(|| length_in(body))
}

#[cfg(feature = "axum")]
fn length_in(body: &dyn Any) -> Option<u64> {
    length_of::<axum::body::Body>(body)
}

#[cfg(not(feature = "axum"))]
fn length_in(_: &dyn Any) -> Option<u64> {
    None
}

fn length_of<B: Body + 'static>(body: &dyn Any) -> Option<u64> {
    body.downcast_ref::<B>()?.size_hint().exact()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_wins_over_the_header_and_nonsense_is_nothing() {
        let header = |value: &str| {
            HeaderMap::from_iter([(CONTENT_LENGTH, value.parse().expect("a header value"))])
        };
        assert_eq!(
            bytes_out(&header("7"), &Full::new(Bytes::from("abc"))),
            Some(3)
        );
        assert_eq!(bytes_out(&header("7"), &vec![0_u8]), Some(7));
        assert_eq!(bytes_out(&header("-7"), &vec![0_u8]), None);
        assert_eq!(bytes_out(&HeaderMap::new(), &vec![0_u8]), None);
        assert_eq!(
            bytes_out(&HeaderMap::new(), &Empty::<Bytes>::new()),
            Some(0)
        );
    }
}
