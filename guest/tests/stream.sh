# The kernel mounts the recorder's file systems, in sectors of 512 and 4096 bytes, and reads a
# file's bytes from where the recorder put them.
# drives: pair:320M
# seconds: 400
# modules: vfat exfat nls_cp437 nls_iso8859_1 nls_ascii nls_utf8
# needs: fsck.exfat fsck.vfat

# number DEVICE OFFSET BYTES: a little-endian number in the boot sector.
number() {
    dd if="$1" bs=1 skip="$2" count="$3" 2>/dev/null | od -An -v -tu1 |
        awk '{ for (i = 1; i <= NF; i++) b[++c] = $i } END { for (i = c; i; i--) n = 256 * n + b[i]; print n }'
}
# recorded KIND DEVICE WORDS...: records, checks, mounts, and compares the first file.
recorded() {
    kind=$1 d=$2; shift 2
    word=$(ssdyno list "$d" --json | jq -r '.[0].allowance.confirm')
    exits 0 "$d: recorded to $kind" ssdyno run "$d" -m stream --fs "$kind" --file 16MiB "$@" --destroy="$word" --json --quiet
    is "$d: $kind is whole" "$(jq -r '"\(.complete) \([.warnings[] | select(.name == "volume-damaged")] | length)"' /tmp/said)" "true 0"
    case $kind in
        exfat)
            type=exfat sector=$((1 << $(number "$d" 108 1)))
            cluster=$((sector << $(number "$d" 109 1))) heap=$(($(number "$d" 88 4) * sector))
            root=$(number "$d" 96 4)
            holds "$d: fsck.exfat" fsck.exfat -n "$d"
            ;;
        fat32)
            type=vfat sector=$(number "$d" 11 2)
            cluster=$((sector * $(number "$d" 13 1)))
            heap=$((($(number "$d" 14 2) + 2 * $(number "$d" 36 4)) * sector)) root=2
            holds "$d: fsck.vfat" fsck.vfat -n "$d"
            ;;
    esac
    # The first file follows the root directory of 128 KiB.
    at=$((heap + (root - 2) * cluster + ((131072 + cluster - 1) / cluster) * cluster))
    holds "$d: $kind mounts" mount -t $type -o ro "$d" /mnt
    is "$d: size in $kind" "$(stat -c %s /mnt/CLIP0001.MOV)" 16777216
    is "$d: content in $kind" "$(sha256sum </mnt/CLIP0001.MOV)" \
        "$(dd if="$d" bs=4096 skip=$((at / 4096)) count=4096 2>/dev/null | sha256sum)"
    is "$d: content is not zeros" "$(tr -d '\0' </mnt/CLIP0001.MOV | head -c 1000 | wc -c)" 1000
    holds "$d: more files" test -s /mnt/CLIP0002.MOV
    umount /mnt
}
for name in pair pair4k; do
    recorded exfat "$(device $name)" --size 64MiB
done
recorded fat32 "$(device pair)" --size 64MiB --cluster 512
recorded fat32 "$(device pair4k)" --cluster 4096 --size 300MiB
