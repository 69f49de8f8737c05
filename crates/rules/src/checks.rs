//! What methods measure for rules beside the digests of their workloads.
//!
//! A rule declares the type of its measurement in its own file, and a method puts a value of that
//! type here, by itself or in a list. No rule and no type is named here.

use std::any::{Any, TypeId};
use std::collections::HashMap;

/// Results of checks, one of each type; none for checks that did not run.
#[derive(Default)]
pub struct Checks(HashMap<TypeId, Box<dyn Any>>);

impl Checks {
    /// The result of this type.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.get(&TypeId::of::<T>())?.downcast_ref()
    }

    /// The results of this type that were put as a list.
    pub fn list<T: Any>(&self) -> &[T] {
        self.get::<Vec<T>>().map_or(&[], Vec::as_slice)
    }

    /// Puts a result in place of an earlier one of its type.
    pub fn put<T: Any>(&mut self, result: T) {
        self.0.insert(TypeId::of::<T>(), Box::new(result));
    }

    /// Changes the result of this type, or its default.
    pub fn update<T: Any + Default>(&mut self, change: impl FnOnce(&mut T)) {
        let earlier = self.0.remove(&TypeId::of::<T>()).and_then(|result| result.downcast().ok());
        let mut result: Box<T> = earlier.unwrap_or_default();
        change(&mut result);
        self.put(*result);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_result_of_each_type() {
        let mut checks = Checks::default();
        assert_eq!((checks.get::<u32>(), checks.list::<u32>()), (None, &[][..]));
        checks.put(3_u32);
        checks.put(vec![1_u32, 2]);
        checks.put(4_u32);
        checks.update(|list: &mut Vec<u32>| list.push(5));
        checks.update(|word: &mut String| word.push('a'));
        assert_eq!((checks.get(), checks.list()), (Some(&4_u32), &[1_u32, 2, 5][..]));
        assert_eq!(checks.get::<String>().map(String::as_str), Some("a"));
    }
}
