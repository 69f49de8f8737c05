# `geometry` compared with flashbench, and `fake` with f3, on the same drives: unmodified, with a
# second half that repeats the first, and with one that keeps nothing. Prints `finding DEVICE TOOL
# WORDS`, which `cargo xtask bench beside` reads.
# drives: sd:256M usb:256M nvme:256M
# modules: dm_mod dm_zero exfat
# needs: flashbench f3probe f3write f3read dmsetup mkfs.exfat
# seconds: 1800
finding() {
    local on=$1 tool=$2
    shift 2
    echo "finding $on $tool $(echo "$*" | tr '\n|' ' /' | tr -s ' ')"
}
# word DEVICE: the confirmation for --destroy.
word() { ssdyno list "$1" --json | jq -r ".[0].allowance.confirm"; }
# headline ON METHOD TARGET [OPTION]: `fake` ends with 1 on a drive that loses content.
headline() {
    local on=$1 method=$2 code=0
    shift 2
    ssdyno run -m "$method" "$@" --json --quiet >/tmp/record 2>/tmp/said || code=$?
    if [ $code -le 1 ]; then
        finding "$on" "$method" "$(jq -r '.answer.headline' /tmp/record)"
    else
        fail "$method on $on: exit $code"
        cat /tmp/said
    fi
}
# probed ON DEVICE: the real capacity, by both tools.
probed() {
    local on=$1 block=$2
    f3probe --destructive "$block" >/tmp/said 2>&1
    finding "$on" f3probe "$(sed -n 's/^.* news: The device .* is /is /p; s/^.*\*Usable\* size: /usable: /p' /tmp/said)"
    headline "$on" fake "$block" --destroy="$(word "$block")"
}

for name in sd usb nvme; do
    block=$(device $name)
    headline $name geometry "$block" --destroy="$(word "$block")"
    # flashbench prints for people: the device, and the difference at each alignment.
    flashbench -a "$block" --blocksize=1024 --count=20 -o /tmp/scatter >/tmp/said 2>&1
    finding $name flashbench "$(awk '$1 == "align" { print $2, $NF ";" }' /tmp/said)"
    probed $name "$block"
done

block=$(device usb)
sectors=$(($(blockdev --getsz "$block") / 2))
echo "0 $sectors linear $block 0
$sectors $sectors linear $block 0" | dmsetup create --noudevsync --noudevrules wrap
probed wrap /dev/dm-0
dmsetup remove --noudevsync --noudevrules wrap
echo "0 $sectors linear $block 0
$sectors $sectors zero" | dmsetup create --noudevsync --noudevrules hole
hole=/dev/dm-0
probed hole $hole

# On a mounted file system, both write files.
mkfs.exfat "$hole" >/tmp/said 2>&1
if mount -t exfat "$hole" /mnt; then
    f3write /mnt >/tmp/said 2>&1
    f3read /mnt >/tmp/said 2>&1
    finding hole-mounted f3read "$(grep -E 'Data (OK|LOST)' /tmp/said)"
    rm -f /mnt/*
    headline hole-mounted fake /mnt --size 220MiB
    umount /mnt
else
    fail "exFAT does not mount"
fi
dmsetup remove --noudevsync --noudevrules hole
