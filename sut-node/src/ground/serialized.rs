//! Serializers of published settings: times become whole numbers, lists their length, and secrets a
//! flag that they are set.

use std::time::Duration;

use serde::{Serialize, Serializer};

pub(crate) fn milliseconds<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    whole(time.as_millis()).serialize(to)
}

pub(crate) fn microseconds<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    whole(time.as_micros()).serialize(to)
}

pub(crate) fn count<T, S: Serializer>(list: &[T], to: S) -> Result<S::Ok, S::Error> {
    list.len().serialize(to)
}

/// Serializes a value as `true`, and a missing one as `false`.
pub(crate) fn is_some<T, S: Serializer>(value: &Option<T>, to: S) -> Result<S::Ok, S::Error> {
    value.is_some().serialize(to)
}

fn whole(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
