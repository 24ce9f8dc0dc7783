// Finds the primary among the hosts of a database URL, and finds it again after a failover.
import { setTimeout as sleep } from 'node:timers/promises'
import pTimeout from 'p-timeout'
import { Client } from 'pg'
import { timelineSql } from '../database-identity.ts'

// A reachable server answers within milliseconds.
const hostProbeMs = 1_000
// A primary that was replaced may be up again, and only the latest one counts.
const otherHostsMs = 250
// Requests wait, and a round costs a connection to each host.
const hostProbePauseMs = 100
// Promoting a replica takes one or two seconds.
const failoverWaitMs = 5_000

export class PrimaryHost {
  readonly #urls: readonly [string, ...string[]]
  #url: string
  /** False if the host may no longer be the primary. */
  #isKnown: boolean
  #search: Promise<boolean> | null = null
  #hasGivenUp = false

  constructor(urls: readonly [string, ...string[]]) {
    this.#urls = urls
    this.#url = urls[0]
    this.#isKnown = urls.length === 1
  }

  /** The URL of the host that was the primary when it was last looked for. */
  get url(): string {
    return this.#url
  }

  get isKnown(): boolean {
    return this.#isKnown
  }

  /** Call this when the host does not respond or is not the primary. */
  markUnknown(): void {
    this.#isKnown = false
  }

  /**
   * Looks for the primary and returns whether there is one. Tries for up to 5 s, because a
   * promotion takes a moment. Later in the same outage it tries only once. Simultaneous calls
   * share one search.
   */
  find(): Promise<boolean> {
    this.#search ??= this.#searchRepeatedly().finally(() => {
      this.#search = null
    })
    return this.#search
  }

  async #searchRepeatedly(): Promise<boolean> {
    const deadline = performance.now() + (this.#hasGivenUp ? 0 : failoverWaitMs)
    for (;;) {
      const url = await findPrimary(this.#urls)
      if (url !== null) {
        this.#url = url
        this.#isKnown = true
        this.#hasGivenUp = false
        return true
      }
      if (performance.now() >= deadline) {
        this.#hasGivenUp = true
        return false
      }
      await sleep(hostProbePauseMs)
    }
  }
}

/**
 * Returns the URL of the primary, or null if no host is one. If several hosts are primaries, all
 * but one have been replaced: the one with the highest timeline is returned.
 */
async function findPrimary(urls: readonly string[]): Promise<string | null> {
  const found: { url: string; timeline: number }[] = []
  const { promise: firstFound, resolve: reportFound } = Promise.withResolvers<void>()
  const probes = urls.map(async (url) => {
    const timeline = await probeTimeline(url)
    if (timeline === null) return
    found.push({ url, timeline })
    reportFound()
  })
  const all = Promise.all(probes)
  await Promise.race([all, firstFound.then(() => sleep(otherHostsMs))])
  const latest = Math.max(...found.map(({ timeline }) => timeline))
  return urls.find((url) => found.some((one) => one.url === url && one.timeline === latest)) ?? null
}

/** Returns the timeline of a primary; null for a replica and for a silent server. */
async function probeTimeline(url: string): Promise<number | null> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: hostProbeMs,
    application_name: 'trade-quoting-service',
  })
  // If the connection breaks later, nothing is left to do: the probe has failed, or is over.
  client.on('error', () => undefined)
  const read = async () => {
    await client.connect()
    const { rows } = await client.query<{ timeline: number | null }>(
      `select ${timelineSql} as timeline`,
    )
    return rows[0]?.timeline ?? null
  }
  try {
    return await pTimeout(read(), { milliseconds: hostProbeMs })
  } catch {
    // Not logged: the statement that needs the primary gets the error of its own connection.
    return null
  } finally {
    // The answer is known, so it does not matter if the connection is already broken.
    void client.end().catch(() => undefined)
  }
}
