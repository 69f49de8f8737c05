# Where the time goes, beside the kernel's own counters: parts of reads of a drive, behind a layer that
# delays them, and below a control group's limit. In the kernel's trace, where it permits one.
# drives: nvme:64M
# modules: dm_mod dm_delay
# needs: jq dmsetup
# seconds: 600
part() { jq -r --arg key "$1" '[.metrics[] | select(.name == $key).value][0] // 0 | floor' /tmp/said; }
# reads TARGET OPTIONS...: 4 KiB one at a time
reads() {
    local target=$1; shift
    ssdyno io "$target" --rw randread --bs 4k --time 6s --seed 7 --json --quiet "$@" >/tmp/said 2>/tmp/errors ||
        { fail "io $target"; cat /tmp/errors; }
    echo "$target: $(jq -r '[.metrics[] | select(.name | startswith("time-")) | "\(.name) \(.value | floor)"] | join(", ")' /tmp/said)"
}
ticks() { set -- $(cat "/sys/block/${device#/dev/}/stat"); echo "$1 $4"; }
at_most() { if [ "$2" -le "$3" ]; then pass "$1: $2"; else fail "$1: $2, not at most $3"; fi; }
device=$(device nvme)
ssdyno io "$device" --rw write --bs 1M --time 5s --quiet --destroy="$(serial nvme)" >/dev/null || fail "filled"
before=$(ticks); reads "$device"; after=$(ticks)
set -- $before $after
total=$(part time-total) drive=$(part time-drive) queue=$(part time-queue) held=$(part time-held)
counted=$((($4 - $2) * 1000000 / ($3 - $1)))
[ "$held" -gt 0 ] && pass "the trace divides the time" || fail "no trace here"
at_most "not explained, per mille" $(($(part time-unexplained) * 1000 / total)) 80
difference=$((drive + queue - counted))
at_most "queue and drive beside the kernel's $counted ns, per mille" $((${difference#-} * 1000 / counted)) 100
# A layer that waits a millisecond moves the time in the drive, and nothing else.
read -r sectors <"/sys/block/${device#/dev/}/size"
dmsetup create --noudevsync --noudevrules later --table "0 $sectors delay $device 0 1" || fail "dmsetup"
# Without udev, nothing makes the node with its name.
later=/dev/dm-$(dmsetup info -c --noheadings -o minor later)
await 10 test -b "$later"
reads "$later"
added=$(($(part time-drive) - drive))
[ $added -ge 950000 ] && [ $added -le 2500000 ] && pass "a delay of 1 ms: $added ns" || fail "a delay of 1 ms: $added ns"
dmsetup remove --noudevsync --noudevrules later
