//! A large answer, row by row as it arrives: nothing of it is kept here.

use super::frames::{CutShort, Frames};
use super::labels::Labels;
use super::row::{self, Value};
use super::{Endpoint, FetchError, answer};
use jiff::Timestamp;
use std::time::Duration;

impl Endpoint {
    /// Evaluates `query` as [`Self::instant`] does, and hands each row of the vector to `each` while the answer arrives;
    /// returns how many there were. Whether the answer is whole shows at its end only: after a failure the caller throws
    /// away what it was handed.
    pub async fn rows(
        &self,
        query: &str,
        at: Option<Timestamp>,
        deadline: Duration,
        mut each: impl FnMut(&Labels, f64),
    ) -> Result<usize, FetchError> {
        let whole = async {
            let response =
                self.request(query, at, deadline).post_raw().await.map_err(|error| self.unreachable(&error))?;
            let status = response.status().as_u16();
            self.note_clock(&response);
            if (200..300).contains(&status) {
                return self.streamed(response, status, &mut each).await;
            }
            let body = self.read(response).await?;
            answer::parse(&self.config, status, &body).map(|_| 0)
        };
        self.in_time(deadline, whole).await
    }

    async fn streamed(
        &self,
        mut response: reqwest::Response,
        status: u16,
        each: &mut impl FnMut(&Labels, f64),
    ) -> Result<usize, FetchError> {
        let (mut frames, mut labels) = (Frames::default(), Labels::default());
        let (mut rows, mut bytes) = (0_usize, 0_usize);
        while let Some(chunk) = response.chunk().await.map_err(|error| self.unreachable(&error))? {
            bytes += chunk.len();
            if bytes > self.config.max_streamed_bytes {
                return Err(self.too_much(format!("{} bytes", self.config.max_streamed_bytes)));
            }
            let took = frames.take(&chunk, |text| {
                rows += 1;
                if rows > self.config.max_streamed_rows {
                    return Err(self.too_much(format!("{} rows", self.config.max_streamed_rows)));
                }
                self.row(text, &mut labels, each)
            });
            took.map_err(|short| match short {
                CutShort::Refused(error) => error,
                CutShort::TooLarge => answer::foreign(self.config.name.clone(), status, frames.envelope()),
            })?;
        }
        answer::vector_around(&self.config, status, frames.envelope())?;
        Ok(rows)
    }

    fn row(&self, text: &[u8], labels: &mut Labels, each: &mut impl FnMut(&Labels, f64)) -> Result<(), FetchError> {
        let endpoint = || self.config.name.clone();
        match row::read(text, labels) {
            Ok(Value::Number(value)) => {
                each(labels, value);
                Ok(())
            }
            Ok(Value::NoNumber(found)) => Err(FetchError::NotAVector { endpoint: endpoint(), found: found.to_owned() }),
            Err(reason) => {
                let body = format!("unreadable samples ({reason})");
                Err(FetchError::Garbled { endpoint: endpoint(), body })
            }
        }
    }
}
