# Short runs of the methods that detect a drive's internals: on every kind of drive each ends with
# an answer, or reports that the drive does not show it. `fake`, `wear` and `restore` are in
# methods.sh.
# each: nvme:32M ssd:32M usb:32M sd:32M
# seconds: 300
block=$(device "$drive")
away=--destroy=$(serial "$drive")

# answered METHOD METRICS ARGUMENTS...: a sane record with a sentence and a conclusion.
answered() {
    local name=$1 metrics=$2; shift 2
    measured "$name" "$metrics" -m "$name" "$away" --size 16MiB "$@"
    values answer '{headline: (.answer.headline // ""), verdict: (.verdicts[0].name // "none")}' /tmp/record
    [ -n "$answer_headline" ] && pass "$name says: $answer_headline" || fail "$name has no answer"
}

answered geometry 8 --time 1s
case $answer_verdict in
    GEOMETRY | UNDETERMINED) pass "geometry concludes: $answer_verdict" ;;
    *) fail "geometry concludes: $answer_verdict" ;;
esac
answered curve 3 --time 1s
answered iometer 1 --time 1s
answered power 3 --time 1s
case $answer_verdict in
    "POWER STATE" | "NO POWER STATE" | UNDETERMINED) pass "power concludes: $answer_verdict" ;;
    *) fail "power concludes: $answer_verdict" ;;
esac
answered sdclass 4 --time 1s
answered authentic 10 --time 2s
is "runs kept" "$(ssdyno runs --json | jq length)" 6
