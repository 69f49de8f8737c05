# A drive is pulled out during a run: the run ends with its results so far, exit 4, and the record
# stays.
# Not `uas`: QEMU 7.2 itself ended in two of five unplugs.
# each: usb nvme
# seconds: 200
block=$(device "$drive")
mkfifo /tmp/events

# pulled RUN-ARGUMENTS...: unplugs at the second interval of the first workload that writes.
pulled() {
    ssdyno run "$block" --destroy="$(serial "$drive")" --json --events --quiet "$@" >/tmp/events 2>/tmp/said &
    local run=$! intervals=0 line
    while read -r line; do
        echo "$line" >/tmp/last
        case $line in *'"event":"interval"'*) intervals=$((intervals + 1)) ;; esac
        [ $intervals = 2 ] && { intervals=3; is "unplug" "$(host unplug "$drive")" ok; }
    done </tmp/events
    wait $run
    is "exit" $? 4
    cat /tmp/said
}
pulled --time 60s
leaves "$drive" || fail "$drive is still there"
values record . /tmp/last
is "its last line is the record" "$record_method $record_complete" "quick false"
# If it is pulled out between two workloads, no operation fails, but the guard reports it.
case $record_errors_0_kind$record_cut_short in
    ?*) pass "says: $record_cut_short $record_errors_0_kind" ;;
    *) fail "the record does not say why" ;;
esac
is "the record is kept" "$(ssdyno show last --json | jq -r '.id')" "$record_id"
holds "and can be loaded" ssdyno show last
cat /tmp/said
