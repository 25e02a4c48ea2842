//! What a visitor asks of the recent calls.

use std::{
    str::FromStr,
    time::{Duration, SystemTime},
};

use http::StatusCode;
use serde::{Serialize, Serializer, ser::SerializeMap};

use super::filter::CallFilter;
use crate::{
    class::{ErrorClass, FaultDomain},
    text::{cut, one_line},
};

/// How many records are shown at most, and without a word about it.
const LIMIT: std::ops::RangeInclusive<usize> = 1..=1000;
const DEFAULT_LIMIT: usize = 50;

const PARAMETERS: [&str; 6] = [
    "error_class",
    "fault_domain",
    "status",
    "endpoint",
    "since",
    "limit",
];

/// A query that was understood.
#[derive(Debug)]
pub(super) struct CallsQuery {
    /// Without the limit.
    pub(super) filter: CallFilter,
    pub(super) limit: usize,
    pub(super) classes: Vec<ErrorClass>,
    pub(super) domains: Vec<FaultDomain>,
    /// The other parameters, as they came, to fill the form with.
    pub(super) others: Vec<(String, String)>,
}

/// A parameter that was not understood.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BadParameter {
    parameter: String,
    allowed: Vec<String>,
}

impl CallsQuery {
    /// Reads the parameters. Several values stand in one, with commas, or in several of one name; an
    /// empty one is as good as none, since forms send it.
    pub(super) fn of(pairs: Vec<(String, String)>, now: SystemTime) -> Result<Self, BadParameter> {
        let mut query = Self {
            filter: CallFilter::new(),
            limit: DEFAULT_LIMIT,
            classes: Vec::new(),
            domains: Vec::new(),
            others: Vec::new(),
        };
        for (name, value) in pairs {
            if !value.is_empty() {
                query.put(&name, &value, now)?;
            }
            query.others.push((name, value));
        }
        Ok(query)
    }

    fn put(&mut self, name: &str, value: &str, now: SystemTime) -> Result<(), BadParameter> {
        match name {
            "error_class" => {
                for class in list(name, value, ErrorClass::ALL)? {
                    self.narrow(|filter| filter.class(class));
                    self.classes.push(class);
                }
            }
            "fault_domain" => {
                for domain in list(name, value, FaultDomain::ALL)? {
                    self.narrow(|filter| filter.domain(domain));
                    self.domains.push(domain);
                }
            }
            "status" => {
                for status in split(value) {
                    let status = status.parse::<StatusCode>();
                    let status = status.map_err(|_| bad(name, ["a status from 100 to 999"]))?;
                    self.narrow(|filter| filter.status(status));
                }
            }
            "endpoint" => self.narrow(|filter| filter.endpoint(value)),
            "since" => {
                let since = value.parse().ok().map(Duration::from_secs);
                let since = since.and_then(|age| now.checked_sub(age));
                let since = since.ok_or_else(|| bad(name, ["an age in whole seconds"]))?;
                self.narrow(|filter| filter.since(since));
            }
            "limit" => {
                let limit = value.parse().ok().filter(|limit| LIMIT.contains(limit));
                self.limit = limit.ok_or_else(|| {
                    bad(
                        name,
                        [format!(
                            "a number from {} to {}",
                            LIMIT.start(),
                            LIMIT.end()
                        )],
                    )
                })?;
            }
            _ => return Err(bad(name, PARAMETERS)),
        }
        Ok(())
    }
}

impl CallsQuery {
    fn narrow(&mut self, narrow: impl FnOnce(CallFilter) -> CallFilter) {
        self.filter = narrow(std::mem::take(&mut self.filter));
    }
}

/// Reads a list of names.
fn list<T: FromStr + Copy + ToString>(
    name: &str,
    value: &str,
    all: &[T],
) -> Result<Vec<T>, BadParameter> {
    let parsed: Result<_, _> = split(value).map(str::parse).collect();
    parsed.map_err(|_| bad(name, all.iter().map(T::to_string)))
}

fn split(value: &str) -> impl Iterator<Item = &str> {
    let values = value.split(',').map(str::trim);
    values.filter(|value| !value.is_empty())
}

fn bad(parameter: &str, allowed: impl IntoIterator<Item = impl Into<String>>) -> BadParameter {
    // The name comes from a stranger, and is shown.
    let parameter = one_line(parameter);
    BadParameter {
        parameter: cut(&parameter, 60).0.to_owned(),
        allowed: allowed.into_iter().map(Into::into).collect(),
    }
}

impl Serialize for BadParameter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let is_known = PARAMETERS.contains(&&*self.parameter);
        let what = if is_known {
            "allowed values"
        } else {
            "no such parameter; allowed"
        };
        let detail = format!("{}: {what}: {}", self.parameter, self.allowed.join(", "));
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", "about:blank")?;
        map.serialize_entry("title", "Bad Request")?;
        map.serialize_entry("status", &400)?;
        map.serialize_entry("detail", &detail)?;
        map.serialize_entry("parameter", &self.parameter)?;
        map.serialize_entry("allowed", &self.allowed)?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(pairs: &[(&str, &str)]) -> Result<CallsQuery, BadParameter> {
        let pairs = pairs
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()));
        CallsQuery::of(
            pairs.collect(),
            SystemTime::UNIX_EPOCH + Duration::from_secs(100),
        )
    }

    #[test]
    fn lists_stand_in_one_parameter_or_in_several() {
        let together = query(&[("error_class", "timeout, network,")]).unwrap();
        let apart = query(&[("error_class", "timeout"), ("error_class", "network")]).unwrap();
        let both = [ErrorClass::Timeout, ErrorClass::Network];
        assert_eq!(
            (&*together.classes, &*apart.classes),
            (&both[..], &both[..])
        );
        assert_eq!(together.limit, 50);
    }

    #[test]
    fn what_is_wrong_is_named_with_what_is_allowed() {
        for (name, value, allowed) in [
            ("error_class", "slow", "network"),
            ("fault_domain", "upstream,mine", "client"),
            ("status", "99", "a status from 100 to 999"),
            ("limit", "0", "a number from 1 to 1000"),
            ("limit", "1001", "a number from 1 to 1000"),
            ("limit", "-1", "a number from 1 to 1000"),
            ("since", "yesterday", "an age in whole seconds"),
            ("since", "18446744073709551615", "an age in whole seconds"),
            ("class", "timeout", "error_class"),
        ] {
            let bad = query(&[(name, value)]).unwrap_err();
            assert_eq!(bad.parameter, name);
            assert!(bad.allowed.iter().any(|one| one == allowed), "{bad:?}");
        }
    }

    #[test]
    fn forms_send_empty_fields() {
        assert!(query(&[("status", ""), ("limit", ""), ("error_class", "")]).is_ok());
    }
}
