#!/busybox/busybox sh
# The first process of the guest: sets up what the host requested, runs the script, reports its end.
export PATH=/usr/bin:/busybox HOME=/root TERM=linux XDG_DATA_HOME=/tmp/data
/busybox/busybox --install -s /busybox
mkdir -p /sbin
ln -s /busybox/modprobe /sbin/modprobe
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mount -t debugfs none /sys/kernel/debug
mount -t tmpfs none /tmp
mount -t tmpfs none /run
mkdir -p /dev/pts /tmp/data
exec </dev/null >/dev/console 2>&1
. /lib.sh

load virtio_pci virtio_console
await 20 test -c /dev/vport0p1 || exit 1
exec 3<>/dev/vport0p1
eval "$(host hello)"
[ -n "$script" ] && exec >/dev/vport0p2 2>&1

for name in $attached $later; do
    case $name in
        nvme*|pair*|bare-*) load nvme ;;
        ssd*|disk*) load ahci sd_mod ;;
        usb*) load xhci_pci usb_storage sd_mod ;;
        uas*) load xhci_pci uas sd_mod ;;
        sd*) load sdhci_pci mmc_block ;;
        scratch*) load virtio_blk crc32c_generic ext4 ;;
        tight*) load virtio_blk ;;
    esac
done
[ -z "$modules" ] || load $modules
for name in $attached; do
    arrives "$name" || { echo "not ok   drive $name does not appear"; host exit 1; }
done

if [ -z "$script" ]; then
    export volumes ENV=/lib.sh
    setsid cttyhack sh
    host exit 0
fi
cd /root
(. "/tests/$script"; finish)
status=$?
sync
host exit $status
