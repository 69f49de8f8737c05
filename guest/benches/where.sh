# Where the time goes, beside the kernel's own counters: parts of reads of a drive, and of a layer above it
# that delays them or decrypts. In the kernel's trace, where it permits one.
# drives: nvme:64M tight:64M
# modules: dm_mod dm_delay dm_crypt aes_generic ecb xts
# needs: dmsetup
# seconds: 600
part() { jq -r --arg key "$1" '[.metrics[] | select(.name == $key).value][0] // 0 | floor' /tmp/said; }
# reads TARGET OPTIONS...: 4 KiB one at a time
reads() {
    local target=$1; shift
    ssdyno io "$target" --rw randread --bs 4k --time 6s --seed 7 --json --quiet "$@" >/tmp/said 2>/tmp/errors ||
        { fail "io $target"; cat /tmp/errors; }
    echo "$target: $(jq -r '[.metrics[] | select(.name | startswith("time-")) | "\(.name) \(.value | floor)"] | join(", ")' /tmp/said)"
}
names() {
    jq -e --arg name "$1" '.verdicts[] | select(.name == $name)' /tmp/said >/dev/null && pass "names $1" ||
        fail "does not name $1: $(jq -c '[.verdicts[].name]' /tmp/said)"
}
ticks() { set -- $(cat "/sys/block/${1#/dev/}/stat"); echo "$1 $4"; }
# counted DEVICE: the kernel's mean time of a read of it since the counts in `before`, nanoseconds.
counted() { set -- $before $(ticks "$1"); echo $((($4 - $2) * 1000000 / ($3 - $1))); }
beside() { difference=$(($2 - $3)); at_most "$1 beside the kernel's $3 ns, per mille" $((${difference#-} * 1000 / $3)) "$4"; }
at_most() { if [ "$2" -le "$3" ]; then pass "$1: $2"; else fail "$1: $2, not at most $3"; fi; }
device=$(device nvme)
ssdyno io "$device" --rw write --bs 1M --time 5s --quiet --destroy="$(serial nvme)" >/dev/null || fail "filled"
before=$(ticks "$device"); reads "$device"
counted=$(counted "$device")
total=$(part time-total) drive=$(part time-drive) queue=$(part time-queue) held=$(part time-held)
[ "$held" -gt 0 ] && pass "the trace divides the time" || fail "no trace here"
at_most "not explained, per mille" $(($(part time-unexplained) * 1000 / total)) 80
beside "queue and drive" $((drive + queue)) "$counted" 100
# A request that the driver had no room for is issued again; the last issue counts.
tight=$(device tight)
before=$(ticks "$tight"); reads "$tight" --depth 8
counted=$(counted "$tight")
[ "$(part time-queue)" -gt 0 ] && pass "requests that are issued again are in the trace" || fail "no trace of requests that are issued again"
beside "issued again: queue and drive" $(($(part time-drive) + $(part time-queue))) "$counted" 100
# A queue of four refuses requests that may not wait; io_uring's workers issue them again.
echo 4 >"/sys/block/${device#/dev/}/queue/nr_requests"
reads "$device" --depth 32
echo 1023 >"/sys/block/${device#/dev/}/queue/nr_requests"
[ "$(part time-queue)" -gt 0 ] && pass "refused requests are in the trace" || fail "no trace of refused requests"
at_most "refused: not explained, per mille" $(($(part time-unexplained) * 1000 / $(part time-total))) 80
[ $((($(part time-held) + $(part time-queue)) * 2)) -gt "$(part time-total)" ] && pass "held for a place in the queue" || fail "held: $(part time-held) ns"
names "IO LIMIT"
# What a layer takes is its own: it waits one of the kernel's ticks or more, or decrypts.
layer() {
    local name=$1 table=$2 whole below
    dmsetup create --noudevsync --noudevrules "$name" --table "$table" || { fail "dmsetup $name"; return; }
    # Without udev, nothing makes the node with its name.
    local node=/dev/dm-$(dmsetup info -c --noheadings -o minor "$name")
    await 10 test -b "$node"
    before=$(ticks "$node") first=$(ticks "$device"); reads "$node"
    whole=$(counted "$node"); before=$first; below=$(counted "$device")
    beside "$name: the drive" $(($(part time-drive) + $(part time-queue))) "$below" 100
    difference=$(($(part time-layer) - (whole - below)))
    at_most "$name: the layer beside the kernel's $((whole - below)) ns, per mille of all" $((${difference#-} * 1000 / $(part time-total))) 50
    at_most "$name: not explained, per mille" $(($(part time-unexplained) * 1000 / $(part time-total))) 80
    dmsetup remove --noudevsync --noudevrules "$name"
}
read -r sectors <"/sys/block/${device#/dev/}/size"
layer delay "0 $sectors delay $device 0 1"
[ "$(part time-layer)" -ge 1000000 ] && pass "a delay of 1 ms" || fail "a delay of 1 ms: $(part time-layer) ns"
names LAYER
layer crypt "0 $sectors crypt aes-xts-plain64 $(printf '%064d' 7) 0 $device 0"
