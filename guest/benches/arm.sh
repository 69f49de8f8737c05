# Both Arm binaries of `cargo xtask dist` on a 64-bit kernel: `list`, and `run` on an SD card, an
# NVMe drive of more than 4 GiB and a directory, through io_uring. For `cargo xtask guest arm`,
# which has no jq.
# drives: nvme:6144M sd scratch:256M
# modules: loop ext4
# seconds: 2400
mkdir -p /scratch
mke2fs "$(device scratch)" >/dev/null 2>&1 && mount "$(device scratch)" /scratch
holds "a file system on the scratch disk" grep -q " /scratch " /proc/mounts

# word NAME: the first value of this key in the record.
word() { sed -n "s/^.*\"$1\": *\"*\([^\",}]*\).*/\1/p" /tmp/record | head -1; }

# measured WHAT COMMAND...: the run ends well, has an answer and used io_uring.
measured() {
    local what=$1
    shift
    if "$@" --json --quiet >/tmp/record 2>/tmp/said; then
        tr ',{' '\n\n' </tmp/record >/tmp/words && mv /tmp/words /tmp/record
        holds "$what: $(word headline)" test -n "$(word headline)"
        is "$what: backend" "$(word backend)" uring
    else
        fail "$what: exit $?"
        cat /tmp/said
    fi
}

echo "$(uname -srm), $(sed -n 's/^CPU part.*: //p' /proc/cpuinfo | head -1)"
for binary in ssdyno ssdyno-armv7; do
    echo "--- $binary, $($binary --version)"
    holds "$binary list" $binary list
    $binary list
    $binary list >/tmp/drives
    for name in nvme sd; do
        block=$(device $name)
        holds "$binary lists $name" grep -q "${block##*/}" /tmp/drives
        measured "$binary reads $name" $binary run "$block" --time 20s
        measured "$binary erases and measures $name" \
            $binary run "$block" --time 20s --destroy="$(serial $name)"
    done
    measured "$binary in a directory" $binary run /scratch --time 20s --size 64MiB
    measured "$binary: the class of the card" \
        $binary run "$(device sd)" -m sdclass --destroy="$(serial sd)"
done
