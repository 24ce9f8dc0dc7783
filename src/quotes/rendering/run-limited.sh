# Runs a command with a memory limit and a low priority: run-limited.sh KILOBYTES NICE COMMAND
# A shell does this, because a running process can lower the priority of only one of its threads.
max_data_kilobytes=$1
nice_value=$2
shift 2
# No core files, because they would contain a quote.
ulimit -c 0 2>/dev/null
# Some systems have no memory limits. There only the time is limited.
ulimit -d "$max_data_kilobytes" 2>/dev/null
exec nice -n "$nice_value" "$@"
