use proptest::prelude::*;

use super::*;

const TERMS: Terms = Terms { duration: secs(15), renew_deadline: secs(10), retry_period: secs(2) };

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn held_by(holder: &str, renew_time: &str) -> LeaseRecord {
    LeaseRecord {
        holder: holder.into(),
        renew_time: renew_time.into(),
        transitions: 3,
        duration: secs(15),
        resource_version: renew_time.into(),
    }
}

fn candidate() -> Elector {
    Elector::new("b", TERMS)
}

/// A candidate that took the Lease with a write sent at 100 s.
fn leader() -> Elector {
    let mut it = candidate();
    it.looked(secs(99), None);
    it.wrote(secs(100), held_by("b", "1"));
    it
}

#[test]
fn an_unknown_lease_is_looked_at_and_an_absent_one_created() {
    let mut it = candidate();
    assert_eq!(it.next(secs(0)), Act::Look);

    it.looked(secs(0), None);

    assert_eq!(it.next(secs(0)), Act::Create);
    assert_eq!(it.standing(secs(0)), Standing::Follower { holder: None });
}

#[test]
fn a_living_holder_is_never_taken_over_however_wrong_its_clock_is() {
    for first_year in [1970, 2026, 3000] {
        let mut it = candidate();
        for beat in 0..100 {
            let now = secs(beat * 10);
            it.looked(now, Some(held_by("a", &format!("{first_year}-01-01T00:{beat:02}:00Z"))));
            assert_eq!(it.next(now), Act::Wait(now + secs(2)));
        }
    }
}

#[test]
fn a_silent_holder_is_taken_over_after_one_whole_duration_of_locally_seen_silence() {
    let mut it = candidate();
    let record = held_by("a", "old");
    it.looked(secs(1000), Some(record.clone()));
    it.looked(secs(1014), Some(record.clone()));
    assert_eq!(it.next(secs(1014)), Act::Wait(secs(1015)));
    assert_eq!(it.next(secs(1015)), Act::Look);

    it.looked(secs(1015), Some(record.clone()));

    assert_eq!(it.next(secs(1015)), Act::TakeOver(record));
}

#[test]
fn a_holder_that_asks_for_a_longer_silence_gets_it() {
    let mut it = candidate();
    let record = LeaseRecord { duration: secs(60), ..held_by("a", "old") };
    it.looked(secs(0), Some(record.clone()));
    it.looked(secs(59), Some(record.clone()));
    assert_eq!(it.next(secs(59)), Act::Wait(secs(60)));

    it.looked(secs(60), Some(record.clone()));

    assert_eq!(it.next(secs(60)), Act::TakeOver(record));
}

#[test]
fn a_label_put_on_the_lease_is_no_sign_of_life() {
    let mut it = candidate();
    it.looked(secs(0), Some(held_by("a", "old")));
    let labelled = LeaseRecord { resource_version: "later".into(), ..held_by("a", "old") };

    it.looked(secs(15), Some(labelled.clone()));

    assert_eq!(it.next(secs(15)), Act::TakeOver(labelled));
}

#[test]
fn calls_that_fail_do_not_start_the_silence_anew() {
    let mut it = candidate();
    it.looked(secs(0), Some(held_by("a", "old")));
    it.failed();
    assert_eq!(it.next(secs(14)), Act::Look);

    it.looked(secs(15), Some(held_by("a", "old")));

    assert_eq!(it.next(secs(15)), Act::TakeOver(held_by("a", "old")));
}

#[test]
fn a_leader_renews_each_retry_period_and_holds_until_the_deadline_counted_from_the_sending() {
    let it = leader();

    assert_eq!(it.next(secs(101)), Act::Wait(secs(102)));
    assert_eq!(it.next(secs(102)), Act::Renew(held_by("b", "1")));
    assert_eq!(it.standing(secs(100)), Standing::Leader { until: secs(110) });
    assert!(it.is_held(Duration::from_millis(109_999)));
    assert!(!it.is_held(secs(110)));
    assert_eq!(it.standing(secs(110)), Standing::Follower { holder: Some("b".into()) });
}

#[test]
fn failed_renewals_lose_nothing_before_the_deadline_and_gain_nothing() {
    let mut it = leader();
    it.failed();
    assert_eq!(it.next(secs(104)), Act::Look);
    assert!(it.is_held(secs(109)));

    it.looked(secs(109), Some(held_by("b", "applied after all")));

    assert!(!it.is_held(secs(110)));
    assert_eq!(it.next(secs(109)), Act::Renew(held_by("b", "applied after all")));
}

#[test]
fn another_name_in_the_lease_ends_the_holding_at_once() {
    let mut it = leader();

    it.looked(secs(103), Some(held_by("a", "2")));

    assert!(!it.is_held(secs(103)));
    assert_eq!(it.standing(secs(103)), Standing::Follower { holder: Some("a".into()) });
}

#[test]
fn a_deleted_lease_ends_the_holding_and_is_made_anew() {
    let mut it = leader();

    it.looked(secs(103), None);

    assert!(!it.is_held(secs(103)));
    assert_eq!(it.next(secs(103)), Act::Create);
}

#[test]
fn ones_own_record_of_an_earlier_life_is_renewed_but_not_held_before_that() {
    let mut it = candidate();

    it.looked(secs(0), Some(held_by("b", "earlier")));

    assert!(!it.is_held(secs(0)));
    assert_eq!(it.next(secs(0)), Act::Renew(held_by("b", "earlier")));
}

#[test]
fn a_lease_given_back_is_taken_over_at_once() {
    let mut leaving = leader();
    assert_eq!(leaving.release(secs(104)), Some(held_by("b", "1")));
    leaving.released();
    assert!(!leaving.is_held(secs(104)));

    let mut next = candidate();
    next.looked(secs(5), Some(held_by("", "2")));

    assert_eq!(next.next(secs(5)), Act::TakeOver(held_by("", "2")));
}

#[test]
fn only_a_holder_within_its_deadline_gives_back() {
    assert_eq!(candidate().release(secs(0)), None);
    assert_eq!(leader().release(secs(110)), None);
}

/// Two instances and a server, with every message under the control of the test.
struct Duel {
    real: u64,
    stored: Option<LeaseRecord>,
    version: u64,
    instances: [Instance; 2],
}

struct Instance {
    elector: Elector,
    name: &'static str,
    /// Its clock: an offset in milliseconds, and how many percent of real time pass on it.
    offset: u64,
    rate: u64,
    call: Option<Call>,
}

enum Call {
    Asked { act: Act, sent: Duration },
    Answered { read: bool, record: Option<LeaseRecord>, sent: Duration },
    Refused,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Pass(u64),
    Send(usize),
    Serve(usize),
    Deliver(usize),
    Lose(usize),
    Leave(usize),
}

impl Duel {
    fn new(clocks: [(u64, u64); 2]) -> Self {
        let instance =
            |name, (offset, rate)| Instance { elector: Elector::new(name, TERMS), name, offset, rate, call: None };
        Self { real: 0, stored: None, version: 0, instances: [instance("a", clocks[0]), instance("b", clocks[1])] }
    }

    fn now(&self, i: usize) -> Duration {
        Duration::from_millis(self.instances[i].offset + self.real * self.instances[i].rate / 100)
    }

    fn holders(&self) -> usize {
        (0..2).filter(|i| self.instances[*i].elector.is_held(self.now(*i))).count()
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Pass(millis) => self.real += millis,
            Event::Send(i) => self.send(i),
            Event::Serve(i) => self.serve(i),
            Event::Deliver(i) => self.deliver(i),
            Event::Lose(i) => {
                if self.instances[i].call.take().is_some() {
                    self.instances[i].elector.failed();
                }
            }
            Event::Leave(i) => self.leave(i),
        }
    }

    fn send(&mut self, i: usize) {
        let sent = self.now(i);
        if self.instances[i].call.is_none() {
            let act = self.instances[i].elector.next(sent);
            if !matches!(act, Act::Wait(_)) {
                self.instances[i].call = Some(Call::Asked { act, sent });
            }
        }
    }

    fn serve(&mut self, i: usize) {
        let Some(Call::Asked { act, sent }) = self.instances[i].call.take() else { return };
        let name = self.instances[i].name;
        let answer = match act {
            Act::Look => Call::Answered { read: true, record: self.stored.clone(), sent },
            Act::Create if self.stored.is_none() => self.store(name, sent),
            Act::Renew(r) | Act::TakeOver(r)
                if self.stored.as_ref().is_some_and(|s| s.resource_version == r.resource_version) =>
            {
                self.store(name, sent)
            }
            _ => Call::Refused,
        };
        self.instances[i].call = Some(answer);
    }

    fn store(&mut self, holder: &str, sent: Duration) -> Call {
        self.version += 1;
        let record =
            LeaseRecord { resource_version: self.version.to_string(), ..held_by(holder, &self.version.to_string()) };
        self.stored = Some(record.clone());
        Call::Answered { read: false, record: Some(record), sent }
    }

    fn deliver(&mut self, i: usize) {
        let now = self.now(i);
        let it = &mut self.instances[i];
        match it.call.take() {
            Some(Call::Answered { read: true, record, .. }) => it.elector.looked(now, record),
            Some(Call::Answered { read: false, record, sent }) => it.elector.wrote(sent, record.unwrap()),
            Some(Call::Refused) => it.elector.failed(),
            asked => it.call = asked,
        }
    }

    fn leave(&mut self, i: usize) {
        let ours = self.instances[i].elector.release(self.now(i));
        if let Some(record) =
            ours.filter(|r| self.stored.as_ref().is_some_and(|s| s.resource_version == r.resource_version))
        {
            self.instances[i].elector.released();
            self.instances[i].call = None;
            self.version += 1;
            self.stored =
                Some(LeaseRecord { holder: String::new(), resource_version: self.version.to_string(), ..record });
        }
    }
}

/// What happens while only some instances get to run, the way a paused process or a cut network has it.
fn phase() -> impl Strategy<Value = Vec<Event>> {
    (0usize..3).prop_flat_map(|who| {
        let who = move |i| if who < 2 { who } else { i };
        let turn = move |i| vec![Event::Send(who(i)), Event::Serve(who(i)), Event::Deliver(who(i))];
        let happening = prop_oneof![
            4 => (1u64..4_000).prop_map(|millis| vec![Event::Pass(millis)]),
            4 => (0usize..2).prop_map(turn),
            1 => (0usize..2).prop_map(move |i| vec![Event::Send(who(i)), Event::Serve(who(i))]),
            1 => (0usize..2).prop_map(move |i| vec![Event::Send(who(i))]),
            1 => (0usize..2).prop_map(move |i| vec![Event::Deliver(who(i))]),
            1 => (0usize..2).prop_map(move |i| vec![Event::Lose(who(i))]),
            1 => (0usize..2).prop_map(move |i| vec![Event::Leave(who(i))]),
        ];
        prop::collection::vec(happening, 1..40).prop_map(|events| events.concat())
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Kills: a deadline later than the duration, or counted from the answer instead of the sending; a takeover after the
    /// renew deadline, or without waiting, or measured from a record that has changed since; a release that still holds.
    #[test]
    fn two_instances_never_both_hold(
        clocks in [(0u64..1_000_000, 90u64..=110), (0u64..1_000_000, 90u64..=110)],
        phases in prop::collection::vec(phase(), 1..10),
    ) {
        let mut duel = Duel::new(clocks);
        for event in phases.concat() {
            duel.happen(event);
            prop_assert!(duel.holders() <= 1, "both hold after {event:?} at {} ms", duel.real);
        }
    }
}

#[test]
fn in_a_duel_the_lease_does_change_hands() {
    let mut duel = Duel::new([(0, 100), (500_000, 100)]);
    let turn = |i| [Event::Send(i), Event::Serve(i), Event::Deliver(i)];
    for event in turn(0).into_iter().chain(turn(0)) {
        duel.happen(event);
    }
    assert!(duel.instances[0].elector.is_held(duel.now(0)));

    for _ in 0..20 {
        turn(1).into_iter().chain([Event::Pass(1_000)]).for_each(|event| duel.happen(event));
    }

    assert!(!duel.instances[0].elector.is_held(duel.now(0)));
    assert!(duel.instances[1].elector.is_held(duel.now(1)));
}
