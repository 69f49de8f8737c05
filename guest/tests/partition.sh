# Partitions written by ssdyno, on sectors of 512 and 4096 bytes: the kernel and sfdisk read the
# same table, and file systems on them mount.
# drives: pair usb sd
# modules: vfat nls_cp437 nls_iso8859_1 nls_ascii nls_utf8 ext4
# needs: sfdisk fdisk mkfs.vfat mkfs.ext4 lsblk
layout=fat16=40M,filecore=20M,exfat=20M,ext4
for name in pair pair4k usb sd; do
    d=$(device $name)
    case $d in *[0-9]) p=${d}p ;; *) p=$d ;; esac
    sector=$(cat /sys/block/${d#/dev/}/queue/logical_block_size)
    exits 3 "$name without --destroy" ssdyno partition $d --layout $layout
    word=$(ssdyno list $d --json | jq -r '.[0].allowance.confirm')
    holds "$name is partitioned" ssdyno partition $d --layout $layout --destroy="$word"
    holds "sfdisk finds no fault" sfdisk --verify $d
    # Not busybox's fdisk.
    holds "fdisk reads it" /usr/bin/fdisk -l $d
    says "Sector size (logical/physical): $sector bytes"
    ours=$(ssdyno partition $d --json | jq -r ".table.entries[] | [.start/$sector, .bytes/$sector, .type.code] | @csv" | tr -d '"' | sed 's/,0\([0-9a-f]\)$/,\1/')
    theirs=$(sfdisk --json $d | jq -r '.partitiontable.partitions[] | [.start, .size, .type] | @csv' | tr -d '"')
    is "$name: the table" "$ours" "$theirs"
    kernel=$(lsblk -nbr -o START,SIZE $d | sed 1d | while read -r start size; do echo $((start * 512)),$size; done)
    is "$name: the kernel" "$kernel" "$(ssdyno partition $d --json | jq -r '.table.entries[] | [.start, .bytes] | @csv')"
    is "$name: all on a MiB" "$(ssdyno list $d --json | jq '[.[0].partitions[].aligned_1m] | all')" true
    is "$name: types in list" "$(ssdyno list $d --json | jq -r '.[0].partitions[1].type.name')" FileCore
    holds "$name: FAT" mkfs.vfat ${p}1
    holds "$name: ext4" mkfs.ext4 -q ${p}4
    for part in 1:vfat 4:ext4; do
        holds "$name: ${part#*:} mounts" mount -t ${part#*:} ${p}${part%:*} /mnt
        echo hello >/mnt/file
        umount /mnt
        mount -t ${part#*:} ${p}${part%:*} /mnt
        is "$name: ${part#*:} keeps" "$(cat /mnt/file)" hello
        exits 3 "$name: a mounted partition" ssdyno partition $d --layout $layout --destroy="$word"
        umount /mnt
    done
    exits 2 "$name: a partition is not a drive" ssdyno partition ${p}1
    sync
done
