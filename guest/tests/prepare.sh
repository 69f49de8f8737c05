# Prepare on real kernel devices: formats checked with nvme-cli, discards that reach the image, the
# initial states of later runs, and refusals.
# drives: nvme ssd usb
# modules: ext4
# needs: nvme mkfs.ext4
# seconds: 240

# blank WHAT DRIVE: the image contains nothing but its file system's map.
blank() {
    local left; left=$(host blocks "$2")
    [ "$left" -le 64 ] && pass "$1: $left blocks" || fail "$1: $left blocks are left"
}
store="--store /tmp/runs.db --quiet"
block() { cat "/sys/block/${1##*/}/queue/logical_block_size"; }
prepare() { local name=$1; shift; ssdyno prepare "$(device $name)" --destroy="$(serial $name)" $store "$@"; }
refused() { local code=$1 what=$2 name=$3; shift 3; exits "$code" "$what" prepare $name "$@"; }
state() { ssdyno show last --store /tmp/runs.db --json | jq -r .$1; }

nvme=$(device nvme)
holds "format to 4096" prepare nvme --to fresh --lbaf 4096
says "The drive is fresh"
is "block size of the kernel" "$(block "$nvme")" 4096
is "format in use by nvme-cli" "$(nvme id-ns "$nvme" | grep -c 'lbads:12.*in use')" 1
holds "fills the 4Kn drive" prepare nvme --to filled
is "state after" "$(state state_after)" filled
holds "runs on it" ssdyno run "$nvme" --time 2s --size 32MiB $store
is "state it began with" "$(state state_before)" filled
holds "format back to 512" prepare nvme --to fresh --lbaf 512
is "block size of the kernel" "$(block "$nvme")" 512
blank "image after the format" nvme

# Compares the drive's own counter with ours.
before=$(nvme smart-log "$nvme" -o json | jq -r '.data_units_written | tonumber')
holds "fill that is counted" prepare nvme --to filled
after=$(nvme smart-log "$nvme" -o json | jq -r '.data_units_written | tonumber')
added=$(ssdyno show last --store /tmp/runs.db --json |
    jq '(.health_after.written_bytes - .target.drive.health.written_bytes) / 512000')
is "units written by nvme-cli and by the record" "$((after - before))" "$added"

holds "SATA" prepare ssd --to filled
holds "SATA discard" prepare ssd --to fresh
says "The drive is fresh"
blank "image of the SATA drive" ssd
holds "USB by zeroes" prepare usb --to fresh --zero
says "read as zeroes"

refused 2 "a format it does not have" nvme --to fresh --lbaf 520
refused 2 "sanitize without support" nvme --to fresh --sanitize
refused 2 "a format of SATA" ssd --to fresh --lbaf 4096
refused 2 "discard without support" usb --to fresh
exits 3 "without --destroy" ssdyno prepare "$nvme" --to fresh $store
mkfs.ext4 -q "$nvme"; mkdir -p /mnt; mount "$nvme" /mnt
refused 3 "mounted" nvme --to fresh --lbaf 4096
dd if=/dev/urandom of=/mnt/x bs=1M count=16 2>/dev/null; sync; rm /mnt/x
holds "free space" ssdyno prepare /mnt --to trimmed $store
says "Free space discarded"
umount /mnt
