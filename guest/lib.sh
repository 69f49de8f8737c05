# Functions for scripts in the guest. A check prints `ok` or `not ok`; the script continues, and
# fails at its end if a check failed.

# host REQUEST...: asks the host (xtask/src/guest/session.rs), prints its answer.
#   unplug NAME, plug NAME    attach and detach a drive
#   reset                     the whole machine, at once; the script starts again with boot=2
#   limit NAME KEY=N ...      throttles a virtio disk in QEMU (block_set_io_throttle): iops, bps, iops_max, bps_max
#   blocks NAME, hash NAME    512-byte blocks that the image takes, SHA-256 of what is in it
#   jq ...                    see below
host() {
    echo "$*" >&3
    local answer
    read -r answer <&3 && echo "$answer"
    case $answer in error*) return 1 ;; esac
}

# jq ARGUMENTS... [FILE]: the host's jq, because processes are slow here. The request is one line, as
# newlines in JSON only separate words. Control characters separate: US the arguments, RS the input
# from them, and the lines of the answer.
jq() {
    local file answer from=file IFS
    IFS=$(printf '\037')
    for file; do :; done
    [ -f "$file" ] || { from=input; file=-; }
    { printf 'jq %s\037%s\036' "$from" "$*"; cat "$file"; } | tr '\n' ' ' >&3
    echo >&3
    answer=$(head -n 1 <&3)
    printf '%s' "${answer#* }" | tr '\036' '\n'
    return "${answer%% *}"
}

# Busybox prefers its own tools to those in the path.
for tool in blkdiscard fdisk losetup mkswap swapon; do
    [ -x /usr/bin/$tool ] && eval "$tool() { /usr/bin/$tool \"\$@\"; }"
done

# load MODULE...: with dependencies; ignores built-in modules.
load() { for m; do modprobe "$m" 2>/dev/null; done; }

# await SECONDS COMMAND...: repeats the command until it succeeds; fails after that time.
await() {
    local end=$(($(date +%s) + $1)); shift
    until "$@"; do
        [ "$(date +%s)" -lt $end ] || return 1
        usleep 20000
    done
}

# device NAME: the block device of a drive, found by its location on its bus.
device() {
    local entry rest glob block path
    for entry in $volumes; do
        [ "${entry%%|*}" = "$1" ] || continue
        rest=${entry#*|}; glob=${rest%%|*}
        for block in /sys/block/*; do
            path=$(readlink -f "$block")
            case $path in *boot?|*rpmb) continue ;; $glob) echo "/dev/${block##*/}"; return 0 ;; esac
        done
    done
    return 1
}

# present NAME: whether its device exists; arrives and leaves wait for a change.
present() { local d; d=$(device "$1") && test -b "$d"; }
gone() { ! present "$1"; }
arrives() { await 30 present "$1"; }
leaves() { await 30 gone "$1"; }

# serial NAME: the confirmation for --destroy.
serial() {
    local entry
    for entry in $volumes; do [ "${entry%%|*}" = "$1" ] && echo "${entry##*|}"; done
}

failed=0
pass() { echo "ok       $*"; }
fail() { echo "not ok   $*"; failed=$((failed + 1)); }

# is WHAT GOT WANTED
is() { if [ "$2" = "$3" ]; then pass "$1: $2"; else fail "$1: is '$2', not '$3'"; fi; }

# holds WHAT COMMAND...: the command succeeds; otherwise its output is shown.
holds() {
    local what=$1; shift
    if "$@" >/tmp/said 2>&1; then pass "$what"; else fail "$what: exit $?"; cat /tmp/said; fi
}

# exits STATUS WHAT COMMAND...: the command ends with this status; its output stays in /tmp/said.
exits() {
    local wanted=$1 what=$2 status; shift 2
    "$@" >/tmp/said 2>&1; status=$?
    if [ $status = "$wanted" ]; then pass "$what: exit $status"
    else fail "$what: exit $status, not $wanted"; cat /tmp/said; fi
}

# values PREFIX FILTER FILE: sets a variable for every value that the jq filter returns for the file:
# .drive.link.now becomes ${PREFIX}_drive_link_now.
values() {
    eval "$(jq -r --arg prefix "$1" "($2)"' as $all | $all
        | paths(type != "object" and type != "array") as $path
        | $prefix + "_" + ($path | map(tostring) | join("_") | gsub("[^A-Za-z0-9]"; "_")) + "="
        + ($all | getpath($path) | tostring | sub(" *$"; "") | @sh)' "$3")"
}

# sane WHAT METRICS: /tmp/record is complete, without errors, of $drive, with plausible rates and at
# least this many metrics. A short workload on a busy machine can end before its first operation, and
# its rate is then null; at most a quarter of the rates may be.
sane() {
    values run '{complete, cut_short, errors: (.errors | length), metrics: (.metrics | length),
        serial: .target.drive.serial, safety: .plan.safety, state_after,
        rates: ([.metrics[] | select(.unit == "B/s" or .unit == "IOPS")]
            | {all: length, unmeasured: (map(select(.value == null)) | length),
                odd: (map(select(.value != null and (.value <= 0 or .value > 1e11))
                    | "\(.name)=\(.value)") | join(" "))})}' /tmp/record
    is "$1 is whole" "$run_complete $run_cut_short" "true null"
    is "$1 met no errors" "$run_errors" 0
    is "$1 names the drive" "$run_serial" "$(serial "$drive")"
    is "$1 rates out of reason" "$run_rates_odd" ""
    [ $((run_rates_unmeasured * 4)) -le "$run_rates_all" ] ||
        fail "$1 did not measure $run_rates_unmeasured of $run_rates_all rates"
    [ "$run_metrics" -ge "$2" ] || fail "$1 has $run_metrics metrics, not $2"
}

# measured WHAT METRICS ARGUMENTS...: a run on $block whose record is sane.
measured() {
    local name=$1 metrics=$2; shift 2
    if ssdyno run "$block" --json --quiet "$@" >/tmp/record 2>/tmp/said; then sane "$name" "$metrics"
    else fail "$name: exit $?"; cat /tmp/said; fi
}

# says TEXT...: the last command of `exits` or `holds` printed this text.
says() { if grep -qF -- "$*" /tmp/said; then pass "says: $*"; else fail "does not say: $*"; cat /tmp/said; fi; }

# skip WHY: skips the rest, and counts the script as skipped.
skip() { finish; echo "skipped: $*"; exit 0; }

finish() { [ "$failed" = 0 ] || { echo "failed: $failed"; exit 1; }; }
