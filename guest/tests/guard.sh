# A drive in use cannot be overwritten, and a drive that disappears during a run costs nothing: the
# rows of docs/safety.md that need the kernel's dm and md, and drives that come and go.
# drives: disk usb scratch
# modules: dm_mod md_mod raid1
# needs: dmsetup mkfs.ext4
# seconds: 240
mkfs.ext4 -q "$(device scratch)"
mount -t ext4 "$(device scratch)" /mnt
journal=/mnt/journal
d=$(device disk)
word=$(ssdyno list "$d" --json | jq -r '.[0].allowance.confirm')
before=$(host hash disk)

# refused WORDS: for both options that allow overwriting.
refused() {
    exits 3 "with --destroy" ssdyno run "$d" --time 1s --destroy="$word"; says "$1"
    exits 3 "with --borrow" ssdyno run "$d" -m speed --time 1s --borrow --journal $journal; says "$1"
}

dmsetup create --noudevsync --noudevrules held --table "0 2048 linear $d 0"
refused "is held by dm-0 (held)"
dmsetup remove --noudevsync --noudevrules held

echo md7 >/sys/module/md_mod/parameters/new_array
md=/sys/block/md7/md
echo raid1 >$md/level
echo 1 >$md/raid_disks
cat "/sys/block/${d#/dev/}/dev" >$md/new_dev
refused "is held by md7"
echo clear >$md/array_state

exits 3 "the scratch drive lies under the journal" ssdyno run "$(device scratch)" -m speed --borrow --journal $journal
says "is mounted at /mnt"
is "journals" "$(ls $journal 2>/dev/null)" ""
sync
is "the disk" "$(host hash disk)" "$before"

# Unplugged while being overwritten with its own content.
d=$(device usb)
before=$(host hash usb)
ssdyno run "$d" -m speed --time 60s --borrow --journal $journal --json --events --quiet >/tmp/events 2>/tmp/errors &
run=$!
holds "it is written" await 60 grep -q '"event":"interval".*"workload":"speed-write' /tmp/events
is "journals" "$(ls $journal | grep -c 'journal$')" 1
host unplug usb
wait $run
is "its end" $? 4
holds "says where blocks are kept" grep -q "kept in $journal/.*for ssdyno recover" /tmp/errors
is "the record is kept" "$(ssdyno show --json | jq -r .complete)" false
exits 1 "without its drive" ssdyno recover --journal $journal
says "the drive is not attached"
host plug usb
arrives usb
exits 0 "with its drive" ssdyno recover --journal $journal
says "every byte on $(device usb) is unchanged: closed"
is "the stick" "$(host hash usb)" "$before"
exits 0 "again" ssdyno recover --journal $journal
says "no journals in"
umount /mnt
