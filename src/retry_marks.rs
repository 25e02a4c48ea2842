//! The headers of a request that say whether it may be sent again.

use http::{HeaderMap, HeaderName, header::EXPECT};

/// Which of those headers a request has. Asked for on every call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// `Expect`: the caller waits for an interim answer.
    pub(crate) expects: bool,
    /// `Idempotency-Key`: a write is safe to repeat.
    pub(crate) has_idempotency_key: bool,
}

impl Marks {
    /// Looks at the name of each header once. Up to some 15 headers that is cheaper than to hash two
    /// names.
    #[inline]
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        if headers.is_empty() {
            Self::default()
        } else {
            Self::seen(headers)
        }
    }

    #[inline(never)]
    fn seen(headers: &HeaderMap) -> Self {
        let mut marks = Self::default();
        for name in headers.keys() {
            if *name == EXPECT {
                marks.expects = true;
            } else if *name == IDEMPOTENCY_KEY {
                marks.has_idempotency_key = names_something(headers);
            }
        }
        marks
    }
}

/// An empty key, as an unset variable makes it, lets no server tell a repetition from a second call.
#[cold]
fn names_something(headers: &HeaderMap) -> bool {
    let key = headers.get(&IDEMPOTENCY_KEY);
    key.is_some_and(|key| !key.as_bytes().trim_ascii().is_empty())
}

static IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn are_found_among_others() {
        let one = HeaderValue::from_static("1");
        for others in [0, 1, 100] {
            let mut headers: HeaderMap = (0..others)
                .map(|number| {
                    let name = HeaderName::try_from(format!("x-idempotency-key{number}"));
                    (name.unwrap(), one.clone())
                })
                .collect();
            assert_eq!(Marks::of(&headers), Marks::default());
            headers.append(EXPECT, one.clone());
            headers.append("Idempotency-Key", one.clone());
            let both = Marks {
                expects: true,
                has_idempotency_key: true,
            };
            assert_eq!(Marks::of(&headers), both);
        }
    }
}
