//! Findings as `status` shows them. What was measured is kept from when a finding came into its state: the engine remembers
//! none of it, and after a restart the status itself says what it was.

use std::collections::HashMap;
use wellfed_crds::{Better, CheckStatus, FiguresStatus, FindingStatus, Measured};
use wellfed_engine::decision::Decision;
use wellfed_engine::explain;
use wellfed_engine::figures::{Figures, Throughput, Worse};
use wellfed_engine::finding::{id, severity};
use wellfed_engine::gate::{CHECKLIST, Gain, Shown, State};
use wellfed_engine::opinion::{Finding, Opinion, Quantity};
use wellfed_engine::policy::Policy;
use wellfed_engine::remedies::{Fill, remedies_against, restoring_quality};

/// Where the numbers and words of a finding come from.
pub struct Sources<'a> {
    /// The latest opinion.
    pub opinion: Option<&'a Opinion>,
    /// What was shown last.
    pub last: &'a [FindingStatus],
    /// For the remedies.
    pub policy: &'a Policy,
    /// Which values of the signal of role Quality are better, as it was measured.
    pub better: Better,
    /// How to put the pod template back.
    pub undo: Option<String>,
}

/// Everything that is shown of `decision`.
pub fn findings(decision: &Decision, from: &Sources<'_>) -> Vec<FindingStatus> {
    let last: HashMap<&str, &FindingStatus> = from.last.iter().map(|one| (one.id.as_str(), one)).collect();
    let shown = decision.memory.gate.shown();
    shown.iter().map(|shown| from.finding(shown, id(&decision.id.uid, shown.name), &last)).collect()
}

impl Sources<'_> {
    fn finding(&self, shown: &Shown, id: String, last: &HashMap<&str, &FindingStatus>) -> FindingStatus {
        let last = last.get(id.as_str()).copied();
        let same = last.filter(|last| last.state == format!("{:?}", shown.state) && last.since == shown.since.0);
        let mut status = FindingStatus {
            id,
            rule: shown.name.to_string(),
            severity: format!("{:?}", severity(shown.name, shown.weight)),
            state: format!("{:?}", shown.state),
            weight: format!("{:?}", shown.weight),
            before: shown.figures.map(|(before, _)| figures(&before, self.better)),
            after: shown.figures.and_then(|(_, after)| after).map(|after| figures(&after, self.better)),
            way_back: self.way_back(shown),
            first_seen: shown.first.0,
            last_seen: Some(shown.last.0),
            since: shown.since.0,
            ..FindingStatus::default()
        };
        if let Some(same) = same {
            (status.before, status.after) = (same.before.clone(), same.after.clone());
        }
        self.measured(&mut status, shown, same, last);
        status.remedies = match (self.opinion, same) {
            // Nobody has looked since a restart: which cards they are is not known.
            (None, Some(same)) => same.remedies.clone(),
            (Some(_), _) | (None, None) => self.remedies(shown, fill(&status.measured)),
        };
        status
    }

    /// Where the results got worse, first what brings them back; only what the cards can do, as far as they are known.
    fn remedies(&self, shown: &Shown, fill: Option<Fill>) -> Vec<String> {
        let class = self.policy.class;
        let oldest = self.opinion.and_then(|opinion| opinion.facts.oldest);
        let got_worse = shown.worse == Some(Worse::Quality);
        let first = restoring_quality(class).filter(|_| got_worse);
        let own =
            remedies_against(shown.name, class, fill).into_iter().filter(|own| !got_worse || !own.restores_quality);
        first.chain(own).filter(|remedy| remedy.runs_on(oldest)).map(|remedy| remedy.shown(oldest)).collect()
    }

    /// What was measured when it came into its state; while it does not show, what made it a finding.
    fn measured(
        &self,
        status: &mut FindingStatus,
        shown: &Shown,
        same: Option<&FindingStatus>,
        last: Option<&FindingStatus>,
    ) {
        if let Some(gain) = &shown.gain {
            "High".clone_into(&mut status.confidence);
            status.evidence = explain::gain(gain);
            status.checklist = checklist(gain);
            return;
        }
        let now =
            self.opinion.and_then(|opinion| opinion.findings.iter().find(|one| shown.name.rule() == Some(one.rule)));
        let kept = same.filter(|same| !same.evidence.is_empty());
        match (kept, now, last) {
            (Some(kept), ..) | (None, None, Some(kept)) => {
                status.confidence.clone_from(&kept.confidence);
                status.evidence.clone_from(&kept.evidence);
                status.measured.clone_from(&kept.measured);
            }
            (None, Some(found), _) => {
                status.confidence = format!("{:?}", found.confidence);
                status.evidence = explain::measured(found);
                status.measured = measures(found);
            }
            (None, None, None) => {}
        }
    }

    fn way_back(&self, shown: &Shown) -> Option<String> {
        if shown.state != State::Regressed {
            return None;
        }
        let why = match shown.worse {
            None => "it shows again under the new pod template",
            Some(Worse::Throughput) => "a replica does more than 5 % less work than before",
            Some(Worse::Latency) => "requests take more than 5 % longer than before",
            Some(Worse::Memory) => "more than 5 % more GPU memory is in use at the peak than before",
            Some(Worse::Quality) => "the results are more than 5 % worse than before",
        };
        let undo = self.undo.as_ref().map(|undo| format!(": try the next remedy, or {undo}"));
        Some(format!("{why}{}", undo.unwrap_or_default()))
    }
}

/// What fills the memory, as the finding shows it. Memory that stands still says nothing: an allocator keeps what it once had.
fn fill(measured: &[Measured]) -> Option<Fill> {
    let reached = |what: Quantity| {
        let one = measured.iter().find(|one| one.name == format!("{what:?}"))?;
        let (value, threshold) = (one.value.parse::<f64>().ok()?, one.threshold.as_ref()?.parse::<f64>().ok()?);
        (value >= threshold).then_some(())
    };
    let weights = || reached(Quantity::MemoryOfWeights).map(|()| Fill::Weights);
    reached(Quantity::MemorySwing).map(|()| Fill::Activations).or_else(weights)
}

fn measures(found: &Finding) -> Vec<Measured> {
    let measured = found.measured.iter().map(|measure| Measured {
        name: format!("{:?}", measure.what),
        value: explain::number(measure.value),
        threshold: measure.threshold.map(explain::number),
    });
    measured.collect()
}

/// Quality as its signal says it: inside, more is better.
fn figures(figures: &Figures, better: Better) -> FiguresStatus {
    let told = |quality: f64| if better == Better::Lower { -quality } else { quality };
    FiguresStatus {
        throughput: figures.throughput.map(Throughput::each).or(figures.signals.throughput).map(explain::rate),
        gpu_activity: figures.activity.map(explain::number),
        latency: figures.signals.latency.or(figures.latency).map(explain::number),
        gpu_memory: figures.memory.map(explain::number),
        quality: figures.signals.quality.map(told).or(figures.quality).map(explain::number),
    }
}

fn checklist(gain: &Gain) -> Vec<CheckStatus> {
    let points = CHECKLIST.iter().zip(gain.checks);
    points.map(|((name, _), check)| CheckStatus { name: (*name).to_owned(), result: format!("{check:?}") }).collect()
}

/// What the figures were before the pod template changed and are since, in words.
pub fn course(before: &FiguresStatus, after: &FiguresStatus) -> String {
    let both = named(before).into_iter().zip(named(after));
    let known = both.filter_map(|((name, before), (_, after))| Some(format!("{name} {} → {}", before?, after?)));
    known.collect::<Vec<_>>().join(", ")
}

/// The figures that are known, in words.
pub fn now(figures: &Figures, better: Better) -> String {
    let shown = self::figures(figures, better);
    let known = named(&shown).into_iter().filter_map(|(name, value)| Some(format!("{name} {}", value?)));
    known.collect::<Vec<_>>().join(", ")
}

fn named(figures: &FiguresStatus) -> [(&'static str, Option<&str>); 5] {
    [
        ("work of a replica a second", figures.throughput.as_deref()),
        ("GPU activity", figures.gpu_activity.as_deref()),
        ("latency", figures.latency.as_deref()),
        ("GPU memory at its peak", figures.gpu_memory.as_deref()),
        ("quality", figures.quality.as_deref()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::SignedDuration;
    use jiff::Timestamp;
    use wellfed_engine::card::Generation;
    use wellfed_engine::evidence::GpuEvidence;
    use wellfed_engine::figures::SignalFigures;
    use wellfed_engine::finding::FindingName;
    use wellfed_engine::memory::Moment;
    use wellfed_engine::opinion::Weight;
    use wellfed_engine::rules::RuleName;
    use wellfed_engine::span::Span;
    use wellfed_engine::testing::{Scenario, WorkloadBuilder, busy_gpu, trainer, world};

    const NAME: &str = "vision-train";

    fn starved() -> WorkloadBuilder {
        let train = trainer(NAME).running(4).wanting(8).template("before");
        train.gpu_activity(0.22).cpu_of_limit(0.97).throttled(0.40)
    }

    fn shown(scenario: &Scenario, last: &[FindingStatus]) -> Vec<FindingStatus> {
        let workload = scenario.find(NAME).unwrap();
        let undo = Some("go back with `kubectl -n ml rollout undo deployment/vision-train`".to_owned());
        let sources = Sources {
            opinion: workload.opinion.as_ref(),
            last,
            policy: &workload.policy,
            better: Better::Higher,
            undo,
        };
        findings(&scenario.decision(NAME), &sources)
    }

    fn unseen(mut scenario: Scenario) -> Scenario {
        scenario.world.workloads[0].opinion = None;
        scenario
    }

    #[test]
    fn what_was_measured_is_what_it_was_when_the_finding_opened() {
        let open = world().workload(starved()).after(3);
        let first = shown(&open, &[]);
        let later = open.becomes(starved().gpu_activity(0.31)).after(1);

        assert_eq!(
            first[0].evidence,
            "GPUs 22 % active, CPU at 97 % of its limit, throttled in 40 % of periods, 4 GPUs judged over 10m"
        );
        assert_eq!((first[0].state.as_str(), first[0].severity.as_str()), ("Open", "Medium"));
        let later = shown(&later, &first);
        assert_eq!(later[0].last_seen, first[0].last_seen.map(|seen| seen + SignedDuration::from_mins(1)));
        assert_eq!(later, [FindingStatus { last_seen: later[0].last_seen, ..first[0].clone() }]);
    }

    #[test]
    fn after_a_restart_the_numbers_come_back_from_the_status() {
        let open = world().workload(starved()).after(3);
        let first = shown(&open, &[]);
        let restarted = unseen(open);

        assert_eq!(shown(&restarted, &first), first);
        assert_eq!(shown(&restarted, &[])[0].evidence, "", "without a status nobody knows until the next look");
    }

    #[test]
    fn the_figures_of_a_resolved_finding_stay_those_that_resolved_it() {
        let open = world().workload(starved()).after(3);
        let first = shown(&open, &[]);
        let busy = trainer(NAME).running(4).wanting(8).template("after").busy();
        let resolved = open.becomes(busy).remembered(false).after(10);
        let then = shown(&resolved, &first);
        let later = resolved.becomes(trainer(NAME).running(4).wanting(8).template("after").gpu_activity(0.7)).after(1);

        assert_eq!(then[0].state, "Resolved");
        assert_eq!(then[0].evidence, first[0].evidence);
        let [before, after] = [&then[0].before, &then[0].after].map(|figures| figures.as_ref().unwrap());
        assert_eq!(course(before, after), "GPU activity 0.22 → 0.95");
        assert_eq!(shown(&later, &then)[0].after, then[0].after);
    }

    #[test]
    fn where_the_results_got_worse_what_brings_them_back_comes_first() {
        let (workload, _) = starved().build();
        let sources =
            Sources { opinion: None, last: &[], policy: &workload.policy, better: Better::Higher, undo: None };
        let now = Moment(Timestamp::UNIX_EPOCH);
        let shown = |worse| Shown {
            name: FindingName::Rule(RuleName::PrecisionUnused),
            weight: Weight::Advice,
            state: State::Regressed,
            first: now,
            last: now,
            since: now,
            figures: None,
            worse,
            gain: None,
        };
        let (quality, latency) = (shown(Some(Worse::Quality)), shown(Some(Worse::Latency)));

        assert!(
            sources.remedies(&quality, None)[0].starts_with("when quality falls: sensitive layers: norms, softmax")
        );
        assert!(sources.remedies(&latency, None)[0].starts_with("automatic mixed precision in BF16"));
        assert_eq!(
            sources.remedies(&quality, None).len(),
            sources.remedies(&latency, None).len(),
            "none is shown twice"
        );
    }

    #[test]
    fn what_the_cards_cannot_do_is_no_remedy_and_what_nobody_knows_of_them_is_a_condition() {
        let first = |oldest| {
            let world = world().workload(trainer(NAME).running(4).wanting(8).seen(|gpu, _| {
                *gpu = GpuEvidence {
                    generation: oldest,
                    fp32: Some(Span::exact(0.8)),
                    tensor: Some(Span::exact(0.0)),
                    ..busy_gpu()
                };
            }));
            let world = world.after(3);
            let found = shown(&world, &[]).into_iter().find(|found| found.rule == "PrecisionUnused").unwrap();
            (found.remedies[0].clone(), found.remedies.iter().any(|remedy| remedy.starts_with("FP8")))
        };

        let (turing, ampere, hopper) =
            (first(Some(Generation::Turing)), first(Some(Generation::Ampere)), first(Some(Generation::Hopper)));
        assert!(turing.0.starts_with("automatic mixed precision (AMP) in FP16"), "{turing:?}");
        assert!(ampere.0.starts_with("automatic mixed precision in BF16"), "{ampere:?}");
        assert_eq!((turing.1, ampere.1, hopper.1), (false, false, true));
        let (unknown, eight) = first(None);
        assert!(unknown.ends_with("; needs BF16: Ampere or newer") && eight, "{unknown}");
    }

    /// Nobody has looked since: the cards are those of before.
    #[test]
    fn a_restart_changes_no_remedies() {
        let open = world().workload(starved()).after(3);
        let first = vec![FindingStatus { remedies: vec!["as before".into()], ..shown(&open, &[])[0].clone() }];
        let restarted = open.change(NAME, |workload| workload.opinion = None);

        assert_eq!(shown(&restarted, &first)[0].remedies, ["as before"]);
    }

    #[test]
    fn what_fills_the_memory_is_told_by_what_moves_and_by_the_weights() {
        let measured = |swing: &str, weights: &str| {
            let one = |name: &str, value: &str, threshold: &str| Measured {
                name: name.into(),
                value: value.into(),
                threshold: Some(threshold.into()),
            };
            fill(&[one("MemorySwing", swing, "0.02"), one("MemoryOfWeights", weights, "0.5")])
        };

        assert_eq!(measured("0.05", "0.1"), Some(Fill::Activations));
        assert_eq!(measured("0.001", "0.6"), Some(Fill::Weights));
        assert_eq!(measured("0.001", "0.1"), None, "an allocator may keep what it once had");
    }

    #[test]
    fn what_regressed_says_the_way_back() {
        let open = world().workload(starved()).after(3);
        let first = shown(&open, &[]);
        let again = shown(&open.becomes(starved().template("after")).remembered(false).after(4), &first);

        let expected = "it shows again under the new pod template: try the next remedy, or go back with \
                        `kubectl -n ml rollout undo deployment/vision-train`";
        assert_eq!((again[0].state.as_str(), again[0].way_back.as_deref()), ("Regressed", Some(expected)));
    }

    /// An evaluation loss is kept with its sign turned, so that more is better.
    #[test]
    fn quality_is_shown_as_its_signal_says_it() {
        let signals = SignalFigures { quality: Some(-0.08), ..SignalFigures::default() };
        let of = |better| figures(&Figures { signals, ..Figures::default() }, better).quality;

        assert_eq!(of(Better::Lower).as_deref(), Some("0.08"));
        assert_eq!(of(Better::Higher).as_deref(), Some("-0.08"));
    }
}
