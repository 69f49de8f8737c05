//! The known name that a misspelt one is nearest to, for messages.

/// Returns `; did you mean 'X'?` for the known name that is nearest, in full or by its last word.
pub(crate) fn meant<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = known.collect();
    let last = |full: &'a str| full.rsplit('.').next().unwrap_or(full);
    let nearest =
        emit::nearest(name, names.iter().copied().chain(names.iter().map(|full| last(full))));
    let full = nearest
        .and_then(|nearest| names.iter().find(|full| nearest == **full || nearest == last(full)));
    full.map_or(String::new(), |full| format!("; did you mean '{full}'?"))
}
