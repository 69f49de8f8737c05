# The guest itself: every kind of drive appears under its name, and what is discarded is gone.
# drives: nvme pair ssd disk usb uas sd:64M scratch
lsblk -o NAME,SIZE,LOG-SEC,ROTA,TRAN,MODEL,SERIAL
for name in nvme pair pair4k ssd disk usb uas sd scratch; do
    is "$name is a block device" "$(test -b "$(device $name)" && echo yes)" yes
done
