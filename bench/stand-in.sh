#!/bin/bash
# The fastest agent there is: says when its first instruction ran and when its last line left, in seconds since the epoch.
# The prompt chooses: `hang` (until it is ended), `slowly` (a pause before the last line), anything else: at once.
began=$EPOCHREALTIME
if [[ $1 == --version ]]; then
  echo '1.0.0 (stand-in of the benchmarks)'
  exit
fi
while (($#)); do
  case $1 in --resume | --session-id) session=$2 ;; esac
  shift
done
read -r -d '' prompt
printf '{"type":"system","subtype":"init","session_id":"%s"}\n' "$session"
case ${prompt##*$'\n'} in
  hang) exec sleep 600 ;;
  slowly) sleep 0.02 ;;
esac
# The clock is read before the line is written, so that the way to the person is measured too long rather than too short.
printf '{"type":"result","subtype":"success","is_error":false,"session_id":"%s","result":"%s %s"}\n' \
  "$session" "$began" "$EPOCHREALTIME"
