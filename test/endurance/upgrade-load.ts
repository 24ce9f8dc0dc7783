// Requests and writes that go on during an upgrade, with how long each took.
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Database } from '../../src/database/postgres-pool.ts'

const requestPauseMs = 50
const writePauseMs = 200

type Call = { what: string; status: number; ms: number; phase: string }

export type Load = {
  /** Names what happens from now on. */
  enter(phase: string): void
  /** Ends the load. Resolves when the last call has ended. */
  stop(): Promise<Call[]>
}

/** Asks one process, and another one if it does not answer, as every proxy of ours does. */
async function ask(urls: string[], path: string): Promise<number> {
  for (const url of urls)
    try {
      const response = await fetch(url + path)
      await response.arrayBuffer()
      return response.status
    } catch {
      // It is being replaced.
    }
  return 0
}

/** Sends requests for each of the paths, and writes a quote and a product five times a second. */
export function startLoad(urls: string[], paths: Record<string, string>, db: Database): Load {
  const calls: Call[] = []
  let phase = 'before'
  let isOver = false
  let count = 0
  const repeat = async (what: string, pauseMs: number, call: () => Promise<number>) => {
    while (!isOver) {
      const startedAt = performance.now()
      const startedIn = phase
      const status = await call()
      calls.push({ what, status, ms: performance.now() - startedAt, phase: startedIn })
      await sleep(pauseMs)
    }
  }
  const write = async () => {
    count += 1
    await sql`
      insert into quotes (number, status, currency, issued_on, net, gross)
      values (${`LOAD-${count}`}, 'draft', 'EUR', '2026-03-01', 1, 1)
    `.execute(db)
    await sql`
      insert into products (sku, name) values (${`LOAD-${count}`}, 'Martillo')
    `.execute(db)
    return 200
  }
  const requests = Object.entries(paths).flatMap(([what, path]) =>
    [urls, urls.toReversed()].map((order) =>
      repeat(what, requestPauseMs, () => ask(order, path.replace('{n}', String(count++)))),
    ),
  )
  const calling = Promise.all([...requests, repeat('writes', writePauseMs, write)])
  // `stop` throws what a write has thrown.
  calling.catch(() => undefined)
  return {
    enter(name) {
      phase = name
    },
    async stop() {
      isOver = true
      await calling
      return calls
    },
  }
}

/** Returns for each phase and kind: the calls, those that failed, and the longest in ms. */
export function summarize(calls: Call[]) {
  const groups = Map.groupBy(calls, ({ phase, what }) => `${phase}: ${what}`)
  return [...groups].map(([name, group]) => {
    const times = group.map(({ ms }) => ms).sort((one, other) => one - other)
    return {
      name,
      calls: group.length,
      failed: group.filter(({ status }) => status !== 200).length,
      p95: Math.round(times[Math.floor(times.length * 0.95)] ?? 0),
      longest: Math.round(times.at(-1) ?? 0),
    }
  })
}
