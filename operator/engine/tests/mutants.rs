//! The mutants that the property tests are there to kill, listed in `tests/mutants.toml`: the list fits the sources, and
//! (`make mutants`) each is killed. Nothing is changed but a copy under `target/mutants`.

#![allow(clippy::unwrap_used, reason = "a test that cannot look has failed")]
#![allow(clippy::disallowed_methods, reason = "it reads the sources, and runs cargo on a copy of them")]

use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    mutant: Vec<Mutant>,
}

/// One mistake, and the test that must find it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mutant {
    file: String,
    text: String,
    replacement: String,
    package: String,
    /// What cargo is to run of the package.
    target: String,
    /// The last part of the test's path.
    test: String,
}

/// Longer than any of the tests takes (to build, or all of them together, may take six times that): a mutant that makes it hang is found out too.
const PATIENCE: Duration = Duration::from_mins(5);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn list() -> Vec<Mutant> {
    let text = fs::read_to_string(root().join("tests/mutants.toml")).unwrap();
    toml::from_str::<List>(&text).unwrap().mutant
}

#[test]
fn the_text_of_every_mutant_stands_in_its_file_exactly_once() {
    let places = |one: &Mutant| fs::read_to_string(root().join(&one.file)).unwrap().matches(&one.text).count();
    let lost = list().into_iter().filter(|one| places(one) != 1).map(|one| (one.file, one.text));

    assert_eq!(lost.collect::<Vec<_>>(), []);
}

#[test]
fn every_property_test_has_a_mutant_and_every_mutant_a_property_test() {
    let named: BTreeSet<String> = list().into_iter().map(|one| one.test).collect();
    let mut properties = BTreeSet::new();
    for folder in ["crds/src", "operator"] {
        sources(&root().join(folder), &mut |text| properties.extend(properties_of(text)));
    }

    assert!(properties.len() > 30, "{properties:?}");
    assert_eq!(properties.difference(&named).collect::<Vec<_>>(), [] as [&String; 0], "properties without a mutant");
    assert_eq!(named.difference(&properties).collect::<Vec<_>>(), [] as [&String; 0], "mutants without a property");
}

/// The names of the tests within `proptest!`, which ends where its indentation does.
fn properties_of(text: &str) -> Vec<String> {
    let mut within: Option<usize> = None;
    let mut names = Vec::new();
    for line in text.lines() {
        let indented = line.len() - line.trim_start().len();
        if line.trim_end().ends_with("proptest! {") {
            within = Some(indented);
        } else if within == Some(indented) && line.trim() == "}" {
            within = None;
        } else if let (Some(_), Some(rest)) = (within, line.trim_start().strip_prefix("fn ")) {
            names.push(rest.split('(').next().unwrap_or_default().to_owned());
        }
    }
    names
}

/// Calls `see` with the text of every source file below `folder`.
fn sources(folder: &Path, see: &mut impl FnMut(&str)) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, see);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            see(&fs::read_to_string(path).unwrap());
        }
    }
}

/// Minutes, and compiles each mutant: `make mutants`. `MUTANTS=text` tries only those whose file or test contains it.
#[test]
#[ignore = "make mutants"]
fn every_mutant_is_killed() {
    let chosen = std::env::var("MUTANTS").unwrap_or_default();
    let mutants = list().into_iter().filter(|one| one.file.contains(&chosen) || one.test.contains(&chosen));
    let mutants: Vec<Mutant> = mutants.collect();
    let copy = Copy::of(&root());
    let sound = copy.is_sound(&mutants);
    let mut alive = Vec::new();
    for one in &mutants {
        let began = Instant::now();
        let fate = copy.fate(one);
        println!("{fate:<14} {:>4} s  {} ({})", began.elapsed().as_secs(), one.test, one.file);
        if fate != KILLED {
            alive.push((fate, &one.test, &one.text));
        }
    }
    println!("{} of {} mutants were killed", mutants.len() - alive.len(), mutants.len());

    assert!(sound, "without a mutant the tests do not pass");
    assert_eq!(alive, [], "these were not killed");
}

const KILLED: &str = "killed";

/// The sources, to be changed.
struct Copy(PathBuf);

impl Copy {
    fn of(root: &Path) -> Self {
        let folder = root.join("target/mutants");
        let copy = folder.join("sources");
        let _ = fs::remove_dir_all(&copy);
        copied(root, &copy);
        Self(folder)
    }

    fn sources(&self) -> PathBuf {
        self.0.join("sources")
    }

    /// Whether all tests that are named pass without a mutant, and are there at all.
    fn is_sound(&self, mutants: &[Mutant]) -> bool {
        let mut by_target: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
        for one in mutants {
            by_target.entry((&one.package, &one.target)).or_default().insert(&one.test);
        }
        by_target.into_iter().all(|((package, target), tests)| {
            let tests: Vec<&str> = tests.into_iter().collect();
            self.cargo(package, target, &["--no-run"], &[]) == Some(true)
                && self.cargo(package, target, &[], &tests) == Some(true)
        })
    }

    /// What becomes of one mutant; the copy is as it was afterwards.
    fn fate(&self, one: &Mutant) -> &'static str {
        let path = self.sources().join(&one.file);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replacen(&one.text, &one.replacement, 1)).unwrap();
        let compiles = self.cargo(&one.package, &one.target, &["--no-run"], &[]) == Some(true);
        let passes = if compiles { self.cargo(&one.package, &one.target, &[], &[&one.test]) } else { None };
        fs::write(&path, text).unwrap();
        match (compiles, passes) {
            (false, _) => "DOES NOT BUILD",
            (true, Some(true)) => "SURVIVED",
            (true, Some(false) | None) => KILLED,
        }
    }

    /// Whether cargo succeeds; none where it takes too long.
    fn cargo(&self, package: &str, target: &str, options: &[&str], tests: &[&str]) -> Option<bool> {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
        let mut command = Command::new(cargo);
        command
            .args(["test", "--locked", "-q", "-p", package])
            .args(target.split(' '))
            .args(options)
            .arg("--")
            .args(tests);
        command.current_dir(self.sources()).env("CARGO_TARGET_DIR", self.0.join("build"));
        // The same cases each time, and no search for the smallest.
        command.env("PROPTEST_RNG_SEED", "1").env("PROPTEST_MAX_SHRINK_ITERS", "0").env("RUST_BACKTRACE", "0");
        let mut running = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let limit = if tests.len() == 1 { PATIENCE } else { PATIENCE * 6 };
        let began = Instant::now();
        while began.elapsed() < limit {
            if let Some(status) = running.try_wait().unwrap() {
                return Some(status.success());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = running.kill();
        let _ = running.wait();
        None
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(self.sources());
    }
}

/// Without what is built, and without what is hidden.
fn copied(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let name = entry.file_name();
        let hidden = name.to_string_lossy().starts_with('.') || name == "target" || name == "node_modules";
        match entry.path() {
            _ if hidden => {}
            folder if folder.is_dir() => copied(&folder, &to.join(name)),
            file => drop(fs::copy(file, to.join(name)).unwrap()),
        }
    }
}
