//! Answers to the questions of a protocol, read from a file for unattended runs. Pure.

use std::collections::BTreeMap;

use emit::did_you_mean;

use super::Protocol;
use super::parse::line_of;
use crate::error::{LabError, Result};

/// Answers by step.
#[derive(Debug)]
pub struct Answers(BTreeMap<String, String>);

impl Answers {
    /// Parses `STEP = "answer"` for every question of the protocol; `file` is for errors.
    pub fn parse(file: &str, text: &str, protocol: &Protocol) -> Result<Answers> {
        let answers: BTreeMap<String, String> = toml::from_str(text).map_err(|error| {
            let line = line_of(text, error.span().map_or(0, |span| span.start));
            let reason = error.message().lines().next().unwrap_or_default().to_string();
            LabError::usage(format!("{file}:{line}: {reason}"))
        })?;
        let questions: Vec<&str> = protocol.questions().map(|(id, _)| id).collect();
        if let Some(name) = answers.keys().find(|name| !questions.contains(&name.as_str())) {
            let suggestion = did_you_mean(name, questions.iter().copied());
            let text = format!("{file}: no question in step '{name}'{suggestion}");
            return Err(LabError::usage(text));
        }
        for (id, ask) in protocol.questions() {
            let answer = answers.get(id);
            if answer.is_none()
                || (ask.field.is_some() && answer.is_some_and(|a| a.trim().is_empty()))
            {
                let text = format!("{file}: no answer for step '{id}': {}", ask.text);
                return Err(LabError::usage(text).advise(format!("{id} = \"...\"")));
            }
        }
        Ok(Answers(answers))
    }

    /// The answer to a step's question.
    pub fn answer(&self, step: &str) -> &str {
        self.0.get(step).map(String::as_str).unwrap_or_default()
    }
}
