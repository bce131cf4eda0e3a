//! How often a server has something to do, when it has so much on the average.

/// No share smaller than this matters.
const NEVER: f64 = 1e-9;

/// Share of time in which a server has a batch, for `servers` equal ones with `batch` requests each on the average and
/// room for `most`.
///
/// Each place of each batch is taken by chance, and the router keeps the servers level: with fewer requests than servers
/// there is one on each of so many. One server alone with room for one is busy for `batch` of the time; with much room,
/// for `1 − e^−batch`.
pub(super) fn busy(servers: u32, batch: f64, most: f64) -> f64 {
    let taken = batch / most;
    if taken >= 1.0 {
        return 1.0;
    }
    let count = f64::from(servers.max(1));
    let places = count * most;
    let mut chance = (1.0 - taken).powf(places);
    let (mut idle, mut present) = (0.0, 0.0);
    while present < count && chance + idle > NEVER {
        idle += chance * (1.0 - present / count);
        chance *= (places - present).max(0.0) / (present + 1.0) * taken / (1.0 - taken);
        present += 1.0;
    }
    1.0 - idle
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Literals: 0.4; 1 − 0.6²; 1 − e⁻¹ within a thousandth; Poisson(1.2) over two servers, 1 − 0.3012 − 0.3614 / 2.
    #[test]
    fn a_server_is_busy_as_often_as_chance_says() {
        for (servers, batch, most, expected) in [
            (1, 0.4, 1.0, 0.4),
            (1, 0.8, 2.0, 0.64),
            (1, 1.0, 1000.0, 0.6321),
            (2, 0.6, 1000.0, 0.5181),
            (3, 5.0, 5.0, 1.0),
        ] {
            let got = busy(servers, batch, most);

            assert!((got - expected).abs() < 1e-3, "{servers} servers, {batch} of {most}: {got}");
        }
    }

    #[test]
    fn servers_with_room_for_one_are_busy_for_what_is_on_them() {
        assert!((busy(7, 0.37, 1.0) - 0.37).abs() < 1e-9);
    }
}
