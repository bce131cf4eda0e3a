use super::*;
use crate::findings::{Sources, findings};
use wellfed_crds::Better;
use wellfed_engine::evidence::GpuEvidence;
use wellfed_engine::testing::{Scenario, WorkloadBuilder, trainer, world};

const NAME: &str = "vision-train";

fn train() -> WorkloadBuilder {
    trainer(NAME).running(4).wanting(8).template("before")
}

fn starved(workload: WorkloadBuilder) -> WorkloadBuilder {
    workload.gpu_activity(0.22).cpu_of_limit(0.97).throttled(0.40)
}

/// Plays on and tells what turned in each step: the reason and the note.
struct Course {
    scenario: Scenario,
    shown: Vec<FindingStatus>,
    told: Vec<(String, String)>,
}

impl Course {
    fn of(workload: WorkloadBuilder) -> Self {
        Self { scenario: world().workload(workload), shown: Vec::new(), told: Vec::new() }
    }

    fn then(mut self, step: impl Fn(Scenario) -> Scenario, times: usize) -> Self {
        for _ in 0..times {
            self.scenario = step(self.scenario);
            let workload = self.scenario.find(NAME).unwrap();
            let from = Sources {
                opinion: workload.opinion.as_ref(),
                last: &self.shown,
                policy: &workload.policy,
                better: Better::Higher,
                undo: None,
            };
            let decision = self.scenario.decision(NAME);
            let gate = (&decision.memory.gate, &workload.rest);
            let now = findings(&decision, &from);
            let turned = turns(&self.shown, &now, gate, Better::Higher);
            // That busy GPUs justify more of them is none of what is looked at here.
            let turned = turned.into_iter().filter(|turn| !turn.note.contains("AddingJustified"));
            self.told.extend(turned.map(|turn| (turn.reason, turn.note)));
            self.shown = now;
        }
        self
    }

    fn looks(self, times: usize) -> Self {
        self.then(|scenario| scenario.after(1), times)
    }

    fn minutes(self, times: usize) -> Self {
        self.then(|scenario| scenario.later(60).remembered(false), times)
    }

    fn becomes(self, workload: &WorkloadBuilder) -> Self {
        self.then(|scenario| scenario.becomes(workload.clone()).remembered(false), 1)
    }

    fn reasons(&self) -> Vec<&str> {
        self.told.iter().map(|(reason, _)| reason.as_str()).collect()
    }
}

#[test]
fn what_went_without_a_new_pod_template_is_told_with_what_it_was_and_is() {
    let course = Course::of(starved(train())).looks(3).becomes(&train().busy()).looks(4);

    let expected = "DataLoader has not shown in the last evaluations. It was: GPUs 22 % active, CPU at 97 % of its limit, \
                    throttled in 40 % of periods, 4 GPUs judged over 10m. Now: GPU activity 0.95";
    assert_eq!(course.reasons(), ["FindingOpened", "FindingClosed"]);
    assert_eq!(course.told[1].1, expected);
}

/// Kills: a finding that just goes when nobody looks.
#[test]
fn what_nobody_looks_for_any_more_is_not_said_to_be_over() {
    let met = trainer(NAME).running(4).wanting(4).template("before");
    let course = Course::of(starved(train())).looks(3).becomes(&met).minutes(60);

    let expected = "nobody has looked for DataLoader since 2023-11-14T22:16:20Z, since demand is met or the gate does not \
                    ask: whether it is over is not known";
    assert_eq!(course.reasons(), ["FindingOpened", "FindingNotSeenAgain"]);
    assert_eq!(course.told[1].1, expected);
}

#[test]
fn what_regressed_and_was_mended_under_the_same_template_is_closed() {
    let after = || train().template("after");
    let again = Course::of(starved(train())).looks(3).becomes(&starved(after())).looks(4);
    let mended = again.becomes(&after().busy()).looks(4);

    assert_eq!(mended.reasons(), ["FindingOpened", "FindingRetesting", "FindingRegressed", "FindingClosed"]);
}

/// Kills: the end of what is shown of it, told as another turn.
#[test]
fn what_is_resolved_is_told_once() {
    let course = Course::of(starved(train())).looks(3).becomes(&train().busy().template("after")).looks(90);

    assert_eq!(course.reasons(), ["FindingOpened", "FindingRetesting", "FindingResolved"]);
    assert!(course.shown.iter().all(|finding| finding.rule != "DataLoader"), "{:?}", course.shown);
}

#[test]
fn a_rollout_that_never_ends_is_told_to_be_unknown() {
    let stuck = train().busy().rolling_out("after");
    let course = Course::of(starved(train())).looks(3).becomes(&stuck).minutes(200);

    assert_eq!(course.reasons(), ["FindingOpened", "FindingRetesting", "FindingNotSeenAgain"]);
}

/// At its minimum, nobody asks for more.
fn idle() -> WorkloadBuilder {
    trainer(NAME).running(4).min(4).wanting(1).at_rest().gpu_activity(0.05)
}

#[test]
fn what_is_told_at_rest_is_told_once_with_what_to_do_and_closed_once() {
    let hourly = |scenario: Scenario| scenario.later(3_600).evaluated().remembered(false);
    let day = Course::of(idle()).then(hourly, 80);

    let [(opened, note)] = day.told.as_slice() else { panic!("{:?}", day.told) };
    assert_eq!(opened, "FindingOpened");
    assert_eq!(
        note,
        "Underused: GPUs 5 % active, 4 GPUs judged over 10m, and so at every look for 24h. First: fewer GPUs: fewer \
         replicas, or fewer GPUs a replica, with as many samples a step by gradient accumulation (the GPUs that wait, every \
         hour; wellfed's own measurement, over the whole day); hours; price: a step takes as long or longer"
    );
    assert_eq!(day.shown[0].last_seen, None, "nothing is written to say that it still shows");
    let over = day.becomes(&idle().gpu_activity(0.6)).then(hourly, 2);
    let (closed, note) = &over.told[1];
    assert_eq!((closed.as_str(), over.told.len()), ("FindingClosed", 2));
    assert!(note.starts_with("Underused has not shown in the last evaluations. It was: GPUs 5 % active"), "{note}");
}

#[test]
fn what_nobody_can_look_for_any_more_is_told_to_be_unknown() {
    let hourly = |scenario: Scenario| scenario.later(3_600).evaluated().remembered(false);
    let unseen = idle().seen(|gpu, _| *gpu = GpuEvidence::default());

    let gone = Course::of(idle()).then(hourly, 30).becomes(&unseen).then(hourly, 4);

    let reasons: Vec<_> = gone.told.iter().map(|(reason, _)| reason.as_str()).collect();
    assert_eq!(reasons, ["FindingOpened", "FindingNotSeenAgain"]);
}
