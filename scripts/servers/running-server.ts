// What PostgreSQL, Meilisearch and Redis have in common once they run.

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
