#!/bin/sh
# Looks at a machine and changes nothing. Each line: OK, LOOK or BAD, then what and the value.
# Thresholds may be set from outside: DISK_LOOK=80 DISK_BAD=92 sh server_checkup.sh
set -u
LC_ALL=C
export LC_ALL
: "${DISK_LOOK:=80}" "${DISK_BAD:=92}" "${MEM_LOOK:=85}" "${MEM_BAD:=95}"

say() { printf '%-4s  %-12s %s\n' "$1" "$2" "$3"; }

graded() { # value, look, bad
    if [ "$1" -ge "$3" ]; then echo BAD; elif [ "$1" -ge "$2" ]; then echo LOOK; else echo OK; fi
}

say OK system "$(uname -srm), up $(uptime 2>/dev/null | sed 's/^.*up *//; s/, *[0-9]* user.*//')"

df -P -k 2>/dev/null | awk 'NR > 1 && $1 ~ /^\// { print $5, $4, $6 }' | sort -u |
while read -r used free mount; do
    percent=${used%\%}
    case $percent in *[!0-9]* | '') continue ;; esac
    case $mount in /snap/* | /boot/efi) continue ;; esac
    say "$(graded "$percent" "$DISK_LOOK" "$DISK_BAD")" disk "$mount: $used used, $((free / 1024)) MB free"
done

df -P -i 2>/dev/null | awk 'NR > 1 && $1 ~ /^\// && $5 ~ /^[0-9]+%$/ { print $5, $6 }' | sort -u |
while read -r used mount; do
    percent=${used%\%}
    [ "$percent" -ge "$DISK_LOOK" ] &&
        say "$(graded "$percent" "$DISK_LOOK" "$DISK_BAD")" inodes "$mount: $used used"
done

if [ -r /proc/meminfo ]; then
    percent=$(awk '/^MemTotal/ { t = $2 } /^MemAvailable/ { a = $2 } END { if (t) printf "%d", 100 - 100 * a / t }' /proc/meminfo)
    [ -n "$percent" ] && say "$(graded "$percent" "$MEM_LOOK" "$MEM_BAD")" memory "$percent% in use"
    swap=$(awk '/^SwapTotal/ { t = $2 } /^SwapFree/ { f = $2 } END { if (t) printf "%d", 100 - 100 * f / t }' /proc/meminfo)
    [ -n "$swap" ] && say "$(graded "$swap" 50 90)" swap "$swap% in use"
fi

cores=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
load=$(uptime | sed 's/.*load average[s]*: *//; s/,/ /g' | awk '{ print $2 }')
if [ -n "$load" ]; then
    percent=$(awk -v l="$load" -v c="$cores" 'BEGIN { printf "%d", 100 * l / c }')
    say "$(graded "$percent" 100 200)" load "$load over 5 minutes on $cores cores"
fi

zombies=$(ps -A -o stat= 2>/dev/null | grep -c '^Z')
[ "${zombies:-0}" -gt 5 ] && say LOOK processes "$zombies zombies"

if command -v systemctl >/dev/null 2>&1 && systemctl is-system-running >/dev/null 2>&1 || [ -d /run/systemd/system ]; then
    failed=$(systemctl --failed --no-legend --plain 2>/dev/null | awk '{ print $1 }' | tr '\n' ' ')
    if [ -n "$failed" ]; then say BAD services "failed: $failed"; else say OK services "none failed"; fi
fi

[ -e /var/run/reboot-required ] && say LOOK restart "an update waits for a restart"
exit 0
