# `ssdyno list --json` agrees with other tools and the kernel for every kind of drive.
# drives: pair ssd disk usb uas sd:64M scratch
# modules: vfat nls_cp437 nls_ascii
# seconds: 300

# Properties of all block devices, compared with lsblk.
common() {
    local cache
    ssdyno list "$2" --json >/tmp/list || fail "ssdyno list $2"
    lsblk -b -d -O -J "$2" >/tmp/lsblk
    values our '.[0]' /tmp/list
    values its '.blockdevices[0]' /tmp/lsblk
    is "$1 name" "$our_drive_name" "$its_name"
    is "$1 size" "$our_drive_bytes" "$its_size"
    is "$1 logical block" "$our_drive_logical_block_bytes" "$its_log_sec"
    is "$1 physical block" "$our_drive_physical_block_bytes" "$its_phy_sec"
    is "$1 rotates" "$our_drive_rotational" "$its_rota"
    is "$1 read-only" "$our_drive_read_only" "$its_ro"
    is "$1 discard" "$our_drive_discard_max_bytes" "$its_disc_max"
    is "$1 scheduler" "$our_drive_scheduler" "$its_sched"
    is "$1 removable" "$our_removable" "$its_rm"
    read -r cache <"/sys/block/${2##*/}/queue/write_cache"
    is "$1 write cache" "$our_drive_write_cache" "$([ "$cache" = "write back" ] && echo true || echo false)"
    is "$1 can be destroyed" "$our_allowance_most $our_allowance_confirm" "destroys $(serial "$1")"
}

nvme_drive() {
    local pci; common "$1" "$2"
    nvme id-ctrl "$2" -o json >/tmp/ctrl; values ctrl . /tmp/ctrl
    nvme smart-log "$2" -o json >/tmp/smart; values smart . /tmp/smart
    nvme id-ns "$2" -o json >/tmp/ns; values ns '. + {bits: .lbafs[.flbas % 16].ds}' /tmp/ns
    is "$1 bus" "$our_drive_bus" nvme
    is "$1 model" "$our_drive_model" "$ctrl_mn"
    is "$1 serial" "$our_drive_serial" "$ctrl_sn"
    is "$1 firmware" "$our_drive_firmware" "$ctrl_fr"
    is "$1 block by its format" "$our_drive_logical_block_bytes" "$((1 << ns_bits))"
    is "$1 blocks" "$((our_drive_bytes / our_drive_logical_block_bytes))" "$ns_nsze"
    # The log has whole kelvins; ours are 273.15 less.
    is "$1 temperature" "${our_drive_health_temperature_c%.*}" "$((smart_temperature - 274))"
    is "$1 warns at" "${our_drive_health_temperature_warn_c%.*}" "$((ctrl_wctemp - 274))"
    pci=/sys/block/${2##*/}/device/device
    is "$1 link" "$our_drive_link_now" "$(pcie "$pci"/current_link)"
    is "$1 best link" "$our_drive_link_best" "$(pcie "$pci"/max_link)"
}
pcie() {
    local speed width; read -r speed <"$1_speed"; read -r width <"$1_width"
    case $speed in 2.5*) speed=1.0 ;; 5.0*) speed=2.0 ;; 8.0*) speed=3.0 ;; 16.0*) speed=4.0 ;; esac
    echo "PCIe $speed x$width"
}

# The last query of a drive, because QEMU fails the first queued read after it.
hdparm_word() { sed -n "s/^[[:space:]]*$1:[[:space:]]*//p" /tmp/hdparm | sed 's/ *$//'; }
sata_drive() {
    common "$1" "$2"
    hdparm -I "$2" >/tmp/hdparm 2>&1
    is "$1 bus" "$our_drive_bus" "$its_tran"
    is "$1 model" "$our_drive_model" "$(hdparm_word 'Model Number')"
    is "$1 serial" "$our_drive_serial" "$(hdparm_word 'Serial Number')"
    is "$1 firmware" "$our_drive_firmware" "$(hdparm_word 'Firmware Revision')"
    is "$1 link" "$our_drive_link_now" "SATA $(sed 's/Gbps/Gb\/s/' "/sys/class/ata_link/$3/sata_spd")"
}

usb_drive() {
    local interface speed; common "$1" "$2"
    interface=$(readlink -f "/sys/block/${2##*/}/device/../../..")
    read -r speed <"$interface/../speed"
    is "$1 bus" "$our_drive_bus" "$its_tran"
    is "$1 serial" "$our_drive_serial" "$(cat "$interface/../serial")"
    is "$1 model" "$our_drive_model" "$its_model"
    is "$1 vendor" "$our_drive_vendor" "$its_vendor"
    is "$1 firmware" "$our_drive_firmware" "$its_rev"
    is "$1 speed and driver" "$our_drive_link_now" \
        "USB $((speed / 1000)) Gb/s, $(basename "$(readlink "$interface/driver")")"
}

detail() { jq -r ".[0].drive.details | .[] | select(.name == \"$1\") | .value" /tmp/list; }
sd_drive() {
    local card width; common "$1" "$2"
    card=/sys/block/${2##*/}/device
    width=$(sed -n 's/^bus width:.*(\([148]\) bits)/\1/p' /sys/kernel/debug/mmc0/ios)
    is "$1 bus" "$our_drive_bus" "$(tr DS ds <$card/type)"
    is "$1 name" "$our_drive_model" "$(cat $card/name)"
    is "$1 serial" "$our_drive_serial" "$(cat $card/serial)"
    is "$1 bus width" "${our_drive_link_now##* }" "x$width"
    is "$1 manufacturer" "$(detail manufacturer | cut -c1-4)" "$(sed 's/^0x0000/0x/' $card/manfid)"
    is "$1 OEM" "$(detail OEM | tr -d '\n' | hexdump -e '1/1 "%02x"')" "$(sed 's/^0x//' $card/oemid)"
    is "$1 date" "$(detail date)" "$(sed 's,\(..\)/\(....\),\2-\1,' $card/date)"
    is "$1 CID" "$our_drive_hardware_id" "$(cat $card/cid)"
}

nvme_drive pair "$(device pair)"
nvme_drive pair4k "$(device pair4k)"
usb_drive usb "$(device usb)"
usb_drive uas "$(device uas)"
sd_drive sd "$(device sd)"
common scratch "$(device scratch)"
is "list has them all" "$(ssdyno list --json | jq length)" 8

# An unprivileged user sees the same name. (Not busybox's setpriv.)
for name in uas usb ssd pair; do
    block=$(device $name)
    ssdyno list "$block" --json >/tmp/list; values our '.[0]' /tmp/list
    /usr/bin/setpriv --reuid 65534 --regid 65534 --clear-groups ssdyno list "$block" --json >/tmp/list
    values his '.[0]' /tmp/list
    is "$name without privileges" "$his_drive_serial $his_drive_hardware_id $his_drive_model" \
        "$our_drive_serial $our_drive_hardware_id $our_drive_model"
done

# Contents, compared with blkid; a mounted drive may not be overwritten.
mkfs.ext4 -q -L ground "$(device pair4k)"
mkfs.vfat -n CARD "$(device sd)" >/dev/null 2>&1
mkfs.exfat -L STICK "$(device usb)" >/dev/null
mkswap -L pages "$(device ssd)" >/dev/null
for name in pair4k sd usb ssd; do
    block=$(device $name)
    ssdyno list "$block" --json >/tmp/list; values our '.[0]' /tmp/list
    is "$name contains" "$our_contents_0_kind ${our_contents_0_label#null}" \
        "$(blkid -p -o value -s TYPE "$block") $(blkid -p -o value -s LABEL "$block")"
done
mount "$(device sd)" /mnt
ssdyno list "$(device sd)" --json >/tmp/list; values our '.[0]' /tmp/list
is "sd is mounted" "$our_mounts_0_mount" "$(findmnt -n -o TARGET "$(device sd)")"
is "sd is read-only when mounted" "$our_allowance_most" reads
umount /mnt
dd if=/dev/zero of="$(device ssd)" bs=1M count=1 conv=fsync 2>/dev/null

sata_drive ssd "$(device ssd)" link1
sata_drive disk "$(device disk)" link2
