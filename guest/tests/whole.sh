# Short runs of methods that bring a whole drive into states: `states` on every kind of drive, and
# each of the others on one kind (all of them on every kind take a quarter of an hour).
# each: nvme:32M ssd:32M disk:32M usb:32M uas:32M sd:32M
# seconds: 300
block=$(device "$drive")
away=--destroy=$(serial "$drive")
short() { local name=$1 metrics=$2; measured "$name" "$metrics" -m "$name" "$away" --time 3s --size 8MiB; }
metric() { jq -r "[.metrics[] | select(.name | test(\"$1\"))] | length" /tmp/record; }

short states 30
read -r discards <"/sys/block/${block##*/}/queue/discard_max_bytes"
# Of a part of the drive: nothing can be concluded about all of it. Without discards it says so.
is "warns that nothing is discarded" "$(jq '[.warnings[] | select(.name == "no-discard")] | length' /tmp/record)" \
    "$((discards == 0))"

case $drive in
    nvme)
        short lbaf 18
        is "its format after lbaf" "$(cat "/sys/block/${block##*/}/queue/logical_block_size")" 512
        is "rates in 4096" "$(metric '-in-4096$')" 6
        is "ratios" "$(metric 'ratio$')" 6
        short snia-latency 20
        ;;
    ssd) short snia-throughput 4; short snia-wsat 2 ;;
    disk) short snia-dirth 98 ;;
    usb) short snia-xsr 6 ;;
    uas) short snia-hir 11 ;;
    sd)
        # A round of 56 mixes takes minutes here, so it is interrupted in the first.
        mkfifo /tmp/events
        ended=
        ssdyno run "$block" -m snia-iops "$away" --time 3s --size 8MiB --json --events --quiet \
            >/tmp/events 2>/tmp/said &
        run=$!
        while read -r line; do
            echo "$line" >/tmp/record
            # Only once: a second signal ends the process immediately.
            [ -n "$ended" ] && continue
            case $line in
                *'"part":"snia-iops-8KiB-r100"'*) kill -INT $run; ended=yes ;;
            esac
        done </tmp/events
        wait $run
        is "snia-iops, interrupted" $? 130
        values run '{complete, cut_short,
            odd: ([.metrics[] | select(.value != null and .value <= 0) | .name] | join(" ")),
            cells: ([.metrics[] | .name] | map(select(test("^snia-iops-[0-9]+[KM]iB-r100$"))) | length)}' \
            /tmp/record
        is "why it ended" "$run_complete $run_cut_short" "false interrupted"
        is "rates out of reason" "$run_odd" ""
        # Five had ended before the signal; the sixth may end before it arrives. On a busy machine, a
        # cell during which the guest stood still has no rate.
        is "some cells ended, but not all" "$((run_cells >= 1 && run_cells < 8))" 1
        ;;
esac
[ "$drive" = nvme ] || {
    exits 2 "a format without support" ssdyno run "$block" -m lbaf "$away" --time 1s
    says "cannot be formatted to another block size"
}
