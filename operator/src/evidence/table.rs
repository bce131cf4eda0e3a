//! Values of one kind of subject in one look: a row of plain numbers for each pod and thing of it.

use super::numbering::Id;
use std::collections::HashMap;
use std::ops::Range;

/// How a value that is not there is kept; it never leaves this file.
const ABSENT: f32 = f32::NAN;

/// Rows as they are filled.
#[derive(Clone, Debug)]
pub struct Table {
    width: usize,
    rows: HashMap<(Id, Id), usize>,
    keys: Vec<(Id, Id)>,
    values: Vec<f32>,
}

impl Table {
    /// Rows of `width` values.
    pub fn of(width: usize) -> Self {
        Self { width, rows: HashMap::new(), keys: Vec::new(), values: Vec::new() }
    }

    /// One value; of two for the same place the larger counts.
    pub fn note(&mut self, key: (Id, Id), column: usize, value: f64) {
        let Self { width, rows, keys, values } = self;
        let row = *rows.entry(key).or_insert_with(|| {
            keys.push(key);
            values.resize(values.len() + *width, ABSENT);
            keys.len() - 1
        });
        let place = &mut values[row * *width + column];
        // Exact to seven digits, which is more than any exporter measures.
        #[allow(clippy::cast_possible_truncation)]
        let value = value as f32;
        *place = place.max(value);
    }

    /// One value, if it is there.
    pub fn get(&self, key: (Id, Id), column: usize) -> Option<f64> {
        let row = *self.rows.get(&key)?;
        present(self.values[row * self.width + column])
    }

    /// Takes one column out of every row.
    pub fn forget(&mut self, column: usize) {
        self.values.iter_mut().skip(column).step_by(self.width).for_each(|value| *value = ABSENT);
    }

    /// Pod and thing of each row.
    pub fn keys(&self) -> impl Iterator<Item = (Id, Id)> {
        self.keys.iter().copied()
    }

    /// The same rows by pod, under the numbers that `renamed` gives for those here, without the rows for which it gives none.
    pub fn grouped(&self, renamed: impl Fn((Id, Id)) -> Option<(Id, Id)>, pods_in_all: usize) -> Grouped {
        let rows = || self.keys().enumerate().filter_map(|(row, key)| Some((row, renamed(key)?)));
        let mut starts = vec![0_u32; pods_in_all + 1];
        for (_, (pod, _)) in rows() {
            starts[pod as usize + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = starts.clone();
        let all = starts.last().map_or(0, |all| *all as usize);
        let (things, values) = (vec![0; all], vec![ABSENT; all * self.width]);
        let mut grouped = Grouped { width: self.width, starts, things, values };
        for (row, (pod, thing)) in rows() {
            let place = &mut next[pod as usize];
            let to = *place as usize;
            *place += 1;
            grouped.things[to] = thing;
            grouped.values[to * self.width..][..self.width]
                .copy_from_slice(&self.values[row * self.width..][..self.width]);
        }
        grouped
    }
}

/// Rows by pod, as they are kept.
#[derive(Clone, Debug)]
pub struct Grouped {
    width: usize,
    /// Where each pod's rows begin, and where the last one's end.
    starts: Vec<u32>,
    things: Vec<Id>,
    values: Vec<f32>,
}

/// One row.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a>(&'a [f32]);

impl Row<'_> {
    /// One value, if it is there.
    pub fn get(self, column: usize) -> Option<f64> {
        present(self.0[column])
    }
}

impl Grouped {
    fn range(&self, pod: Id) -> Range<usize> {
        let at = pod as usize;
        match (self.starts.get(at), self.starts.get(at + 1)) {
            (Some(from), Some(to)) => *from as usize..*to as usize,
            _ => 0..0,
        }
    }

    fn row(&self, at: usize) -> Row<'_> {
        Row(&self.values[at * self.width..][..self.width])
    }

    /// Drops the rows of all pods but those that `keeps` names.
    pub fn retain(&mut self, keeps: impl Fn(Id) -> bool) {
        let mut kept = Self { width: self.width, starts: vec![0], things: Vec::new(), values: Vec::new() };
        for (pod, thing, row) in self.rows().filter(|(pod, ..)| keeps(*pod)) {
            let before = kept.starts.last().copied().unwrap_or_default();
            kept.starts.resize(kept.starts.len().max(pod as usize + 1), before);
            kept.things.push(thing);
            kept.values.extend_from_slice(row.0);
            let after = u32::try_from(kept.things.len()).unwrap_or(u32::MAX);
            kept.starts.truncate(pod as usize + 1);
            kept.starts.push(after);
        }
        *self = kept;
    }

    /// The things of a pod.
    pub fn of_pod(&self, pod: Id) -> &[Id] {
        &self.things[self.range(pod)]
    }

    /// The row of one thing of a pod.
    pub fn find(&self, pod: Id, thing: Id) -> Option<Row<'_>> {
        self.range(pod).find(|at| self.things[*at] == thing).map(|at| self.row(at))
    }

    /// Every row: its pod, its thing and itself.
    pub fn rows(&self) -> impl Iterator<Item = (Id, Id, Row<'_>)> {
        let pods = self.starts.len().saturating_sub(1);
        (0..Id::try_from(pods).unwrap_or(Id::MAX))
            .flat_map(move |pod| self.range(pod).map(move |at| (pod, self.things[at], self.row(at))))
    }
}

/// The value, if it is there: as a decimal number again where seven digits tell it, so that nine tenths are nine tenths.
fn present(value: f32) -> Option<f64> {
    const DIGITS: f64 = 1.0e6;
    if value.is_nan() {
        return None;
    }
    let exact = f64::from(value);
    Some(if (1.0e-3..8.0).contains(&exact) { (exact * DIGITS).round() / DIGITS } else { exact })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_pod_under_their_new_numbers() {
        let mut table = Table::of(2);
        table.note((1, 0), 0, 0.9);
        table.note((0, 0), 1, 210.5);
        table.note((1, 1), 1, 0.0);

        let mut grouped = table.grouped(|(pod, thing)| Some(([7, 5][pod as usize], thing + 3)), 8);
        let get = |pod, thing, column| grouped.find(pod, thing).and_then(|row| row.get(column));

        assert_eq!(grouped.of_pod(5), [3, 4]);
        assert_eq!((get(5, 3, 0), get(5, 3, 1)), (Some(0.9), None));
        assert_eq!((get(5, 4, 1), get(7, 3, 1)), (Some(0.0), Some(210.5)));
        assert_eq!((grouped.of_pod(6).len(), grouped.of_pod(99).len()), (0, 0));
        let keys = |grouped: &Grouped| grouped.rows().map(|(pod, thing, _)| (pod, thing)).collect::<Vec<_>>();
        assert_eq!(keys(&grouped), [(5, 3), (5, 4), (7, 3)]);
        assert_eq!(keys(&table.grouped(|(pod, thing)| (pod == 1).then_some((5, thing)), 8)), [(5, 0), (5, 1)]);

        grouped.retain(|pod| pod == 5);
        assert_eq!((keys(&grouped), grouped.of_pod(7).len()), (vec![(5, 3), (5, 4)], 0));
        assert_eq!(grouped.find(5, 4).and_then(|row| row.get(1)), Some(0.0));
        grouped.retain(|_| false);
        assert_eq!(keys(&grouped), []);
    }

    #[test]
    fn of_two_series_for_one_place_the_larger_counts_and_a_forgotten_column_is_absent() {
        let mut table = Table::of(2);
        table.note((0, 0), 0, 0.2);
        table.note((0, 0), 0, 0.7);
        table.note((0, 0), 0, 0.3);
        table.note((0, 0), 1, 0.1);
        assert_eq!((table.get((0, 0), 0), table.get((0, 0), 1)), (Some(0.7), Some(0.1)));

        table.forget(0);
        assert_eq!((table.get((0, 0), 0), table.get((0, 0), 1)), (None, Some(0.1)));
    }

    #[test]
    fn tiny_and_large_values_keep_their_seven_digits() {
        let mut table = Table::of(1);
        for (thing, value) in [(0, 2.5e-7), (1, 12_345_678.0), (2, 0.333_333_3)] {
            table.note((0, thing), 0, value);
            let kept = table.get((0, thing), 0).unwrap_or_default();
            assert!((kept / value - 1.0).abs() < 1.0e-6, "{value} became {kept}");
        }
    }
}
