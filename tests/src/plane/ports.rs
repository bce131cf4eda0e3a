//! Free ports on the loopback address.

use std::net::TcpListener;
use std::ops::Range;

use super::PlaneError;

/// Below the ports that the system gives to outgoing connections, so that a port stays ours while its part is stopped.
pub const RANGE: Range<u16> = 20_000..32_000;

/// A port that nobody listens on at this moment.
pub fn free() -> Result<u16, PlaneError> {
    let mut last = std::io::Error::other("none was tried");
    for _ in 0..200 {
        let port = rand::random_range(RANGE);
        match TcpListener::bind(("127.0.0.1", port)) {
            Ok(_) => return Ok(port),
            Err(taken) => last = taken,
        }
    }
    Err(PlaneError::NoPort { source: last })
}
