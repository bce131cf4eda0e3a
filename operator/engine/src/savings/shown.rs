//! Savings in words.

use super::{Back, Idle, KeptBy, Savings, Work};
use crate::money::Money;
use crate::units::Gpus;

impl Savings {
    /// In one line, for people.
    pub fn sentence(&self) -> String {
        let parts =
            [self.freed_shown(), self.idle_shown(), self.back_shown(), self.smaller_shown(), self.adding_shown()];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    fn work_shown(&self) -> Option<String> {
        let Work { activity, of: (least, most) } = self.work?;
        let cards = if least == most { most.to_string() } else { format!("{least}–{most}") };
        let gpus = if self.gpus == Gpus(1) { "GPU" } else { "GPUs" };
        Some(format!("{:.0} % active on {} {gpus} is the work of {cards}", activity * 100.0, self.gpus))
    }

    fn freed_shown(&self) -> Option<String> {
        let freed = format!("{}: mending it frees {}{}", self.work_shown()?, self.freed, an_hour(self.freed_cost));
        (self.freed > Gpus::ZERO).then_some(freed)
    }

    fn idle_shown(&self) -> Option<String> {
        let Idle { keep, kept_by, freed, cost } = self.idle?;
        let work = self.work_shown()?;
        if freed == Gpus::ZERO {
            let costs = cost.map(|cost| format!(" and costs {cost} an hour")).unwrap_or_default();
            return Some(format!("{work}{costs}: a schedule or a part of a GPU frees most of it"));
        }
        let how = match kept_by {
            KeptBy::Minimum => format!("minReplicas {keep}"),
            KeptBy::Signals => format!("{keep} replicas, by a higher target of its signals,"),
        };
        Some(format!("{work}: {how} or a schedule frees {freed}{}", an_hour(cost)))
    }

    fn back_shown(&self) -> Option<String> {
        let Back { to, freed, cost } = self.back?;
        Some(format!("going back to {to} replicas frees {freed} of {} GPUs{}", self.gpus, an_hour(cost)))
    }

    fn smaller_shown(&self) -> Option<String> {
        let (pool, saved) = self.smaller.as_ref()?;
        Some(format!("the GPUs of pool \"{pool}\" would hold it, check their speed first; they save {saved} an hour"))
    }

    fn adding_shown(&self) -> Option<String> {
        let adding = self.adding;
        let shown = match self.adding_cost {
            Some(cost) => format!("adding {adding} would cost {cost} an hour"),
            None => format!("{adding} more are asked for"),
        };
        (adding > Gpus::ZERO).then_some(shown)
    }
}

fn an_hour(cost: Option<Money>) -> String {
    cost.map(|cost| format!(", {cost} an hour")).unwrap_or_default()
}
