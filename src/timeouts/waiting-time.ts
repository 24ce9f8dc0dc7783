// What is recorded about each waiting time.

/** `what` waits for `ms` milliseconds. `why` says why this long; `afterwards`, what follows. */
export type WaitingTime = { ms: number; what: string; why: string; afterwards: string }
