// What every server that runs beside us is to its starter, whichever it is.

export type RunningServer = {
  name: string
  url: string
  /** null for a server that is not ours. */
  pid: number | null
  /** Stops it in good order, by force after 10 s. May be called again, and on a dead server. */
  stop(): Promise<void>
  /** Resolves with a reason for people when the server ends unasked; stays open else. */
  exited: Promise<string>
}

/** Takes one line of progress for people. */
export type ReportProgress = (line: string) => void
