// How long a server or a program of the demo may take to stop.

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
