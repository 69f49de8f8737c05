# Another drive of the same size replaces the one opened with --destroy during a run: the run ends,
# and not a byte of the other drive is changed.
# drives: usb
# later: usb2
# modules: ext4
# seconds: 200
block=$(device usb)
mkfifo /tmp/events
for way in "-m quick --destroy=$(serial usb)" "-m zones --destroy=$(serial usb)"; do
    other=$(host hash usb2)
    ssdyno run "$block" $way --time 20s --json --events --quiet >/tmp/events 2>/tmp/said &
    run=$!
    stopped=
    while read -r line; do
        case $line in
            *'"event":"step"'*)
                # Stopped between two checks of its drive.
                [ -n "$stopped" ] && continue
                stopped=yes
                kill -STOP $run
                is "unplug" "$(host unplug usb)" ok
                leaves usb || fail "usb is still there"
                is "plug" "$(host plug usb2)" ok
                arrives usb2 || fail "usb2 did not appear"
                pass "$(device usb2) is where $block was"
                kill -CONT $run
                ;;
        esac
    done </tmp/events
    wait $run
    status=$?
    [ $status = 3 ] || [ $status = 4 ] && pass "$way: exit $status" || fail "$way: exit $status"
    cat /tmp/said
    sync
    is "the other drive" "$(host hash usb2)" "$other"
    exits 3 "with the first one's serial number" ssdyno run "$(device usb2)" --destroy="$(serial usb)" --time 1s
    is "unplug" "$(host unplug usb2)" ok
    leaves usb2 || fail "usb2 is still there"
    is "plug" "$(host plug usb)" ok
    arrives usb || fail "usb did not appear"
    block=$(device usb)
done
