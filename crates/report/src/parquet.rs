//! Metrics of many runs as one Parquet file, for data frames and DuckDB: a row a metric.
//!
//! The smallest useful part of the format: one row group, one page a column, plain encoding, no
//! compression, optional values by definition levels of one bit. Its metadata is Thrift's compact
//! protocol. A crate would add a third of the libraries of the whole program for this one file.
//! Source: apache/parquet-format, `parquet.thrift` and `Encodings.md`, version 2.10.

use record::{Metric, Run};

/// The columns, each a name with its values.
enum Column {
    Text(&'static str, Vec<Option<String>>),
    Double(&'static str, Vec<Option<f64>>),
    Integer(&'static str, Vec<Option<i64>>),
}

const MAGIC: &[u8] = b"PAR1";

/// The metrics of runs, each with the time of its start in milliseconds since 1970. Columns: run,
/// started_ms, host, title, tags, method, target, model, firmware, metric, unit, value, low, high, n.
pub fn parquet<'r>(runs: impl IntoIterator<Item = (&'r Run, Option<i64>)>) -> Vec<u8> {
    let mut rows: Vec<(&Run, Option<i64>, &Metric)> = Vec::new();
    for (run, started_ms) in runs {
        rows.extend(run.metrics.iter().map(|metric| (run, started_ms, metric)));
    }
    let text = |of: &dyn Fn(&Run, &Metric) -> Option<String>| {
        rows.iter().map(|(run, _, metric)| of(run, metric)).collect::<Vec<_>>()
    };
    let number = |of: &dyn Fn(&Metric) -> Option<f64>| {
        rows.iter().map(|(_, _, metric)| of(metric)).collect::<Vec<_>>()
    };
    let columns = [
        Column::Text("run", text(&|run, _| Some(run.id.clone()))),
        Column::Integer("started_ms", rows.iter().map(|(_, ms, _)| *ms).collect()),
        Column::Text("host", text(&|run, _| run.environment.host.clone())),
        Column::Text("title", text(&|run, _| run.title().map(String::from))),
        Column::Text("tags", text(&|run, _| tags(run))),
        Column::Text("method", text(&|run, _| Some(run.method.clone()))),
        Column::Text("target", text(&|run, _| Some(run.target.spec.clone()))),
        Column::Text("model", text(&|run, _| run.target.drive.as_ref()?.model.clone())),
        Column::Text("firmware", text(&|run, _| run.target.drive.as_ref()?.firmware.clone())),
        Column::Text("metric", text(&|_, metric| Some(metric.name.clone()))),
        Column::Text("unit", text(&|_, metric| Some(metric.unit.name().into()))),
        Column::Double("value", number(&|metric| metric.value)),
        Column::Double("low", number(&|metric| metric.low)),
        Column::Double("high", number(&|metric| metric.high)),
        Column::Integer("n", rows.iter().map(|(.., metric)| Some(metric.n.into())).collect()),
    ];
    file(&columns, rows.len())
}

fn tags(run: &Run) -> Option<String> {
    let tags = run.tags().map(|(name, value)| format!("{name}={value}"));
    Some(tags.collect::<Vec<_>>().join(" ")).filter(|tags| !tags.is_empty())
}

/// Types of the format: `Type` of parquet.thrift.
const INT64: i64 = 2;
const DOUBLE: i64 = 5;
const BYTE_ARRAY: i64 = 6;

impl Column {
    fn name(&self) -> &'static str {
        match self {
            Column::Text(name, _) | Column::Double(name, _) | Column::Integer(name, _) => name,
        }
    }

    fn kind(&self) -> i64 {
        match self {
            Column::Text(..) => BYTE_ARRAY,
            Column::Double(..) => DOUBLE,
            Column::Integer(..) => INT64,
        }
    }

    /// The page: definition levels, then the values that are there.
    fn page(&self) -> Vec<u8> {
        let (levels, values) = match self {
            Column::Text(_, values) => encoded(values, |text, out| {
                out.extend((text.len() as u32).to_le_bytes());
                out.extend(text.as_bytes());
            }),
            Column::Double(_, values) => encoded(values, |v, out| out.extend(v.to_le_bytes())),
            Column::Integer(_, values) => encoded(values, |v, out| out.extend(v.to_le_bytes())),
        };
        [&(levels.len() as u32).to_le_bytes()[..], &levels, &values].concat()
    }
}

/// Definition levels (a bit-packed run of the RLE hybrid, width 1) and the present values.
fn encoded<T>(values: &[Option<T>], put: impl Fn(&T, &mut Vec<u8>)) -> (Vec<u8>, Vec<u8>) {
    let mut levels = Vec::new();
    let groups = values.len().div_ceil(8) as u64;
    varint(&mut levels, groups << 1 | 1);
    for eight in values.chunks(8) {
        let bits = eight.iter().enumerate().map(|(i, value)| u8::from(value.is_some()) << i);
        levels.push(bits.sum());
    }
    let mut bytes = Vec::new();
    values.iter().flatten().for_each(|value| put(value, &mut bytes));
    (levels, bytes)
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A structure of Thrift's compact protocol.
#[derive(Default)]
struct Struct {
    bytes: Vec<u8>,
    last_field: i16,
}

impl Struct {
    fn field(&mut self, id: i16, kind: u8) {
        let step = id - self.last_field;
        assert!((1..16).contains(&step), "fields are in order");
        self.bytes.push((step as u8) << 4 | kind);
        self.last_field = id;
    }

    fn i32(mut self, id: i16, value: i64) -> Struct {
        self.field(id, 5);
        self.zigzag(value);
        self
    }

    fn i64(mut self, id: i16, value: i64) -> Struct {
        self.field(id, 6);
        self.zigzag(value);
        self
    }

    fn zigzag(&mut self, value: i64) {
        varint(&mut self.bytes, (value << 1 ^ value >> 63) as u64);
    }

    fn text(mut self, id: i16, value: &str) -> Struct {
        self.field(id, 8);
        varint(&mut self.bytes, value.len() as u64);
        self.bytes.extend(value.as_bytes());
        self
    }

    fn part(mut self, id: i16, part: Struct) -> Struct {
        self.field(id, 12);
        self.bytes.extend(part.end());
        self
    }

    /// A list of encoded elements: structures (12), 32-bit integers (5) or texts (8).
    fn list(mut self, id: i16, kind: u8, elements: &[Vec<u8>]) -> Struct {
        self.field(id, 9);
        if elements.len() < 15 {
            self.bytes.push((elements.len() as u8) << 4 | kind);
        } else {
            self.bytes.push(0xf0 | kind);
            varint(&mut self.bytes, elements.len() as u64);
        }
        elements.iter().for_each(|element| self.bytes.extend(element));
        self
    }

    fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

/// `SchemaElement`: an optional column; a text is UTF-8.
fn schema_of(column: &Column) -> Vec<u8> {
    let element = Struct::default().i32(1, column.kind()).i32(3, 1).text(4, column.name());
    let is_text = column.kind() == BYTE_ARRAY;
    if is_text { element.i32(6, 0).end() } else { element.end() }
}

fn file(columns: &[Column], rows: usize) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    let (mut chunks, mut total) = (Vec::new(), 0);
    for column in columns {
        let (page, offset) = (column.page(), bytes.len() as i64);
        // `DataPageHeader`: values, PLAIN, levels in RLE.
        let data = Struct::default().i32(1, rows as i64).i32(2, 0).i32(3, 3).i32(4, 3);
        let length = page.len() as i64;
        let header = Struct::default().i32(1, 0).i32(2, length).i32(3, length).part(5, data);
        bytes.extend(header.end());
        bytes.extend(page);
        let length = bytes.len() as i64 - offset;
        total += length;
        let name = [vec![column.name().len() as u8], column.name().as_bytes().to_vec()].concat();
        // Encodings PLAIN and RLE, as zigzag numbers.
        let chunk = Struct::default().i32(1, column.kind()).list(2, 5, &[vec![0], vec![6]]);
        let chunk = chunk.list(3, 8, &[name]).i32(4, 0).i64(5, rows as i64);
        let chunk = chunk.i64(6, length).i64(7, length).i64(9, offset);
        chunks.push(Struct::default().i64(2, offset).part(3, chunk).end());
    }
    let root = Struct::default().text(4, "schema").i32(5, columns.len() as i64).end();
    let schema: Vec<Vec<u8>> = [root].into_iter().chain(columns.iter().map(schema_of)).collect();
    let group = Struct::default().list(1, 12, &chunks).i64(2, total).i64(3, rows as i64).end();
    let footer = Struct::default().i32(1, 1).list(2, 12, &schema).i64(3, rows as i64);
    let footer = footer.list(4, 12, &[group]).text(6, "ssdyno").end();
    bytes.extend(&footer);
    bytes.extend((footer.len() as u32).to_le_bytes());
    bytes.extend(MAGIC);
    bytes
}

#[cfg(test)]
mod tests {
    use record::{Target, Unit};

    use super::*;

    /// The bytes that pyarrow 26.0 and DuckDB 2.0 were seen to read as these rows.
    #[test]
    fn the_file_is_the_one_that_other_readers_were_seen_to_read() {
        let mut run = Run { id: "01".into(), ..Run::new("quick", Target::default()) };
        let unknown = Metric { value: None, ..Metric::single("b", Unit::Iops, 1.0) };
        run.metrics = vec![Metric::single("a", Unit::BytesPerSecond, 1.5), unknown];
        let bytes = parquet([(&run, Some(5)), (&run, None)]);
        assert!(bytes.starts_with(MAGIC) && bytes.ends_with(MAGIC));
        let footer = bytes.len() - 8;
        let length = u32::from_le_bytes(bytes[footer..footer + 4].try_into().expect("four"));
        assert!((length as usize) < footer);
        // FNV-1a: any change of the encoding must be read by other programs again.
        let digest = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
        });
        assert_eq!(format!("{digest:016x}"), "37f0e8a39a8c4aac");
    }
}
