//! Secrets out of texts.

use std::borrow::Cow;

use http::Uri;

use crate::{
    address::Address, harmless::is_harmless, path::REDACTED, redact_needles::Needles,
    redact_pass::Pass, secrets::Secrets,
};

/// How often a text is looked at again that was changed.
const ROUNDS: usize = 4;

/// Returns `text` without secrets, each replaced by `[redacted]`.
///
/// What goes: what this request sent (the credentials in `secrets`; the query's values, the userinfo
/// and the secret segments of the path of `uri`), as whole tokens of 8 or more characters, raw,
/// percent-decoded and as JSON escapes them; what looks like a credential ([`secret_shape`](crate::secret_shape)); the values of
/// JSON members and parameters that are called `password`, `token` and the like, or that echo the
/// request; and of every URL or reference the userinfo, the query and the fragment.
///
/// Linear in the length of the text. Nothing is allocated if nothing is found. Scrubbing twice is
/// scrubbing once.
pub(crate) fn scrub<'a>(text: &'a str, secrets: &Secrets, uri: Option<&Uri>) -> Cow<'a, str> {
    let address = uri.map(Address::of).unwrap_or_default();
    Scrubber::new(secrets, address).scrub(text)
}

/// What [`scrub`] needs to know of a request, prepared once for several texts.
#[derive(Default)]
pub(crate) struct Scrubber<'s> {
    /// What the request sent, if it sent anything that its answer could echo.
    needles: Option<Needles<'s>>,
    hides_all: bool,
}

impl<'s> Scrubber<'s> {
    #[inline]
    pub(crate) fn new(secrets: &'s Secrets, address: Address<'s>) -> Self {
        Self {
            needles: Needles::of(secrets, address),
            hides_all: secrets.is_over_cap(),
        }
    }

    /// Expects texts that were cut somewhere: what may be the beginning of a secret goes from their end.
    pub(crate) fn of_cut_texts(mut self) -> Self {
        if let Some(needles) = &mut self.needles {
            needles.expect_cut();
        }
        self
    }

    /// Returns whether anything that the request sent may be echoed in `bytes`.
    #[inline]
    pub(crate) fn may_find_in(&self, bytes: &[u8]) -> bool {
        let needles = self.needles.as_ref();
        self.hides_all || needles.is_some_and(|needles| needles.may_stand_in(bytes))
    }

    /// Returns whether `text` is on one line and nothing in it can be a secret, as is told of most by a
    /// look at each byte.
    #[inline]
    pub(crate) fn is_harmless(&self, text: &str) -> bool {
        is_harmless(text) && !self.may_find_in(text.as_bytes())
    }

    /// Returns `text` without secrets: see [`scrub`].
    pub(crate) fn scrub<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.hides_all && !text.is_empty() {
            return Cow::Borrowed(REDACTED);
        }
        let none = Needles::NONE;
        let needles = self.needles.as_ref().unwrap_or(&none);
        let mut shown = Pass::new(needles, text).run();
        // What stood apart may have come together, and look like a secret now. Nearly always once is enough.
        for _ in 0..ROUNDS {
            let Cow::Owned(changed) = &shown else { break };
            match Pass::new(needles, changed).run() {
                Cow::Borrowed(_) => break,
                Cow::Owned(text) => shown = Cow::Owned(text),
            }
        }
        shown
    }
}

#[cfg(test)]
#[path = "../tests/unit/redact.rs"]
mod tests;
