//! A clock that is behind the server's asks for the past and finds it young, one that is ahead asks for what is not there
//! yet: what came back tells the server's time.

use jiff::fmt::rfc2822::DateTimeParser;
use jiff::{SignedDuration, Timestamp};
use reqwest::header::{DATE, HeaderMap};

/// Clocks that differ by more are told of: a few seconds are all that NTP leaves.
pub const APART: SignedDuration = SignedDuration::from_secs(5);

/// By how much the server's clock is ahead of ours, by which an answer arrived `now`; negative where ours is ahead. Zero where
/// the answer says nothing. What it took to arrive, and what is less than a second, count for us.
pub fn apart(headers: &HeaderMap, now: Timestamp) -> SignedDuration {
    let date = headers.get(DATE).and_then(|date| DateTimeParser::new().parse_timestamp(date.as_bytes()).ok());
    date.map_or(SignedDuration::ZERO, |date| date.duration_since(now))
}

/// The same, where it is more than clocks that are kept synchronised differ by.
pub fn astray(apart: SignedDuration) -> SignedDuration {
    if apart.abs() > APART { apart } else { SignedDuration::ZERO }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;

    const NOW: Timestamp = Timestamp::constant(784_111_777, 0);

    fn of(date: &'static str, later: i64) -> i64 {
        let headers = HeaderMap::from_iter([(DATE, HeaderValue::from_static(date))]);
        apart(&headers, NOW + SignedDuration::from_secs(later)).as_secs()
    }

    #[test]
    fn the_date_of_an_answer_tells_how_far_clocks_are_apart() {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";

        assert_eq!([of(date, -600), of(date, 0), of(date, 600)], [600, 0, -600]);
        assert_eq!([of("yesterday", -600), of("", -600)], [0, 0]);
        assert_eq!(apart(&HeaderMap::new(), NOW), SignedDuration::ZERO);
    }

    #[test]
    fn a_few_seconds_are_the_network() {
        let astray = |seconds| astray(SignedDuration::from_secs(seconds)).as_secs();

        assert_eq!([-600, -6, -5, 0, 5, 6, 600].map(astray), [-600, -6, 0, 0, 0, 6, 600]);
    }
}
