# Random stacks of partitions, LVM with snapshots and thin volumes, dm, md, bcache, btrfs, loop devices
# and files, with one member in use: a node that shares a byte with it is refused, every other is
# overwritten, and what is in use keeps its content. Without privileges, no answer is less careful.
# The script knows the bytes of every node, because it drew them; `guest/benches/many-stacks.sh` draws more.
# Layers whose programs this machine lacks (lvm, make-bcache, mkfs.btrfs) are not drawn.
# drives: disk:192M nvme:96M scratch:96M
# modules: loop dm_mod md_mod raid1 btrfs dm_snapshot dm_thin_pool bcache
# needs: dmsetup mkfs.ext4 mkswap losetup sfdisk partx setpriv e2fsck
# seconds: 900
seed=${seed:-1}; random=$seed answers=${answers:-20} asked=0 refused=0 asked_disk=0 careful=0 asked_none=0
# draw N: a number below N, in $n.
draw() { random=$(( (random * 1103515245 + 12345) & 0x7fffffff )); n=$(( (random >> 8) % $1 )); }
has() { command -v "$1" >/dev/null; }
MIB=1048576
disk=$(device disk) nvme=$(device nvme)
mkfs.ext4 -q "$(device scratch)"; mount "$(device scratch)" /mnt
dd if=/dev/zero of=/mnt/file bs=1M count=40 2>/dev/null
mkdir -p /run/point /run/lvm /tmp/user && chown 1000:6 /tmp/user /mnt/file
export LVM_SYSTEM_DIR=/run/lvm LVM_SUPPRESS_FD_WARNINGS=1
cat >/run/lvm/lvm.conf <<END
devices { use_devicesfile=0 obtain_device_list_from_udev=0 scan_lvs=1 types=["bcache",16] }
activation { udev_sync=0 udev_rules=0 monitoring=0 }
global { thin_check_executable="" event_activation=0 }
backup { backup=0 archive=0 }
END

# Bytes, in MiB: `BASE:START:SIZE:AT`, where AT is the first in the node, or `s` if they can be anywhere
# in the node. A node has a path, the disk or file that it is (a part of) (`whole`), a size, its bytes
# (`bytes`), and `chain`: the users on which it stands, and itself.
# node PATH WHOLE SIZE CHAIN BYTES
node() {
    count=$((count + 1))
    eval "path$count=$1 whole$count=$2 size$count=$3 chain$count='$4' bytes$count='$5' taken$count= held$count="
}
look() { eval "path=\$path$1 whole=\$whole$1 size=\$size$1 chain=\$chain$1 bytes=\$bytes$1 taken=\$taken$1"; at=$1; }
take() { eval "taken$at=1"; }
# user NAME KIND TO CHAIN BYTES: something that uses bytes. A `loop` uses those of the file or disk TO to
# which it is attached, and no others; a `claim` and what is `used` exclude all others.
user() {
    users=$((users + 1))
    eval "name$users=$1 kind$users=$2 to$users=$3 under$users='$4' uses$users='$5'"
}
undo() { undone="$*
$undone"; }

# within FROM SIZE [AT]: the part of $bytes as bytes of a new node from AT on, in $part.
within() {
    local one base start long place low high
    part=
    for one in $bytes; do
        base=${one%%:*} one=${one#*:}; start=${one%%:*} one=${one#*:}; long=${one%%:*} place=${one#*:}
        if [ "$place" = s ]; then part="$part $base:$start:$long:s"; continue; fi
        low=$(($1 > place ? $1 : place)) high=$(($1 + $2 < place + long ? $1 + $2 : place + long))
        [ $low -ge $high ] || part="$part $base:$((start + low - place)):$((high - low)):$((low - $1 + ${3:-0}))"
    done
}
# ordered BYTES: without what can be anywhere.
ordered() { local one; for one; do case $one in *:s) ;; *) echo -n " $one" ;; esac; done; }
# anywhere BYTES: the same bytes in no order.
anywhere() { local one; for one; do echo -n " ${one%:*}:s"; done; }
# meet BYTES BYTES
meet() {
    local one other base start long
    for one in $1; do
        base=${one%%:*} one=${one#*:}; start=${one%%:*} one=${one#*:}; long=${one%%:*}
        for other in $2; do
            [ "${other%%:*}" = "$base" ] || continue
            other=${other#*:}
            [ ${other%%:*} -lt $((start + long)) ] || continue
            set -- "$1" "$2" ${other%%:*} ${other#*:}; set -- "$1" "$2" $3 ${4%%:*}
            [ $start -lt $(($3 + $4)) ] && return 0
        done
    done
    return 1
}
# shares: whether the node of `look` shares a byte with a user that is not below it.
shares() {
    local u=0 name kind to under uses
    while [ $u -lt $users ]; do
        u=$((u + 1)); eval "name=\$name$u kind=\$kind$u to=\$to$u under=\$under$u uses=\$uses$u"
        case " $chain " in *" $name "*) continue ;; esac
        case $kind in
            loop) [ $to = $whole ] || continue ;;
            table) needed $to "$under" || continue ;;
        esac
        meet "$bytes" "$uses" && return 0
    done
    return 1
}
# needed DISK PARTITIONS: whether anything in use stands on a partition of the disk.
needed() {
    local u=0 kind under uses
    while [ $u -lt $users ]; do
        u=$((u + 1)); eval "kind=\$kind$u under=\$under$u uses=\$uses$u"
        case $kind in loop|table) continue ;; esac
        case " $under " in *" ${1#/dev/} "*) meet "$2" "$uses" && return 0 ;; esac
    done
    return 1
}

# draw_part SIZE: a range of whole MiB, in $from and $long.
draw_part() { draw $1; from=$n; draw $((($1 - from) / 2 + 1)); long=$((n + 1)); [ $((from + long)) -le $1 ] || long=$(($1 - from)); }
# stand NAME KIND BYTES: makes the new device /dev/NAME a user of the node.
stand() { user $1 $2 $whole "$chain" "$(ordered $3)"; }
dm_node() { echo /dev/dm-$(dmsetup info -c --noheadings -o minor "$1"); }
dm() { # dm NAME TABLE
    dmsetup create --noudevsync --noudevrules $1 --table "$2" || return
    undo dmsetup remove --noudevsync --noudevrules $1
    new=$(dm_node $1)
}
volume() { # of one or two ranges
    local table all total
    draw_part $size; within $from $long; all=$part total=$long
    table="0 $((long * 2048)) linear $path $((from * 2048))"
    if draw 2 && [ $n = 0 ]; then
        draw_part $size; within $from $long $total; all="$all$part"
        table="$table
$((total * 2048)) $((long * 2048)) linear $path $((from * 2048))" total=$((total + long))
    fi
    dm v$count "$table" || return
    eval "held$at=1"
    stand ${new#/dev/} claim "$all"
    node $new $new $total "$chain ${new#/dev/}" "$all"
}
stripes() { # over both halves
    local half=$((size / 2)) all
    [ $half -ge 2 ] || return
    dm v$count "0 $((half * 4096)) striped 2 128 $path 0 $path $((half * 2048))" || return
    eval "held$at=1"; within 0 $((half * 2)); all=$part
    stand ${new#/dev/} claim "$all"
    node $new $new $((half * 2)) "$chain ${new#/dev/}" " $new:0:$((half * 2)):0$(anywhere $all)"
}
loop() {
    draw_part $size; within $from $long
    new=$(losetup -P -f --show -o $((from * MIB)) --sizelimit $((long * MIB)) $path) || return
    undo losetup -d $new
    stand ${new#/dev/} loop "$part"
    node $new $new $long "$chain ${new#/dev/}" "$part"
}
table() { # a GPT with two partitions
    local half=$(((size - 2) / 2)) disk=$path under parts= of=$size above=$chain all=$bytes p=
    eval "p=\$held$at"; [ $half -ge 1 ] && [ "$path" = "$whole" ] && [ -z "$p" ] || return
    case $path in *[0-9]) p=p ;; esac
    printf 'label: gpt\nstart=1MiB, size=%sMiB\nstart=%sMiB, size=%sMiB\n' $half $((half + 1)) $half |
        sfdisk -q --no-tell-kernel --wipe always $path && partx -a $path || return
    await 5 test -b $disk${p}2 || return
    take; undo "partx -d $disk; dd if=/dev/zero of=$disk bs=1M count=1"
    within 1 $((half * 2)); parts=$(ordered $part)
    within 0 1; under=$part; within $((half * 2 + 1)) $of; under="$under$part"
    user ${disk#/dev/}-table table $disk "$parts" "$(ordered $under)"
    within 1 $half; node $disk${p}1 $disk $half "$above" "$part"
    bytes=$all; within $((half + 1)) $half; node $disk${p}2 $disk $half "$above" "$part"
}
mirror() { # of one node, or of two
    local name=md$((round % 100 + 10)) md slot=0 mine=$at long=$size devices=$path second= second_bytes= lower="$chain"
    ! [ -e /sys/block/$name ] || return
    draw 2
    if [ $n = 0 ] && other 4; then
        second=$at second_bytes=$bytes devices="$devices $path" lower="$lower $chain"
        long=$((size < long ? size : long))
    fi
    echo $name >/sys/module/md_mod/parameters/new_array
    md=/sys/block/$name/md; undo "echo clear >$md/array_state"
    { echo raid1 >$md/level; echo 2 >$md/raid_disks
      for path in $devices; do
          cat "/sys/class/block/${path#/dev/}/dev" >$md/new_dev || break
          echo $slot >$md/dev-${path#/dev/}/slot; slot=$((slot + 1))
      done
      echo $((long * 1024)) >$md/component_size; echo none >$md/resync_start
      echo active >$md/array_state; } 2>/dev/null || { echo clear >$md/array_state; return; }
    [ -z "$second" ] || { look $second; take; stand $name claim "$bytes"; within 0 $long; second_bytes=$part; }
    look $mine; take; stand $name claim "$bytes"; within 0 $long
    node /dev/$name /dev/$name $long "$lower $name" "$part$second_bytes"
}
cached() { # two nodes as one device of bcache
    local data=$path data_at=$at data_bytes=$bytes data_chain=$chain data_size=$size name set
    has make-bcache && [ $size -ge 4 ] || return
    other 10 || return
    make-bcache --wipe-bcache --bucket 64k -B $data -C $path >/tmp/bcache || return
    set=$(sed -n 's/^Set UUID:[[:space:]]*//p' /tmp/bcache | head -n 1)
    echo $data >/sys/fs/bcache/register; echo $path >/sys/fs/bcache/register
    await 5 test -e /sys/class/block/${data#/dev/}/bcache/dev || return
    # A cache that the kernel refuses holds nothing.
    await 5 test -e /sys/class/block/${path#/dev/}/bcache/set || { dmesg | tail -n 3; echo 1 >/sys/class/block/${data#/dev/}/bcache/stop; return; }
    name=$(basename $(readlink -f /sys/class/block/${data#/dev/}/bcache/dev))
    undo "echo 1 >/sys/block/$name/bcache/stop; echo 1 >/sys/fs/bcache/$set/stop; await 10 bcache_is_gone"
    take; eval "taken$data_at=1"
    user $name claim $whole "$chain" "$(ordered $bytes)"
    user $name claim $data "$data_chain" "$(ordered $data_bytes)"
    data_size=$((data_size - 1))
    node /dev/$name /dev/$name $data_size "$data_chain $chain $name" " /dev/$name:0:$data_size:0$(anywhere $data_bytes $bytes)"
}
bcache_is_gone() { ! ls /sys/block | grep -q '^bcache' && ! ls -d /sys/fs/bcache/*-* >/dev/null 2>&1; }

# lv COMMAND...: of LVM, which sees these two nodes only.
lv() { local command=$1; shift; lvm $command --devices $path $second "$@" >/tmp/lvm 2>&1; }
# extents LV: its bytes, by LVM's own table.
extents() {
    local range pv low at=0
    part=
    for range in $(lvm lvs --devices $path $second -a --noheadings -o seg_pe_ranges $group/$1 2>/dev/null); do
        pv=${range%%:*} range=${range#*:}; low=$((${range%-*} + 1)); long=$((${range#*-} + 2 - low))
        if [ "$pv" = "$path" ]; then bytes=$first_bytes; else bytes=$second_bytes; fi
        all=$part; within $low $long $at; part="$all$part" at=$((at + long))
    done
}
# placed LV [NAME]: makes an LV, or a part of one with this kernel name, a user of what it stands on.
placed() { extents $1; user $group-${2:-$1} claim $whole "$lower" "$(ordered $part)"; }
logical() { # a volume group on one or two nodes: two volumes, and a snapshot or thin volumes
    local lower first_bytes=$bytes first_at=$at first_size=$size first_path=$path first_chain=$chain second= second_bytes= a b low thins data
    has lvm && [ $size -ge 12 ] || return
    group=g$round-$count
    group=$(echo $group | tr -d -)
    draw 2
    if [ $n = 0 ] && other 8; then second=$path second_bytes=$bytes; first_chain="$first_chain $chain"; taken_too=$at; fi
    look $first_at; lower=$first_chain
    lv vgcreate -y -ff -s 1m --dataalignment 1m $group $path $second || return
    take; [ -z "$second" ] || eval "taken$taken_too=1"
    undo "drop $group"
    draw $((size / 4)); a=$((n + 2)); draw $((size / 4)); b=$((n + 2))
    lv lvcreate -y -W n -Z n -n a -l $a $group && lv lvcreate -y -W n -Z n -n b -l $b $group || return
    user $group-label claim $first_path "$lower" " $(before "$first_bytes" 1)"
    [ -z "$second" ] || label_second
    draw 3
    case $n in
        0) if lv lvcreate -y -s -n s -l 2 $group/a; then snapshot; drawn="$drawn snapshot"; else placed a; fi ;;
        1) lv lvcreate -y --type thin-pool -Z n -l 4 --poolmetadatasize 2m -n p $group && thin && drawn="$drawn thin"; placed a ;;
        *) placed a ;;
    esac
    extents a; [ -n "$snap" ] || node $(dm_node $group-a) $(dm_node $group-a) $a "$lower $group-a" "$part"
    placed b; node $(dm_node $group-b) $(dm_node $group-b) $b "$lower $group-b" "$part"
    snap=
}
# before BYTES MIB: the first MiB of these bytes.
before() { bytes=$1; within 0 $2; echo $(ordered $part); }
# label_second: the second node has a label only if a volume lies there.
label_second() {
    local one
    for one in $(lvm lvs --devices $first_path $second -a --noheadings -o seg_pe_ranges $group 2>/dev/null); do
        case $one in $second:*) user $group-label2 claim $second "$lower" " $(before "$second_bytes" 1)"; return ;; esac
    done
}
snapshot() {
    local cow origin
    snap=1
    placed s s-cow; cow=$(anywhere $part); placed a a-real; origin=$(ordered $part)
    user $group-a claim $group-a-real "$lower" "$origin"
    user $group-s claim $group-a-real "$lower" "$origin $(ordered $part)"
    node $(dm_node $group-a) $(dm_node $group-a) $a "$lower $group-a $group-a-real" "$origin"
    node $(dm_node $group-s) $(dm_node $group-s) $a "$lower $group-s $group-a-real $group-s-cow" " $group-s:0:$a:0$(anywhere $origin)$cow"
}
thin() {
    local data pool="$group-t1 $group-t2 $group-p $group-p-tpool $group-p_tdata $group-p_tmeta" one
    placed p_tmeta; data=$(anywhere $part); placed p_tdata; data="$data$(anywhere $part)"
    lv lvcreate -y -V 3m -n t1 -T $group/p && lv lvcreate -y -V 6m -n t2 -T $group/p || { cat /tmp/lvm; return 1; }
    user $group-t1 claim $group-p-tpool "$lower" " $group-p-tpool:0:4"
    node $(dm_node $group-p-tpool) $group-p-tpool 4 "$lower $group-p-tpool $group-p_tdata $group-p_tmeta" " $group-p-tpool:0:4:0$data"
    node $(dm_node $group-t1) $group-t1 3 "$lower $pool" " $group-t1:0:3:0$data"
    node $(dm_node $group-t2) $group-t2 6 "$lower $pool" " $group-t2:0:6:0$data"
}
# drop GROUP: removes its volumes by the kernel's names, because its label may be overwritten.
drop() {
    local again name
    for again in 1 2 3 4 5; do
        for name in $(dmsetup ls | sed -n "s/^\($1-[^[:space:]]*\).*/\1/p"); do dmsetup remove --noudevsync --noudevrules $name; done
    done
}

# other MIB: another block node that nothing holds and shares no byte with this one, at least this large.
other() {
    local i=0 mine=$bytes mine_at=$at held=
    while [ $i -lt 5 ]; do
        i=$((i + 1)); draw $count; look $((n + 1)); eval "held=\$held$at"
        [ $at != $mine_at ] && [ -z "$held" ] && [ -b "$path" ] && [ -z "$taken" ] && [ $size -ge $1 ] && ! meet "$bytes" "$mine" && return 0
    done
    look $mine_at
    return 1
}
layer() {
    # Half of the layers stand directly on a disk or the file.
    draw 2; [ $n = 0 ] && draw 3 || draw $count; look $((n + 1))
    draw 8
    case $n in 0) kind=volume ;; 1) kind=stripes ;; 2) kind=mirror ;; 3) kind=cached ;; 4|5) kind=logical ;; 6) kind=table ;; *) kind=loop ;; esac
    # What is held, by a table or a label, has loop devices only.
    [ -b $path ] && [ -z "$taken" ] || kind=loop
    local before=$count
    $kind
    [ $count = $before ] || drawn="$drawn $kind"
}

# use: brings the node of `look` into use: as swap space, or as a file system with a file.
use() {
    local one=$path
    used_bytes="$bytes" used_under="$chain" point=/run/point check=
    # A file of this file system can be a swap file only.
    if [ -b $path ]; then draw 5; else n=0; fi
    case $n in
        0) mkswap -q $path >/dev/null && swapon $path && undo swapoff $path && drawn="$drawn swap$([ -b $path ] || echo -file)" ;;
        1) has mkfs.btrfs && [ $size -ge 17 ] && mkfs.btrfs -q -f -M $path && check="btrfs check $path" ;;
        2) has mkfs.btrfs && [ $size -ge 34 ] && other 34 && mkfs.btrfs -q -f -d single -m single $one $path &&
            used_bytes="$used_bytes $bytes" used_under="$used_under $chain" check="btrfs check $path" drawn="$drawn btrfs-of-two" ;;
        *) mkfs.ext4 -q -F $path && check="e2fsck -fn $path" ;;
    esac || return
    [ -n "$check" ] || return 0
    drawn="$drawn ${check%% *}"
    [ $one = $path ] || set -- -o device=$one,device=$path
    mount "$@" $path $point && undo umount $point || return
    dd if=/dev/urandom of=$point/content bs=64k count=4 2>/dev/null
    content=$(sha256sum $point/content); sync; mount -o remount,ro $point
}
hash() { sync; dd if=$1 bs=1M count=$2 iflag=direct 2>/dev/null | sha256sum; }

# word: the confirmation for --destroy.
word() {
    case $whole in
        $disk) serial disk ;; $nvme) serial nvme ;;
        /dev/*) echo $(($(cat /sys/class/block/${path#/dev/}/size) * 512)) ;;
        *) echo $((size * MIB)) ;;
    esac
}
io="--rw randwrite --ops 8 --time 5s --quiet"
wrong() {
    local it=$at
    fail "round $round (seed $seed): $path $*; in use $used"; cat /tmp/said; dmsetup table; losetup -l; story; look $it
}
story() {
    local i=0
    while [ $i -lt $count ]; do i=$((i + 1)); look $i; echo "node $path ($whole) $size MiB, on$chain:$bytes"; done
    i=0
    while [ $i -lt $users ]; do i=$((i + 1)); eval "echo user \$name$i \$kind$i of \$to$i: \$uses$i"; done
}
ask() { # the node of `look`
    local word=$(word) wanted=0
    shares && wanted=3
    ssdyno io $path $io --destroy="$word" >/tmp/said 2>&1; status=$?
    asked=$((asked + 1)); [ $status != 3 ] || refused=$((refused + 1))
    [ $status = $wanted ] || wrong "ends with $status, not $wanted"
    draw 3; [ $n = 0 ] || return
    as 1000 --regid 6; asked_disk=$((asked_disk + 1))
    # Only root may ask for the table of a volume; without it, all that it stands on counts.
    if [ $status = 3 ] && [ $wanted = 0 ] && [ -n "$(dmsetup ls | grep -v '^No')" ]; then careful=$((careful + 1))
    elif [ $status != $wanted ]; then wrong "ends with $status in group disk, not $wanted"; fi
    # The owner of the file may not ask loop devices; sysfs decides.
    [ -b $path ] && wanted=3
    as 1000 --regid 1000; asked_none=$((asked_none + 1))
    [ $status = $wanted ] || wrong "ends with $status without rights, not $wanted"
}
# as UID OPTION...: the answer for this user, who writes nothing.
as() {
    local uid=$1; shift
    XDG_DATA_HOME=/tmp/user XDG_STATE_HOME=/tmp/user /usr/bin/setpriv --reuid $uid "$@" --clear-groups \
        ssdyno io $path $io --dry-run --destroy="$(word)" >/tmp/said 2>&1; status=$?
}

round=0 snap= drawn=
while [ $asked -lt $answers ] && [ $round -lt $answers ]; do
    round=$((round + 1)) count=0 users=0 undone='' content=''
    node $disk $disk 192 " ${disk#/dev/}" ' disk:0:192:0'
    node $nvme $nvme 96 " ${nvme#/dev/}" ' nvme:0:96:0'
    node /mnt/file /mnt/file 40 '' ' file:0:40:0'
    draw 4; layers=$((n + 2))
    while [ $layers -gt 0 ]; do layers=$((layers - 1)); layer >>/tmp/layers 2>&1; done
    if [ $count -ge 5 ]; then
        tries=0 is_used=
        while [ $tries -lt 3 ] && [ -z "$is_used" ]; do
            tries=$((tries + 1)); draw $((count - 2)); look $((n + 3))
            used=$path used_size=$size
            if use >/tmp/use 2>&1; then is_used=1; fi
        done
    fi
    if [ $count -ge 5 ] && [ -n "$is_used" ]; then
        user used used $used "$used_under" "$(ordered $used_bytes)"
        find /dev -type b | xargs chgrp 6; find /dev -type b | xargs chmod 660
        before=$(hash $used $used_size) i=0
        while [ $i -lt $count ]; do i=$((i + 1)); look $i; ask; done
        after=$(hash $used $used_size)
        [ "$before" = "$after" ] || fail "round $round (seed $seed): $used was changed"
        if [ -n "$content" ]; then
            echo 3 >/proc/sys/vm/drop_caches
            [ "$content" = "$(sha256sum /run/point/content)" ] || fail "round $round (seed $seed): a file on $used was changed"
            umount /run/point
            $check >/tmp/said 2>&1 || { fail "round $round (seed $seed): $check: exit $?"; cat /tmp/said; story; }
        fi
    fi
    echo "round $round: $asked answers, $refused refused;$drawn"
    echo "$undone" >/tmp/undo; . /tmp/undo >/tmp/undone 2>&1
    for one in $disk $nvme; do dd if=/dev/zero of=$one bs=1M count=2 conv=notrunc 2>/dev/null; done
done
drawn=$(echo "$drawn" | tr ' ' '\n' | grep . | sort | uniq -c | while read -r times kind; do echo -n " $times $kind"; done)
pass "figure: $asked answers with writes on $round stacks, $refused refused; as a user of group disk $asked_disk, $careful free ones refused; as a user without rights $asked_none; drawn:$drawn (seed $seed)"
[ $asked -ge $answers ] && [ $refused -gt 0 ] && [ $refused -lt $asked ] || fail "too few answers of one kind"
[ "$failed" = 0 ] || { tail -n 40 /tmp/layers; cat /tmp/lvm; }
umount /mnt
