# The four-partition drive of document 000, end to end: loader, FileCore E+, FAT32 and ext4. ssdyno
# makes the partition table and three of the file systems; the kernel mounts all four.
# drives: nvme:1500M
# modules: vfat adfs nls_cp437 nls_iso8859_1 nls_ascii nls_utf8 ext4
# needs: mkfs.ext4
# seconds: 300
d=$(device nvme)
word=$(serial nvme)
layout=loader=300M,filecore=200M,fat32=300M,ext4
exits 0 "the plan" ssdyno partition $d --layout $layout --format --dry-run
says "FileCore E+, LFAU 1 KiB"
exits 2 "an impossible LFAU" ssdyno partition $d --layout $layout --format --lfau 3000 --dry-run
says "an allocation unit must be a power of two"
for lfau in 1K 4K 32K; do
    exits 0 "partitioned and formatted, LFAU $lfau" ssdyno partition $d --layout $layout --format --lfau $lfau --destroy="$word"
    mkfs.ext4 -q ${d}p4
    for part in 1:vfat 2:adfs 3:vfat 4:ext4; do
        holds "${part#*:} mounts" mount -t ${part#*:} ${d}p${part%:*} /mnt
        case $part in
        *adfs)
            is "files in the root" "$(ls -A /mnt)" ""
            total=$(stat -f -c %b /mnt) free=$(stat -f -c %f /mnt) size=$(stat -f -c %s /mnt)
            holds "nearly all of 200 MiB: $total blocks of $size" [ $((total * size)) -gt $((199 << 20)) ]
            holds "of which are free: $free" [ $((free * size)) -gt $((198 << 20)) ]
            ;;
        *)
            echo hello >/mnt/file
            is "${part#*:} keeps" "$(cat /mnt/file)" hello
            ;;
        esac
        umount /mnt
    done
    is "the table" "$(ssdyno partition $d --json | jq -r '[.table.entries[].type.code] | join(" ")')" "0c ad 0c 83"
done
dmesg | grep -i adfs && fail "the kernel complains"
