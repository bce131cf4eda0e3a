//! How long requests are, on the average.

use super::Work;
use crate::scenario::MaxTokens;

/// Mean lengths of the requests inside, tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lengths {
    pub prompt: f64,
    pub output: f64,
}

impl Default for Lengths {
    fn default() -> Self {
        Self { prompt: 1.0, output: 1.0 }
    }
}

impl From<Work> for Lengths {
    fn from(work: Work) -> Self {
        Self { prompt: work.prompt_tokens.max(1.0), output: work.output_tokens.max(1.0) }
    }
}

impl Lengths {
    /// The same with answers that end at `cap`: some run on until it stops them.
    pub fn capped(self, cap: Option<&MaxTokens>) -> Self {
        let Some(cap) = cap else { return self };
        let asked = f64::from(cap.asked);
        Self { output: cap.run_on * asked + (1.0 - cap.run_on) * self.output.min(asked), ..self }
    }

    /// Tokens of a request, those of the prompt and those of the answer.
    pub fn both(self) -> f64 {
        self.prompt + self.output
    }

    /// The mean when `amount` with the lengths `new` join `inside` requests of these lengths.
    pub fn mixed(self, inside: f64, new: Self, amount: f64) -> Self {
        let all = inside + amount;
        if all <= 0.0 {
            return self;
        }
        let mean = |old: f64, new: f64| (old * inside + new * amount) / all;
        Self { prompt: mean(self.prompt, new.prompt), output: mean(self.output, new.output) }
    }
}
