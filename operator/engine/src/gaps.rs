//! Times in order, as they are kept in status: the first one whole, of each other what lies between it and the one before.

/// No gap is as long: 11 days in milliseconds; and every time since 2001 is longer, in seconds too.
const WHOLE: i64 = 1_000_000_000;

/// Times as they are written.
pub fn written(times: impl IntoIterator<Item = i64>) -> impl Iterator<Item = i64> {
    times.into_iter().scan(0, |before, time| {
        let gap = time - *before;
        *before = time;
        Some(gap)
    })
}

/// Times as they were written, or each of them whole.
pub fn read(written: impl IntoIterator<Item = i64>) -> impl Iterator<Item = i64> {
    written.into_iter().scan(0_i64, |before, one| {
        *before = if one >= WHOLE { one } else { before.saturating_add(one) };
        Some(*before)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_back_as_they_were_written_and_as_they_were_written_before() {
        let times = [1_700_000_000_000, 1_700_000_060_000, 1_700_000_059_000];

        let short: Vec<i64> = written(times).collect();

        assert_eq!(short, [1_700_000_000_000, 60_000, -1_000]);
        assert!(read(short).eq(times) && read(times).eq(times));
    }
}
