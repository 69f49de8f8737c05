//! Tables for spreadsheets and data frames, following RFC 4180 (with line feeds only).
//!
//! Every row names its run, so that tables of several runs can be concatenated. Numbers are as
//! exact as in the record; an unknown value is an empty field.

use record::{Covers, Metric, Run, Series};

/// The metrics, one per row; `samples` contains the replicates, separated by blanks.
pub fn csv(run: &Run) -> String {
    let mut text = "run,method,target,metric,unit,value,low,high,n,samples,covers\n".to_string();
    for metric in &run.metrics {
        text.push_str(&row(&[&run.id, &run.method, &run.target.spec, &metric.name]));
        text.push_str(&numbers(metric));
    }
    text
}

fn numbers(metric: &Metric) -> String {
    let samples: Vec<String> = metric.samples.iter().map(f64::to_string).collect();
    let Metric { value, low, high, n, covers, .. } = metric;
    let covers = quoted(covers.as_ref().map_or("", Covers::name));
    let fields = [metric.unit.name(), &number(*value), &number(*low), &number(*high)];
    format!(",{},{n},{},{covers}\n", row(&fields), samples.join(" "))
}

/// The figures that stand for some runs, one per row, after columns that say which run it is.
pub fn csv_figures<'r>(
    columns: &[&str],
    runs: impl Iterator<Item = (Vec<String>, &'r [Metric])>,
) -> String {
    let mut text = format!("{},metric,unit,value,low,high,n,samples,covers\n", columns.join(","));
    for (fields, metrics) in runs {
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        let head = row(&fields);
        for metric in metrics {
            text.push_str(&format!("{head},{}{}", quoted(&metric.name), numbers(metric)));
        }
    }
    text
}

/// The series, with one row per known value: time and value of one quantity of one workload.
/// `start_ns` counts from the start of the run, `t_ns` (the end of the interval) from the start of
/// the workload.
pub fn csv_series(run: &Run) -> String {
    let mut text = "run,workload,replicate,start_ns,t_ns,quantity,unit,value\n".to_string();
    run.series.iter().for_each(|series| add_series(&mut text, run, series));
    text
}

fn add_series(text: &mut String, run: &Run, series: &Series) {
    let Series { name, replicate, start_ns, t_ns, columns } = series;
    let head = format!("{},{replicate},{start_ns}", row(&[&run.id, name]));
    for column in columns {
        let tail = row(&[&column.name, column.unit.name()]);
        for (t, value) in t_ns.iter().zip(&column.values) {
            if let Some(value) = value {
                text.push_str(&format!("{head},{t},{tail},{value}\n"));
            }
        }
    }
}

fn number(value: Option<f64>) -> String {
    value.map(|v| v.to_string()).unwrap_or_default()
}

fn row(fields: &[&str]) -> String {
    fields.iter().map(|field| quoted(field)).collect::<Vec<_>>().join(",")
}

/// A field on one line without control characters, quoted if necessary. A field that a spreadsheet
/// would evaluate as a formula gets an apostrophe in front, because names of drives and files are
/// foreign text.
fn quoted(field: &str) -> String {
    let field = emit::plain(field);
    let formula = field.starts_with(['=', '+', '@'])
        || (field.starts_with('-') && field.parse::<f64>().is_err());
    let field = if formula { format!("'{field}") } else { field.into_owned() };
    if field.contains([',', '"']) { format!("\"{}\"", field.replace('"', "\"\"")) } else { field }
}

#[cfg(test)]
mod tests {
    use record::Unit;

    use super::*;

    #[test]
    fn the_meaning_of_an_interval_is_foreign_text() {
        let metric = |covers| {
            numbers(&Metric::single("x", Unit::Iops, 1.0).between(0.0, 2.0, Covers::named(covers)))
        };
        assert_eq!(metric("a,\n=HYPERLINK(1)"), ",IOPS,1,0,2,1,1,\"a,?=HYPERLINK(1)\"\n");
        assert_eq!(metric("=HYPERLINK(1)"), ",IOPS,1,0,2,1,1,'=HYPERLINK(1)\n");
    }

    #[test]
    fn fields_are_quoted_where_necessary() {
        assert_eq!(
            row(&["a", "b,c", "say \"x\"", "-1.5", ""]),
            "a,\"b,c\",\"say \"\"x\"\"\",-1.5,"
        );
        assert_eq!(row(&["=1+1", "-rf", "two\nlines"]), "'=1+1,'-rf,two?lines");
    }
}
