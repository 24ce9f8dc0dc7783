// Reads the processor time of a process. Unlike elapsed time, it does not depend on the load of the
// machine.
import { readFileSync } from 'node:fs'

/** Returns user and system time in microseconds, in steps of 10 ms. Returns 0 except on Linux. */
export function processorMicroseconds(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    return (Number(fields[11]) + Number(fields[12])) * 10_000
  } catch {
    return 0
  }
}

/**
 * Returns the processor time of the main thread in microseconds, without steps. This is all of it
 * for a process with one thread, such as a backend of PostgreSQL. Where the kernel keeps no
 * scheduling statistics, returns processorMicroseconds().
 */
export function mainThreadMicroseconds(pid: number): number {
  try {
    const [nanoseconds] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')
    return Number(nanoseconds) / 1_000
  } catch {
    return processorMicroseconds(pid)
  }
}
