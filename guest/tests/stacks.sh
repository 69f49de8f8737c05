# Random stacks of dm, md, LVM, btrfs, loop devices and files with one member in use: a node that
# shares a byte with it is refused, every other is overwritten, and what is in use keeps its content.
# The script knows the bytes of every node, because it drew them; `guest/benches/stacks.sh` draws more.
# drives: disk:192M scratch:64M
# modules: loop dm_mod md_mod raid1 btrfs
# needs: dmsetup mkfs.ext4 mkswap losetup
# seconds: 600
random=${seed:-1} answers=${answers:-20} asked=0 refused=0
# draw N: a number below N, in $n.
draw() { random=$(( (random * 1103515245 + 12345) & 0x7fffffff )); n=$(( (random >> 8) % $1 )); }
MIB=1048576
disk=$(device disk)
mkfs.ext4 -q "$(device scratch)"; mount "$(device scratch)" /mnt
dd if=/dev/zero of=/mnt/file bs=1M count=24 2>/dev/null

# node PATH BASE START MIB CHAIN: adds a node; CHAIN lists the users on which it stands.
node() {
    count=$((count + 1))
    eval "path$count=$1 base$count=$2 start$count=$3 size$count=$4 chain$count='$5'"
}
# user NAME BASE START MIB: adds something that uses bytes.
user() { users="$users $1:$2:$3:$4"; }
# look N: node N in $path, $base, $start, $size, $chain.
look() { eval "path=\$path$1 base=\$base$1 start=\$start$1 size=\$size$1 chain=\$chain$1"; }
undo() { undone="$*
$undone"; }

# shares: whether $path shares a byte with a user that is not below it.
shares() {
    local one rest name ubase ustart usize
    for one in $users; do
        name=${one%%:*} rest=${one#*:}; ubase=${rest%%:*} rest=${rest#*:}; ustart=${rest%%:*} usize=${rest#*:}
        case " $chain " in *" $name "*) continue ;; esac
        [ "$ubase" = "$base" ] && [ $ustart -lt $((start + size)) ] && [ $start -lt $((ustart + usize)) ] && return 0
    done
    return 1
}

# part: a range of whole MiB in $size, in $from and $long.
part() { draw $size; from=$n; draw $(((size - from) / 2 + 1)); long=$((n + 1)); [ $((from + long)) -le $size ] || long=$((size - from)); }

volume() { # a volume of the device mapper; LVM's differ in their identifier only
    local name=v$count uuid=
    part; draw 2; [ $n = 0 ] || uuid="--uuid LVM-ssdyno$round$count"
    dmsetup create --noudevsync --noudevrules $uuid $name \
        --table "0 $((long * 2048)) linear $path $((from * 2048))" || return
    new=/dev/$(basename "$(readlink -f /sys/dev/block/$(dmsetup info -c --noheadings -o major,minor $name))")
    undo dmsetup remove --noudevsync --noudevrules $name
    user ${new#/dev/} $base $((start + from)) $long
    node $new $base $((start + from)) $long "$chain ${new#/dev/}"
}
loop() {
    part
    new=$(losetup -f --show -o $((from * MIB)) --sizelimit $((long * MIB)) $path) || return
    undo losetup -d $new
    user ${new#/dev/} $base $((start + from)) $long
    node $new $base $((start + from)) $long "$chain ${new#/dev/}"
}
mirror() { # one half of a mirror without metadata
    local name=md$((round % 100 + 10)) md
    [ -b "$path" ] && ! [ -e /sys/block/$name ] || return
    echo $name >/sys/module/md_mod/parameters/new_array
    md=/sys/block/$name/md; undo "echo clear >$md/array_state"
    { echo raid1 >$md/level; echo 2 >$md/raid_disks
      cat "/sys/block/${path#/dev/}/dev" >$md/new_dev; echo $((size * 1024)) >$md/component_size
      echo active >$md/array_state; } 2>/dev/null || { echo clear >$md/array_state; return; }
    user $name $base $start $size
    node /dev/$name $base $start $size "$chain $name"
}

use() { # brings a node into use
    draw 4
    case $n in
        0) mkswap -q $path >/dev/null && swapon $path && undo swapoff $path ;;
        1) [ $size -ge 20 ] && command -v mkfs.btrfs >/dev/null && mkfs.btrfs -q -f -M $path &&
            mount -o ro $path /run/point && undo umount /run/point ;;
        *) mkfs.ext4 -q -F $path && mount -o ro $path /run/point && undo umount /run/point ;;
    esac
}
sum() { sync; dd if=$1 bs=1M count=$2 iflag=direct 2>/dev/null | sha256sum; }

mkdir -p /run/point
round=0
while [ $asked -lt $answers ] && [ $round -lt $answers ]; do
    round=$((round + 1)) count=0 users='' undone=''
    node $disk 1 0 192 ''
    node /mnt/file 2 0 24 ''
    draw 3; layers=$((n + 3))
    while [ $layers -gt 0 ]; do
        layers=$((layers - 1))
        # Half of the layers stand directly on the disk or the file.
        draw 2; [ $n = 0 ] && draw 2 || draw $count; look $((n + 1))
        draw 3
        if [ -f $path ] || [ $n = 2 ]; then loop; elif [ $n = 1 ]; then mirror; else volume; fi
    done
    [ $count -ge 3 ] || continue
    draw $((count - 2)); member=$((n + 3)); look $member
    if use 2>/tmp/use; then
        user used $base $start $size
        used=$path used_size=$size before=$(sum $path $size)
        i=0
        while [ $i -lt $count ]; do
            i=$((i + 1)); look $i
            bytes=$((size * MIB)); wanted=0
            shares && wanted=3
            case $path in /dev/*) word=$(ssdyno list $path --json | jq -r '.[0] | .drive.serial // .drive.bytes') ;; *) word=$bytes ;; esac
            ssdyno io $path --rw randwrite --ops 8 --time 5s --destroy="$word" --quiet >/tmp/said 2>&1; status=$?
            asked=$((asked + 1)); [ $status != 3 ] || refused=$((refused + 1))
            [ $status = $wanted ] || { fail "round $round: $path ends with $status, not $wanted; users$users; in use $used"
                cat /tmp/said; dmsetup table; losetup -l; }
        done
        after=$(sum $used $used_size)
        [ "$before" = "$after" ] || fail "round $round: $used was changed"
    fi
    echo "$undone" >/tmp/undo; . /tmp/undo >/dev/null 2>&1
done
pass "figure: $asked answers with writes on $round stacks, $refused refused"
[ $asked -ge $answers ] && [ $refused -gt 0 ] && [ $refused -lt $asked ] || fail "too few answers of one kind"
umount /mnt
