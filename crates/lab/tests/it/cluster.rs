//! Tests the method `cluster` on virtual cards: files want the unit that the card programs at once.

use std::sync::Arc;

use engine::Simulator;
use model::DriveSpec;
use record::MetricKey;
use rig::Event;
use script::{Options, Session};

/// Moved one by one, small units lose nothing to a card that collects them, but files in them begin
/// within the unit that it programs. All units meet a filled card, the first one too.
#[test]
fn files_want_the_unit_that_the_card_programs_at_once() {
    let method = methods::find("cluster").expect("a method");
    for kib in [8_u32, 16, 64] {
        let unit = (kib << 10).to_string();
        let overrides = [("capacity", "256MiB"), ("map.unit_bytes", unit.as_str())];
        let preset = DriveSpec::preset("sd-class2").expect("a preset");
        let spec = preset.with_overrides(&overrides).expect("permitted");
        let mut rig = Simulator::new(spec, "sim:card", Arc::default(), Box::new(|_: &Event| {}));
        let mut session = Session::new(&mut rig);
        let options = Options { size: Some(64 << 20), ..Options::default() };
        session.run(method, &options).expect("nothing is wrong");
        let out = session.finish();
        let value = |name: &str| out.value(MetricKey::parse(name)).expect("measured");
        assert_eq!(value("cluster-knee-files"), f64::from(kib << 10), "{unit}");
        let headline = &out.answer.as_ref().expect("declared").headline;
        assert!(headline.starts_with(&format!("{kib} KiB units record files at ")), "{headline}");
        let first = value("cluster-exfat-2KiB") / value("cluster-exfat-4KiB");
        assert!((0.7..1.3).contains(&first), "{unit}: {first}");
    }
}
