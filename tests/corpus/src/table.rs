//! The result as people read it.

use crate::inloop::Looped;
use crate::score::{Counts, Judged, Score};
use crate::watch::Said;
use std::fmt::Write;

/// The tables of one half: by class, by rule, and every scenario in which the gate was wrong.
pub fn render(title: &str, score: &Score, all: &[Judged]) -> String {
    let mut text = format!("{title}\n\n");
    let _ = writeln!(text, "{}", summary(score));
    let _ = writeln!(text, "  class                     scenarios  asked  helped  due  vetoed  right");
    for (name, one) in &score.per_class {
        let _ = writeln!(
            text,
            "  {name:<25} {:>9}  {:>5}  {:>6}  {:>3}  {:>6}  {:>5}",
            one.scenarios, one.asked, one.helped, one.due, one.vetoed, one.right
        );
    }
    text += &rules(score);
    text += &confusion(score);
    text += &in_loop(score);
    for one in all.iter().filter(|one| !one.is_well()) {
        let _ = writeln!(text, "  WRONG {}", told(one));
    }
    text
}

fn rules(score: &Score) -> String {
    let mut text =
        "\n  rule                  due and given  due and not  wrong  right, mild  rightly silent  median\n".to_owned();
    for (name, one) in &score.per_rule {
        let Counts { tp, missed, fp, mild, tn, .. } = one;
        let median = minutes(one.median_seconds);
        let _ = writeln!(text, "  {name:<21} {tp:>13}  {missed:>11}  {fp:>5}  {mild:>11}  {tn:>14}  {median:>6}");
    }
    text
}

/// What is the matter, and the rules that said so.
fn confusion(score: &Score) -> String {
    let mut text = "\n  what is the matter        refused by, scenarios\n".to_owned();
    for (truth, named) in &score.confusion {
        let named: Vec<String> = named.iter().map(|(rule, count)| format!("{rule} {count}")).collect();
        let _ = writeln!(text, "  {truth:<25} {}", named.join(", "));
    }
    text
}

fn minutes(time: Option<f64>) -> String {
    time.map_or("none".into(), |time| format!("{:.1} min", time / 60.0))
}

fn summary(score: &Score) -> String {
    let percent = |share: Option<f64>| share.map_or("none".into(), |share| format!("{:.1} %", 100.0 * share));
    let times = score.time_to_verdict_seconds;
    format!(
        "  recall {}, precision {} (strict: {}, {}); working GPUs refused {}, refused on unknown {}; \
         time to a right veto {} in the median, {} at the 95th percentile\n",
        percent(score.rates.recall),
        percent(score.rates.precision),
        percent(score.strict.recall),
        percent(score.strict.precision),
        score.false_vetoes_saturated,
        score.vetoes_on_unknown,
        minutes(times.median),
        minutes(times.p95),
    )
}

fn in_loop(score: &Score) -> String {
    let percent = |share: Option<f64>| share.map_or("none".into(), |share| format!("{:.1} %", 100.0 * share));
    let all = &score.in_loop;
    let mut text = format!(
        "\n  in the loop: recall {}, {} of growth held where a veto was due and {:.1} replica-hours grown in vain; working GPUs \
         refused {}, held by a ceiling {}, refused on unknown {}\n\n  \
         class                     played  due  refused  refused at all  ceiling  replicas at end  growth held  to refusal  in vain\n",
        percent(all.recall),
        percent(all.growth_held),
        all.in_vain,
        all.refused_working,
        all.capped_working,
        all.refused_unknown,
    );
    for (name, one) in &all.per_class {
        let minutes = minutes(one.time_to_refusal);
        let _ = writeln!(
            text,
            "  {name:<25} {:>6}  {:>3}  {:>7}  {:>14}  {:>7}  {:>15.2}  {:>11}  {minutes:>10}  {:>7.1}",
            one.played,
            one.due,
            one.refused,
            one.refused_any,
            one.capped,
            one.replicas_at_end,
            percent(one.growth_held),
            one.in_vain,
        );
    }
    text + "\n"
}

/// One scenario, its label and its verdicts, in one line.
pub fn told(one: &Judged) -> String {
    let label = &one.label;
    let refusals: Vec<String> =
        one.refusals.iter().map(|(rule, second)| format!("{rule} at minute {:.0}", second / 60.0)).collect();
    let outcome =
        |outcome: &crate::play::Outcome| format!("{:.2}/s waiting {:.0} s", outcome.throughput, outcome.waiting);
    let in_loop = one.looped.as_ref().map_or(String::new(), |looped| {
        let Looped { began, ended, refusals, capped, .. } = looped;
        format!("; in the loop {began} to {ended} replicas, refused by {refusals:?}, held by a ceiling {capped:?}")
    });
    format!(
        "{}: refused by [{}]; asked {:?}, helped {}, free {}; as is {}, one more {}, mended {}{in_loop}",
        one.name,
        refusals.join(", "),
        label.asked,
        label.helped,
        label.free,
        outcome(&label.as_is),
        outcome(&label.one_more),
        outcome(&label.mended),
    )
}

/// What the gate saw and said in one minute.
pub fn seen(said: &Said) -> String {
    let Some((evidence, opinion)) = &said.behind else { return format!("{:?} on no evidence", said.verdict) };
    let rules: Vec<String> =
        opinion.findings.iter().map(|finding| format!("{} ({:?})", finding.rule, finding.weight)).collect();
    format!(
        "{:?}; {:?} by [{}]\n    {:?}\n    {:?}\n    {:?}",
        said.verdict,
        opinion.lean,
        rules.join(", "),
        evidence.gpus.first(),
        evidence.containers.first(),
        (evidence.servers.first(), evidence.servers.last(), evidence.trainers.first())
    )
}
