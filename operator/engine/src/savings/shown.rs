//! Savings in words.

use super::{Back, Savings, Work};
use crate::money::Money;
use crate::units::Gpus;

impl Savings {
    /// In one line, for people.
    pub fn sentence(&self) -> String {
        let parts = [self.freed_shown(), self.back_shown(), self.smaller_shown(), self.adding_shown()];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    fn freed_shown(&self) -> Option<String> {
        let Work { activity, of: (least, most) } = self.work?;
        let cards = if least == most { most.to_string() } else { format!("{least}–{most}") };
        let work = format!("{:.0} % active on {} GPUs is the work of {cards}", activity * 100.0, self.gpus);
        let freed = format!("{work}: mending it frees {}{}", self.freed, an_hour(self.freed_cost));
        (self.freed > Gpus::ZERO).then_some(freed)
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
