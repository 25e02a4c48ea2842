//! Whether a request carries a header, asked on every call.

use http::{HeaderMap, HeaderName};

/// Up to so many headers looking at each is cheaper than hashing one name.
const FEW: usize = 16;

/// Returns whether `headers` has one of this name.
#[inline]
pub(crate) fn carries(headers: &HeaderMap, name: &HeaderName) -> bool {
    !headers.is_empty() && look_up(headers, name)
}

#[inline(never)]
fn look_up(headers: &HeaderMap, name: &HeaderName) -> bool {
    if headers.keys_len() <= FEW {
        headers.keys().any(|key| key == name)
    } else {
        headers.contains_key(name)
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn is_found_among_few_and_among_many() {
        let name = HeaderName::from_static("x-sought");
        for others in [0, 1, FEW - 1, FEW, FEW + 1, 100] {
            let mut headers: HeaderMap = (0..others)
                .map(|number| {
                    let name = HeaderName::try_from(format!("x-{number}")).unwrap();
                    (name, HeaderValue::from_static("1"))
                })
                .collect();
            assert!(!carries(&headers, &name), "{others} others");
            headers.append(&name, HeaderValue::from_static("1"));
            assert!(carries(&headers, &name), "{others} others");
        }
    }
}
