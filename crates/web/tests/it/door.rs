//! What the server shows, and whom it refuses.

use crate::served::{Served, documents, hostile};

/// Texts that would end an attribute, an element or a script, or turn the text around.
const HOSTILE: &str = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>\u{202e}";

/// The addresses of a kind on a page.
fn links(page: &str, kind: &str) -> Vec<String> {
    let parts = page.split("href=\"").skip(1).filter_map(|part| part.split('"').next());
    let mut links: Vec<String> =
        parts.filter(|link| link.starts_with(kind)).map(String::from).collect();
    links.sort();
    links.dedup();
    links
}

#[test]
fn every_page_leads_to_the_others() {
    let served = Served::with(&documents(60, 2));
    let list = served.get("index.html");
    assert_eq!((list.status, served.get("").status), (200, 200));
    assert!(list.body.contains("60 records"), "{}", list.body);
    assert_eq!(links(&list.body, "run-").len(), 50, "a page of the list");
    let older = links(&list.body, "index.html?").pop().expect("older records");
    assert_eq!(links(&served.get(&older).body, "run-").len(), 10);
    assert!(served.get("index.html?drive=S6Z1NJ00001").body.contains("30 records"));
    assert!(served.get("index.html?method=sustain").body.contains("No records match"));
    assert_eq!(served.get("index.html?tag=nonsense").status, 400);
    let drives = served.get("drives.html").body;
    for (kind, words) in [("drive-", "quick: "), ("model-", "10%")] {
        let pages = links(&drives, kind);
        assert_eq!(pages.len(), 2, "{kind}");
        let page = served.get(&pages[0]);
        assert!(page.status == 200 && page.body.contains(words), "{}", page.body);
        for form in ["json", "csv"] {
            let reply = served.get(&pages[0].replace("html", form));
            assert!(reply.status == 200 && reply.body.contains("seq-read-1MiB-q8"), "{reply:?}");
        }
    }
    let record = served.get("run-1.html").body;
    assert_eq!(links(&record, "drive-").len(), 1);
    assert_eq!(served.get("run-1.csv").body.lines().count(), 5);
    assert!(served.get("run-1.json").body.contains("\"S6Z1NJ00000\""));
    assert_eq!(served.get("live-1.html").status, 303, "it has ended");
    let compared = served.get("compare.html?run=1&run=2");
    assert!(compared.status == 200 && compared.body.contains("Comparison"), "{compared:?}");
    assert_eq!(served.get("compare.html?run=1").status, 400);
    assert!(served.get("measure.html").body.contains("name=\"token\""));
    assert_eq!(served.get("machine.html").status, 200);
    for nowhere in ["run-61.html", "run-1.exe", "drive-00.html", "../etc/passwd", "live-1.csv"] {
        assert_eq!(served.get(nowhere).status, 404, "{nowhere}");
    }
}

#[test]
fn a_foreign_page_a_rebound_name_and_a_missing_token_are_refused() {
    let served = Served::with(&[]);
    let (host, cookie) = (format!("Host: {}", served.host), served.cookie());
    let origin = format!("Origin: http://{}", served.host);
    let cases: [(&str, &[&str]); 6] = [
        ("GET /", &[&host]),
        ("GET /", &["Host: rebound.example", &cookie]),
        ("GET /", &[&host, &cookie, "Origin: http://foreign.example"]),
        ("POST /start", &[&host, &cookie, "Origin: http://foreign.example"]),
        ("POST /start", &[&host, &cookie, "Origin: null"]),
        ("POST /start", &[&host, &origin]),
    ];
    for (line, headers) in cases {
        let answer = served.send(line, headers, "target=/&method=quick");
        assert_eq!(answer.status, 403, "{line} {headers:?}: {answer:?}");
        assert!(!answer.body.contains("html"), "nothing is shown");
    }
    assert_eq!(served.send("GET /", &[&host, &cookie], "").status, 200);
    for form in ["target=/tmp&method=quick", "token=&target=/tmp&method=quick"] {
        let answer = served.post("start", form);
        assert!(answer.status == 403 && answer.body.contains("token"), "{answer:?}");
    }
    assert_eq!(served.post("stop", "").status, 403);
}

#[test]
fn a_form_with_its_token_starts_what_is_permitted_only() {
    let served = Served::with(&[]);
    let page = served.get("measure.html").body;
    let token =
        page.split("name=\"token\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
    let token = token.expect("a token");
    for (target, method, reason) in [
        ("/mnt/disk", "sustain", "give its serial number"),
        ("/mnt/disk", "speed", "not started from here"),
        ("--destroy%3DS1", "quick", "not measured from here"),
        ("pci:0000:01:00.0", "quick", "not measured from here"),
        ("", "quick", "name a directory"),
        ("/mnt/disk", "quick", "could not be started"),
        ("/mnt/disk", "sustain&destroy=S1", "could not be started"),
    ] {
        let answer =
            served.post("start", &format!("token={token}&target={target}&method={method}"));
        assert_eq!(answer.status, 400, "{target} {method}");
        assert!(answer.body.contains(reason), "{target} {method}: {}", answer.body);
    }
}

#[test]
fn every_text_of_a_hostile_record_stays_text() {
    let served = Served::with(&[documents(1, 1), vec![hostile(HOSTILE)]].concat());
    let drives = served.get("drives.html").body;
    let pages = [links(&drives, "drive-"), links(&drives, "model-")].concat();
    let fixed = ["index.html", "drives.html", "run-2.html", "compare.html?run=1&run=2"];
    let typed = format!("index.html?drive={}", "%22%3E%3Cscript%3Ealert(1)%3C/script%3E");
    let names = pages.iter().map(String::as_str).chain(fixed).chain([typed.as_str()]);
    for name in names {
        let page = served.get(name).body;
        let text = page.split("<script type=\"application/json\"").next().expect("a page");
        assert!(!text.contains("<script>alert") && !text.contains("<img src=x"), "{name}: {text}");
        assert!(!page.contains("</script><img") && !page.contains('\u{202e}'), "{name}: {page}");
    }
    let list = served.get("index.html");
    assert!(list.body.contains("&lt;script&gt;alert(1)"), "it is shown as text");
    for policy in ["default-src 'none'", "script-src 'self'", "base-uri 'none'"] {
        assert!(list.body.contains(policy), "{policy}");
    }
    assert!(list.head.contains("nosniff") && list.head.contains("frame-ancestors 'none'"));
}

#[test]
fn a_run_in_progress_is_followed_until_it_ends() {
    let served = Served::with(&[]);
    let mut store = served.store();
    let run = crate::samples::vary(&crate::samples::template(), 1, 1).run().clone();
    let begun = record::Run { complete: false, metrics: Vec::new(), ..run.clone() };
    let number = store.begin(&begun).expect("begun");
    let page = served.get(&format!("live-{number}.html"));
    assert!(page.status == 200 && page.body.contains("live-1.events"), "{page:?}");
    let finished = std::thread::scope(|scope| {
        let events = scope.spawn(|| served.get(&format!("live-{number}.events")));
        store.finish(&record::Run { number: Some(number), ..run }).expect("finished");
        events.join().expect("events")
    });
    assert!(finished.head.contains("text/event-stream"), "{finished:?}");
    assert!(finished.body.contains("event: end\ndata: run-1.html"), "{finished:?}");
}
