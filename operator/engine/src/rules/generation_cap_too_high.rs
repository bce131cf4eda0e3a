//! Requests allow much longer answers than they get, and room is kept for them.

use super::{Rule, RuleName, Says, at_least, measure};
use crate::evidence::{Evidence, ServerEvidence};
use crate::opinion::{Measure, Quantity, Weight};
use crate::span::Span;

/// The cap on an answer's length is several times that of real answers while requests wait. It is only said: engines that
/// hand out memory as an answer grows lose little by it.
pub struct GenerationCapTooHigh;

impl Rule for GenerationCapTooHigh {
    fn name(&self) -> RuleName {
        RuleName::GenerationCapTooHigh
    }

    fn cause(&self) -> &'static str {
        "requests allow answers much longer than they get"
    }

    fn infers(&self) -> bool {
        false
    }

    fn judge(&self, seen: &Evidence) -> Says {
        let limits = &seen.gate.thresholds;
        let capped = |server: &ServerEvidence| {
            at_least(cap_over_output(server), limits.cap_over_output_from)
                && at_least(server.waiting, limits.waiting_from)
        };
        if seen.most_servers(capped) { Says::Found(Weight::Advice, measured(seen)) } else { Says::NotMine }
    }
}

fn cap_over_output(server: &ServerEvidence) -> Option<Span> {
    server.output_cap?.share_of(server.output_tokens?)
}

fn measured(seen: &Evidence) -> Vec<Measure> {
    let limits = &seen.gate.thresholds;
    [
        measure(Quantity::CapOverOutput, seen.server_mean(cap_over_output), limits.cap_over_output_from),
        measure(Quantity::RequestsWaiting, seen.server_mean(|server| server.waiting), limits.waiting_from),
    ]
    .into_iter()
    .flatten()
    .collect()
}
