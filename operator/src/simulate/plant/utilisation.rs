//! Share of time with a kernel on the GPUs, from look to look.

use wellfed_sim::sim::{Replica, Stage};

/// GPU seconds of each replica at the last look.
#[derive(Debug, Default)]
pub struct Utilisation {
    at: f64,
    before: Vec<(String, f64)>,
}

impl Utilisation {
    /// The mean over Ready replicas since the last look; none where none was there then. `busy` gives a replica's GPU
    /// seconds so far.
    pub fn since(&mut self, now: f64, replicas: &[Replica], busy: impl Fn(&str) -> f64) -> Option<f64> {
        let seconds = now - std::mem::replace(&mut self.at, now);
        let same = self.before.len() == replicas.len()
            && self.before.iter().zip(replicas).all(|((uid, _), replica)| *uid == replica.uid);
        if !same {
            let old = std::mem::take(&mut self.before);
            let known = |uid: &str| old.iter().find(|(known, _)| known == uid).map(|(_, busy)| *busy);
            let begun = |uid: &String| (uid.clone(), known(uid).unwrap_or_else(|| busy(uid)));
            self.before = replicas.iter().map(|replica| begun(&replica.uid)).collect();
        }
        let (mut sum, mut count) = (0.0, 0_u32);
        for ((uid, before), replica) in self.before.iter_mut().zip(replicas) {
            let spent = busy(uid) - std::mem::replace(before, busy(uid));
            if replica.stage == Stage::Ready && seconds > 0.0 {
                sum += (spent / seconds).clamp(0.0, 1.0);
                count += 1;
            }
        }
        (count > 0).then(|| sum / f64::from(count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_done_since_the_last_look_counts_however_replicas_come_and_go() {
        let [a, b] = ["a", "b"].map(|uid| Replica::ready(uid, 1, None));
        let mut seen = Utilisation::default();
        seen.since(10.0, std::slice::from_ref(&a), |_| 8.0);

        let both = seen.since(20.0, &[a, b.clone()], |uid| if uid == "a" { 13.0 } else { 100.0 });
        let one = seen.since(30.0, &[b], |_| 101.0);

        assert_eq!((both, one), (Some(0.25), Some(0.1)), "b is counted from when it was first seen");
    }
}
