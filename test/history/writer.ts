// A writer: makes its planned transactions one after the other, and tells the model what was committed, also when it does not hear of it at once.
import { setTimeout as sleep } from 'node:timers/promises'
import type { PoolClient } from 'pg'
import { openPool } from '../../src/database/postgres-pool.ts'
import type { Model, Written } from './model.ts'
import type { Transaction } from './plan.ts'
import type { World } from './world.ts'

export type Note = (text: string) => void

/** Plays the transactions; answers how many were committed. `order` counts statements over all writers. */
export async function playWriter(
  world: World,
  own: Transaction[],
  model: Model,
  order: () => number,
  note: Note,
): Promise<number> {
  let commits = 0
  for (const transaction of own) {
    await sleep(transaction.waitMs)
    if (await play(transaction)) commits++
  }
  return commits

  async function play({ serial, changes, holdMs, end }: Transaction): Promise<boolean> {
    const words = `${serial}: ${changes.map((change) => change.words).join(', ')}`
    const effects: Written[] = []
    let earliest: number | undefined
    try {
      await alone(world, async (client) => {
        await client.query('begin')
        await client.query('insert into history_commits values ($1)', [serial])
        for (const change of changes) {
          const made = await change.apply(client, world.clock)
          effects.push(...made.map((effect) => ({ ...effect, order: order() })))
        }
        await sleep(holdMs)
        if (end === 'commit') earliest = Date.now()
        await client.query(end)
      })
      note(`${end} ${words}`)
    } catch (error) {
      note(
        `${earliest === undefined ? 'failed' : 'unknown'} ${words}: ${error instanceof Error ? error.message : error}`,
      )
      // Whether a commit that was asked for happened is asked until PostgreSQL can say so.
      if (earliest === undefined || !(await wasCommitted(serial))) return false
    }
    if (earliest !== undefined) model.commit(effects, earliest, Date.now() + 1)
    return earliest !== undefined
  }

  async function wasCommitted(serial: number): Promise<boolean> {
    for (;;) {
      try {
        return await alone(world, async (client) => {
          const { rowCount } = await client.query('select from history_commits where id = $1', [
            serial,
          ])
          return rowCount === 1
        })
      } catch {
        await sleep(100)
      }
    }
  }
}

/** Works on a connection of its own. */
export async function alone<Result>(
  { databaseUrl }: World,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  const pool = openPool(databaseUrl, { connections: 1 })
  try {
    const client = await pool.connect()
    try {
      return await work(client)
    } finally {
      client.release(true)
    }
  } finally {
    await pool.end().catch(() => undefined)
  }
}
