//! A clock that is behind the server's asks for the past and finds it young: what came back tells the server's time.

use jiff::fmt::rfc2822::DateTimeParser;
use jiff::{SignedDuration, Timestamp};
use reqwest::header::{DATE, HeaderMap};

/// Clocks that differ by more are told of: a few seconds are all that NTP leaves.
pub const APART: SignedDuration = SignedDuration::from_secs(5);

/// By how much `now`, at which the answer arrived, is earlier than the answer says that it left; zero where it says nothing or
/// left earlier. To the second, and never more than it is.
pub fn behind(headers: &HeaderMap, now: Timestamp) -> SignedDuration {
    let date = headers.get(DATE).and_then(|date| DateTimeParser::new().parse_timestamp(date.as_bytes()).ok());
    date.map_or(SignedDuration::ZERO, |date| date.duration_since(now).max(SignedDuration::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;

    const NOW: Timestamp = Timestamp::constant(784_111_777, 0);

    fn of(date: &'static str, later: i64) -> i64 {
        let headers = HeaderMap::from_iter([(DATE, HeaderValue::from_static(date))]);
        behind(&headers, NOW + SignedDuration::from_secs(later)).as_secs()
    }

    #[test]
    fn only_a_clock_that_is_behind_is_behind() {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";

        assert_eq!([of(date, -600), of(date, 0), of(date, 600)], [600, 0, 0]);
        assert_eq!([of("yesterday", -600), of("", -600)], [0, 0]);
        assert_eq!(behind(&HeaderMap::new(), NOW), SignedDuration::ZERO);
    }
}
