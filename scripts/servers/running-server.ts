// What PostgreSQL, Meilisearch and Redis have in common once they run, and how long they may take to
// start and to stop.

export type RunningServer = {
  name: string
  url: string
  /** Null for a server that this process did not start. */
  pid: number | null
  /** Stops it cleanly, or by force after ten seconds. Safe to call twice and on a dead server. */
  stop(): Promise<void>
  /**
   * Resolves with a message if the server ends before `stop` is called, otherwise stays pending.
   */
  exited: Promise<string>
}

/** Receives one line about the progress of a start. */
export type ReportProgress = (line: string) => void

/**
 * PostgreSQL, Meilisearch and Redis start within a second or two. It takes longer on a busy
 * machine, after a crash of PostgreSQL, or with a large database of Meilisearch. A server that
 * takes longer than this has failed: it is stopped, and the error shows the end of its log.
 */
export const startupTimeoutMs = 60_000

/** The interval between two probes of a starting server. */
export const startupPollMs = 25

/** How long one probe may take. */
export const startupProbeTimeoutMs = 2_000

/** How long a child may take to end after its stop signal, before it is killed. */
export const stopTimeouts = {
  /** PostgreSQL writes a checkpoint, Meilisearch ends its batch. Both survive SIGKILL. */
  serverMs: 10_000,
  /** The API drains within ten seconds, the indexer finishes a batch. */
  programMs: 15_000,
  /** A server whose parent is dead gets its stop signal from the watcher (child-lifetime.ts). */
  orphanMs: 15_000,
  /** After SIGKILL the kernel may still have to write out memory. */
  killedMs: 5_000,
}
