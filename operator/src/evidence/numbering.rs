//! Names, each kept once and called by a small number afterwards.

use std::collections::HashMap;
use std::sync::Arc;

/// The number of a name.
pub type Id = u32;

/// Names and their numbers; the number of a forgotten name is given to another.
#[derive(Clone, Debug, Default)]
pub struct Numbering {
    ids: HashMap<Arc<str>, Id>,
    names: Vec<Option<Arc<str>>>,
    free: Vec<Id>,
}

impl Numbering {
    /// The number of `name`, a new one if it has none yet.
    pub fn id(&mut self, name: &str) -> Id {
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        let name: Arc<str> = name.into();
        let id = self.free.pop().unwrap_or_else(|| {
            self.names.push(None);
            Id::try_from(self.names.len() - 1).unwrap_or(Id::MAX)
        });
        self.names[id as usize] = Some(Arc::clone(&name));
        self.ids.insert(name, id);
        id
    }

    /// The number of `name`, if it has one.
    pub fn get(&self, name: &str) -> Option<Id> {
        self.ids.get(name).copied()
    }

    /// The name behind a number; empty for one that nobody has.
    pub fn name(&self, id: Id) -> &str {
        self.names.get(id as usize).and_then(Option::as_deref).unwrap_or_default()
    }

    /// One more than the largest number in use so far.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// The names in the order of their numbers, without holes as long as none was forgotten.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().filter_map(Option::as_deref)
    }

    /// Gives the number of a name away.
    pub fn forget(&mut self, id: Id) {
        if let Some(name) = self.names.get_mut(id as usize).and_then(Option::take) {
            self.ids.remove(&name);
            self.free.push(id);
        }
    }

    /// Whether the number has a name.
    pub fn is_used(&self, id: Id) -> bool {
        self.names.get(id as usize).is_some_and(Option::is_some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_number_until_it_is_forgotten() {
        let mut numbering = Numbering::default();
        let (a, b) = (numbering.id("a"), numbering.id("b"));

        assert_eq!((numbering.id("a"), numbering.get("b"), numbering.name(b)), (a, Some(b), "b"));
        numbering.forget(a);
        assert_eq!((numbering.get("a"), numbering.is_used(a), numbering.name(a)), (None, false, ""));
        assert_eq!((numbering.id("c"), numbering.len()), (a, 2), "the number is used again");
    }
}
