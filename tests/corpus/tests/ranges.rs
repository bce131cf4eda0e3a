//! Seed A and seed B never draw the same parameter.

#![allow(clippy::unwrap_used, clippy::panic, clippy::cast_possible_truncation, clippy::cast_sign_loss)]

use std::collections::BTreeMap;
use wellfed_corpus::case::Case;
use wellfed_corpus::classes::{CLASSES, corpus};
use wellfed_corpus::dice::{Dice, Drawn, Half};

/// Of a range cut into eight, where a value lies; of a count, itself.
fn place(drawn: &Drawn) -> u64 {
    let (low, high) = drawn.range;
    let share = if drawn.whole { drawn.value } else { (drawn.value - low) / (high - low) * 8.0 };
    share.floor() as u64
}

fn by_parameter(cases: &[Case]) -> BTreeMap<(&'static str, &'static str), Vec<Drawn>> {
    let mut all: BTreeMap<_, Vec<Drawn>> = BTreeMap::new();
    for case in cases {
        for drawn in &case.drawn {
            all.entry((case.class, drawn.name)).or_default().push(drawn.clone());
        }
    }
    all
}

/// Kills: a draw that ignores its half, a margin that is missing, a parameter drawn around the dice.
#[test]
fn every_parameter_of_seed_a_lies_in_an_even_strip_and_every_one_of_seed_b_in_an_odd_one() {
    let (a, b) = (by_parameter(&corpus(Half::A).unwrap()), by_parameter(&corpus(Half::B).unwrap()));

    assert!(a.len() > 150 && b.len() > 150, "{} and {} parameters", a.len(), b.len());
    for (parameter, values) in &a {
        assert!(values.iter().all(|drawn| place(drawn).is_multiple_of(2)), "{parameter:?} {values:?}");
        let others = b.get(parameter).map_or(&[][..], Vec::as_slice);
        let shared = values.iter().find(|one| others.iter().any(|other| other.value.to_bits() == one.value.to_bits()));
        assert_eq!(shared, None, "{parameter:?}");
    }
    for (parameter, values) in &b {
        assert!(values.iter().all(|drawn| place(drawn) % 2 == 1), "{parameter:?} {values:?}");
    }
}

#[test]
fn draws_stay_within_their_range_and_reach_both_ends_of_it() {
    let mut seen = Vec::new();
    for index in 0..400 {
        let mut dice = Dice::of(if index % 2 == 0 { Half::A } else { Half::B }, 1, index);
        let (real, whole) = (dice.real("real", 10.0, 20.0), dice.whole("whole", 2, 8));
        assert!((10.0..20.0).contains(&real) && (2..=8).contains(&whole), "{real} {whole}");
        seen.push((real, whole));
    }

    assert!(seen.iter().any(|(real, _)| *real < 10.3) && seen.iter().any(|(real, _)| *real > 19.7));
    assert_eq!((2..=8).filter(|count| seen.iter().any(|(_, whole)| whole == count)).count(), 7);
}

#[test]
fn each_class_has_at_least_ten_scenarios_and_no_two_of_them_are_alike() {
    let cases = corpus(Half::A).unwrap();

    for class in CLASSES {
        let of_class: Vec<&Case> = cases.iter().filter(|case| case.class == class.name).collect();
        assert!(of_class.len() >= 10, "{}", class.name);
        for (at, one) in of_class.iter().enumerate() {
            assert!(of_class[..at].iter().all(|other| other.drawn != one.drawn), "{}", one.name);
        }
    }
}

/// The generator and the labels know no rule: their sources name neither the engine nor the operator.
#[test]
fn the_generator_shares_nothing_with_the_rules() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
    let own = ["case.rs", "dice.rs", "label.rs", "models.rs", "play.rs", "classes"];
    for name in own {
        let path = std::path::Path::new(folder).join(name);
        let files: Vec<_> = if path.is_dir() {
            std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect()
        } else {
            vec![path]
        };
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap();
            let used: Vec<&str> = text.lines().filter(|line| line.trim_start().starts_with("use ")).collect();
            let foreign = used.iter().find(|line| {
                line.contains("wellfed::") || line.contains("wellfed_engine") || line.contains("crate::watch")
            });
            assert_eq!(foreign, None, "{}", file.display());
            assert!(!text.contains("wellfed_engine::") && !text.contains("wellfed::"), "{}", file.display());
        }
    }
}
