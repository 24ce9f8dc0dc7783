# Runs a command with limits and a low priority: run-limited.sh SECONDS KILOBYTES NICE COMMAND
# A shell does this, because a running process can lower the priority of only one of its threads.
max_processor_seconds=$1
max_data_kilobytes=$2
nice_increment=$3
shift 3
# No core files, because they would contain a quote.
ulimit -c 0 2>/dev/null
# A soft limit, so that the signal (SIGXCPU) says why the process has ended.
# Setting a limit fails silently in two cases. A lower limit is already in force: then that one
# stays. Or the system has no limit of memory, as macOS: then only the time is limited.
ulimit -S -t "$max_processor_seconds" 2>/dev/null
ulimit -d "$max_data_kilobytes" 2>/dev/null
exec nice -n "$nice_increment" "$@"
