//! Finds the smallest case with the same kind of difference: options, jobs and the job file are
//! left out one by one while the difference stays.

use super::case::{Case, Form, Target};
use super::compare::Difference;
use super::judge;

/// Maximum number of cases tried.
const TRIES_MAX: u32 = 60;

pub fn shrink(case: &Case, difference: &Difference) -> (Case, Difference) {
    let (mut least, mut difference, mut tries) = (case.clone(), difference.clone(), 0);
    loop {
        let smaller = smaller(&least).into_iter().find_map(|smaller| {
            tries += 1;
            let open = (tries <= TRIES_MAX).then(|| judge(&smaller).open)?;
            let same = open.into_iter().find(|other| other.kind == difference.kind)?;
            Some((smaller, same))
        });
        let Some((smaller, same)) = smaller else { return (least, difference) };
        (least, difference) = (smaller, same);
    }
}

/// Cases with one thing less.
fn smaller(case: &Case) -> Vec<Case> {
    let mut list = Vec::new();
    let mut put = |change: &dyn Fn(&mut Case)| {
        let mut smaller = case.clone();
        change(&mut smaller);
        if smaller != *case {
            list.push(smaller);
        }
    };
    put(&|case| case.form = Form::Line);
    put(&|case| case.terse = false);
    if case.jobs.len() > 1 {
        put(&|case| drop(case.jobs.pop()));
    }
    if let Target::Existing(_) = case.target {
        put(&|case| {
            case.target = Target::Files;
            case.global.retain(|set| set.name != "filename");
        });
    }
    for number in 0..case.jobs.iter().map(Vec::len).sum() {
        put(&|case| drop(remove(&mut case.jobs, number)));
    }
    for number in (0..case.global.len()).rev() {
        if case.global[number].name != "filename" {
            put(&|case| drop(case.global.remove(number)));
        }
    }
    list
}

fn remove<T>(lists: &mut [Vec<T>], number: usize) -> Option<T> {
    let mut number = number;
    for list in lists {
        if number < list.len() {
            return Some(list.remove(number));
        }
        number -= list.len();
    }
    None
}
