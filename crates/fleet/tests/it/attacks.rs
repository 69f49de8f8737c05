//! Whoever has a login of an agent, or the hub without root's consent, reaches what is theirs and no more.

use std::time::Duration;

use fleet::collect::{Collector, Posted};
use fleet::envelope::{CollectorReply, Envelope, LetterKind};
use fleet::hub::{Hub, Presence, agent_subjects, inbox};
use fleet::job::FleetJob;
use fleet::key::AgentKey;
use fleet::notice::JobEnd;
use futures_util::StreamExt as _;

use crate::both::{MACHINE, record_of, run, sealed, send};
use crate::fleet_on_loopback::Loopback;

/// Time in which a message that NATS lets pass would have arrived.
const PASSAGE: Duration = Duration::from_millis(300);

/// A file that an agent serves as its drive.
const DRIVE_BYTES: usize = 64 << 20;

#[test]
fn an_agent_reaches_only_what_is_its_own() {
    let Some(mut trial) = Loopback::up() else { return };
    let drive = trial.word("drive.img");
    std::fs::write(&drive, vec![0; DRIVE_BYTES]).expect("a file");
    trial.start_agent("victim", &["--target", &drive]);
    trial.wait_for(&["agents"], "victim");
    let (_, config) = run(trial.enrol(5, MACHINE));
    run(async {
        let hub = Hub::connect(&trial.hub(), "test").await.expect("connected");
        let agents = hub.agents().await.expect("agents");
        let victim = agents.iter().find(|agent| agent.host == "victim").expect("the victim");
        let attacker = Hub::stay_as(&config, MACHINE).await.expect("connected");
        let own = agent_subjects(MACHINE)[0][1].clone();
        let mut heard = hub.client.subscribe(">").await.expect("subscribed");
        hub.client.flush().await.expect("flushed");
        for subject in [
            format!("job.{}", victim.machine),
            "pool.x".into(),
            format!("record.{}", victim.machine),
            format!("live.agent.{}", victim.machine),
            inbox(&victim.machine) + ".x",
            "$JS.API.CONSUMER.CREATE.JOBS".into(),
            format!("$JS.API.CONSUMER.MSG.NEXT.JOBS.machine-{}", victim.machine),
            format!("$JS.ACK.JOBS.machine-{}.1.1.1.1.0", victim.machine),
            "$JS.API.STREAM.PURGE.JOBS".into(),
        ] {
            attacker.client.publish(subject, "{}".into()).await.expect("sent");
        }
        // An end that does arrive, after all the others.
        attacker.client.publish(own.clone(), "end".into()).await.expect("sent");
        while let Some(message) = heard.next().await {
            if *message.subject == own {
                break;
            }
            assert_ne!(message.payload, "{}", "{}", message.subject);
        }
        let spied = format!("{}.>", inbox(&victim.machine));
        let mut spied = attacker.client.subscribe(spied).await.expect("sent");
        attacker.client.flush().await.expect("flushed");
        hub.client.publish(inbox(&victim.machine) + ".x", "secret".into()).await.expect("sent");
        assert!(!matches!(tokio::time::timeout(PASSAGE, spied.next()).await, Ok(Some(_))), "spied");
        // A presence of other machines, and one that is none.
        for machine in [victim.machine.as_str(), "\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}", "*"] {
            let lie = Presence { machine: machine.into(), host: "lie".into(), ..victim.clone() };
            let lie = serde_json::to_vec(&lie).expect("JSON");
            attacker.client.publish(own.clone(), lie.into()).await.expect("sent");
            attacker.client.flush().await.expect("flushed");
            let agents = hub.agents().await.expect("agents");
            assert!(agents.iter().all(|agent| agent.host != "lie"), "{agents:?}");
        }
        // The server itself carries an answer into the queue of another machine. It is no job.
        let question = "$JS.API.CONSUMER.NAMES.POOLS";
        let queue = format!("job.{}", victim.machine);
        attacker.client.publish_with_reply(question, queue.clone(), "".into()).await.expect("sent");
        attacker.client.flush().await.expect("flushed");
        // Nor is what a server makes up.
        let forged = FleetJob { id: "forged".into(), ..job(&drive, "quick") };
        let forged = [&[0; 64][..], forged.text().expect("JSON").as_bytes()].concat();
        hub.client.publish(queue, forged.into()).await.expect("sent");
        hub.client.flush().await.expect("flushed");
        trial.wait_for(&["refusals"], "not signed by the hub");
        // The hub's own jobs: twice the same, and one by another name of the same drive.
        let key = trial.hub().key().expect("a key");
        let once = FleetJob { id: "once".into(), ..job(&drive, "quick") };
        let detour = drive.replace("/drive.img", "/./drive.img");
        let around = FleetJob { id: "around".into(), ..job(&detour, "quick") };
        let borrowing =
            FleetJob { id: "borrow".into(), options: Default::default(), ..job(&drive, "fake") };
        for job in [&once, &once, &around, &borrowing] {
            hub.ask_machine(&key, &victim.machine, job).await.expect("put");
        }
        trial.wait_for(&["jobs", "borrow"], "refused");
        let central = trial.central().await;
        let notices = central.notices("", None).await.expect("notices");
        let ends = |id: &str| -> Vec<String> {
            let own = notices.iter().filter(|notice| notice.job == id);
            own.map(|notice| notice.end.clone()).collect()
        };
        assert_eq!(ends("once"), [JobEnd::Measured.name()]);
        assert_eq!(ends("around"), [JobEnd::Refused.name()]);
        assert_eq!(central.hashes(None).await.expect("hashes").len(), 1);
    });
}

#[test]
fn a_revoked_key_signs_nothing_and_letters_of_an_attacker_keep_nobody_out() {
    let Some(trial) = Loopback::up() else { return };
    let (key, config) = run(trial.enrol(5, MACHINE));
    let hub = trial.word("trial/hub.toml");
    run(async {
        let agent = Hub::stay_as(&config, MACHINE).await.expect("connected");
        let committed = send(&agent, sealed(&key, &record_of(MACHINE, 1.0))).await;
        assert!(matches!(committed, CollectorReply::Committed(_)), "{committed:?}");
        let output = trial.fleet(&["revoke", "--hub", &hub, MACHINE]);
        assert!(output.status.success(), "{output:?}");
        let again = Hub::connect(&config, "test").await;
        assert!(again.is_err(), "a revoked agent connects");
        let mut collector =
            Collector::connect(trial.hub().postgres().expect("words")).await.expect("a collector");
        let late = sealed(&key, &record_of(MACHINE, 2.0));
        let late = Posted { sender: MACHINE, bytes: &late };
        let replies = collector.collect(&[late]).await.expect("collected");
        assert!(matches!(&replies[0], CollectorReply::Refused(why) if why.contains("revoked")));
        let line = format!("ssdyno-key {} {MACHINE} lab", fleet::digits::hex(&key.public()));
        let output = trial.fleet(&["enrol", "--hub", &hub, &line]);
        assert!(!output.status.success(), "a revoked key is enrolled again: {output:?}");
    });
    let (key, _) = run(trial.enrol(7, MACHINE));
    run(async {
        let mut collector =
            Collector::connect(trial.hub().postgres().expect("words")).await.expect("a collector");
        // PostgreSQL has no NUL in a text, and no index of such a name.
        let mut letters = vec![sealed(&key, &record_of(MACHINE, 3.0))];
        for name in ["a\0b".to_string(), noise(20_000)] {
            let mut run = record_of(MACHINE, 4.0).run().clone();
            run.metrics[0].name = name;
            let document = record::Document::from_run(run).expect("plain data");
            letters.push(sealed(&key, &document));
        }
        letters.push(sealed(&key, &record_of(MACHINE, 5.0)));
        let posted: Vec<Posted<'_>> =
            letters.iter().map(|bytes| Posted { sender: MACHINE, bytes }).collect();
        let replies = collector.collect(&posted).await.expect("collected");
        let committed: Vec<bool> =
            replies.iter().map(|reply| matches!(reply, CollectorReply::Committed(_))).collect();
        assert_eq!(committed, [true, false, false, true], "{replies:?}");
        let central = trial.central().await;
        assert_eq!(central.hashes(None).await.expect("hashes").len(), 3);
        // A flood of refused letters: the latest of its sender stay, and so does what others did.
        let stranger = AgentKey::from_secret(&[9; 32]);
        let flood: Vec<Vec<u8>> = (0..1100u64)
            .map(|i| {
                let mut hash = [0; 32];
                hash[..8].copy_from_slice(&i.to_le_bytes());
                Envelope::seal(&stranger, LetterKind::Record, hash, "").to_bytes()
            })
            .collect();
        let flooder = "0f".repeat(16);
        for letters in flood.chunks(256) {
            let posted: Vec<Posted<'_>> =
                letters.iter().map(|bytes| Posted { sender: &flooder, bytes }).collect();
            collector.collect(&posted).await.expect("collected");
        }
        let count = central.refusal_count().await.expect("counted");
        assert!((1000..=1003).contains(&count), "{count} refusals");
    });
}

/// A short job without an id.
fn job(target: &str, method: &str) -> FleetJob {
    let options = [("time", "1s"), ("size", "16MiB")];
    FleetJob {
        target: target.into(),
        method: method.into(),
        options: options.map(|(name, value)| (name.into(), value.into())).into(),
        ..FleetJob::default()
    }
}

/// A text that does not compress.
fn noise(length: usize) -> String {
    let mut state = 1u64;
    let mut text = String::new();
    while text.len() < length {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        text.push(char::from(b'a' + (state >> 33) as u8 % 26));
    }
    text
}
