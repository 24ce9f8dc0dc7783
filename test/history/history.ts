// Plays one history: writers, faults and questions at once; then judges every answer against what was committed.
import { setTimeout as sleep } from 'node:timers/promises'
import type { PoolClient } from 'pg'
import { openDatabase, openEngine, openPool } from '../../src/connections.ts'
import { searchKey } from '../../src/search/engine-keys.ts'
import { verify } from '../../src/search/verify.ts'
import { type Effect, type Model, model } from './model.ts'
import { type Fault, makePlan, type Transaction } from './plan.ts'
import { type Random, random } from './random.ts'
import type { Answer, Subject } from './subject.ts'
import { indexName, type PieceName, type World, wipe } from './world.ts'

export type Verdict = {
  seed: number
  /** What is wrong, in words; empty for a history that holds. */
  wrong: string[]
  answers: number
  bySource: Record<string, number>
  commits: number
  faults: number
  /** What happened, a line each. */
  events: string[]
}

const askEveryMs = 40
const answerLimitMs = 4_000
/** How long it may take until everything is in step again, faults over: a takeover, and a rebuild. */
const healLimitMs = 60_000

type Trouble = { piece: PieceName; from: number; to: number }

/** Within so many milliseconds after a fault is over its piece must serve again (the engine: 5 s, by contract). */
const recoveryMs = 5_000

/** Plays the history that this seed plans. Everything must be up when it begins, and is when it ends. */
export async function playHistory<Change>(world: World, subject: Subject<Change>, seed: number, steps: number): Promise<Verdict> {
  const plan = makePlan(subject, seed, steps)
  const begunAt = Date.now()
  const events: string[] = []
  const note = (text: string) => events.push(`${((Date.now() - begunAt) / 1000).toFixed(3).padStart(8)}  ${text}`)
  const truth = model(subject.initial)
  const troubles: Trouble[] = []
  const answers: Answer[] = []
  const wrong: string[] = []
  const unresolved: { id: number; effects: Effect[]; earliest: number }[] = []
  let commits = 0

  await alone(world, async (client) => {
    await subject.clear(client)
    await client.query('delete from history_commits')
  })
  const started = Date.now() + 1
  await untilInStep(world, subject, truth, note)

  async function writer(own: Transaction<Change>[]): Promise<void> {
    for (const transaction of own) {
      await sleep(transaction.waitMs)
      await write(transaction)
    }
  }

  async function write({ serial, changes, holdMs, end }: Transaction<Change>): Promise<void> {
    const pool = openPool(world.databaseUrl, { connections: 1 })
    const effects: Effect[] = []
    let client: PoolClient | undefined
    let earliest: number | undefined
    try {
      client = await pool.connect()
      client.on('error', () => undefined)
      await client.query('begin')
      await client.query('insert into history_commits values ($1)', [serial])
      for (const change of changes) effects.push(...(await subject.apply(client, change)))
      await sleep(holdMs)
      if (end === 'commit') earliest = Date.now()
      await client.query(end)
      if (end === 'commit') {
        truth.commit(effects, earliest ?? 0, Date.now() + 1)
        commits++
      }
      note(`${end} ${serial}: ${changes.map(subject.describe).join(', ')}`)
    } catch (error) {
      // Whether a commit that was asked for happened is seen at the end.
      if (earliest !== undefined) unresolved.push({ id: serial, effects, earliest })
      note(`${earliest === undefined ? 'failed' : 'unknown'} ${serial}: ${changes.map(subject.describe).join(', ')}: ${messageOf(error)}`)
    } finally {
      client?.release(true)
      await pool.end().catch(() => undefined)
    }
  }

  async function fault({ afterMs, piece, kind, forMs }: Fault, busy: Set<PieceName>): Promise<void> {
    await sleep(afterMs)
    if (busy.has(piece)) return
    busy.add(piece)
    const trouble: Trouble = { piece, from: Date.now(), to: Number.POSITIVE_INFINITY }
    troubles.push(trouble)
    note(`${kind} ${piece} for ${forMs} ms`)
    const target = world.pieces[piece]
    if (kind === 'wipe') await target.kill(forMs, () => wipe(world))
    else await target[kind](forMs)
    trouble.to = Date.now() + recoveryMs
    note(`${piece} is back`)
    busy.delete(piece)
  }

  let isOver = false
  async function asker(api: World['apis'][number], draw: Random): Promise<void> {
    while (!isOver) {
      answers.push(await ask(api, subject.question(draw)))
      await sleep(askEveryMs)
    }
  }

  const watching = watchEngine(world, troubles, () => isOver)
  const asking = world.apis.map((api, n) => asker(api, random(seed + n + 1)))
  const busy = new Set<PieceName>()
  await Promise.all([...plan.writers.map(writer), ...plan.faults.map((one) => fault(one, busy))])
  note('all faults are over')
  await alone(world, async (client) => {
    const { rows } = await client.query<{ id: number }>('select id from history_commits')
    const committed = new Set(rows.map(({ id }) => id))
    for (const { id, effects, earliest } of unresolved) if (committed.has(id)) truth.commit(effects, earliest, Date.now() + 1)
  })
  const problem = await untilInStep(world, subject, truth, note)
  if (problem !== null) wrong.push(`not in step ${healLimitMs / 1000} s after the last fault: ${problem}`)
  else wrong.push(...(await drift(world)))
  isOver = true
  await Promise.all([...asking, watching])

  const judged = answers.filter((answer) => answer.sentAt >= started)
  const bySource: Record<string, number> = {}
  for (const answer of judged) {
    const source =
      answer.status === 200 ? ((JSON.parse(answer.body) as { meta?: { source: string } }).meta?.source ?? 'ok') : String(answer.status)
    bySource[source] = (bySource[source] ?? 0) + 1
    const reason = answer.status === 200 ? subject.judge(answer, truth) : excuse(answer, troubles)
    if (reason === null) continue
    wrong.push(
      `${answer.api} ${answer.path} at ${((answer.sentAt - begunAt) / 1000).toFixed(3)}, for ${answer.endedAt - answer.sentAt} ms: ${reason}`,
    )
  }
  return { seed, wrong, answers: judged.length, bySource, commits, faults: plan.faults.length, events }
}

async function ask({ name, url }: World['apis'][number], path: string): Promise<Answer> {
  const sentAt = Date.now()
  try {
    const response = await fetch(url + path, { signal: AbortSignal.timeout(answerLimitMs) })
    const body = await response.text()
    return { api: name, path, sentAt, endedAt: Date.now() + 1, status: response.status, body }
  } catch (error) {
    return { api: name, path, sentAt, endedAt: Date.now() + 1, status: null, body: messageOf(error) }
  }
}

/** Why an answer that is no 200 is wrong: only with both PostgreSQL and the engine in trouble may there be a 503, or none in time. */
function excuse({ api, sentAt, endedAt, status, body }: Answer, troubles: Trouble[]): string | null {
  const inTrouble = (piece: string) =>
    troubles.some((trouble) => trouble.piece === piece && trouble.from <= endedAt && trouble.to >= sentAt)
  const bothDown = inTrouble('postgres') && inTrouble('engine')
  if (status === null) return inTrouble(api) || bothDown ? null : `no answer (${body}) though it was up`
  if (status === 503)
    return bothDown || inTrouble(api) ? null : `503, though ${inTrouble('postgres') ? 'the engine' : 'PostgreSQL'} was up: ${body}`
  return `status ${status}: ${body}`
}

const slowMs = 150

/** Searches the engine itself all along: while that is slow or fails, for whatever reason, or this machine stands still, the engine is in trouble. */
async function watchEngine(world: World, troubles: Trouble[], isOver: () => boolean): Promise<void> {
  const index = openEngine(world.engineUrl, searchKey(world.masterKey)).index(indexName)
  for (let last = Date.now(); !isOver(); ) {
    const from = last
    const worked = await index.search('', { limit: 1 }, { signal: AbortSignal.timeout(300) }).then(
      () => true,
      () => false,
    )
    if (!worked || Date.now() - from > slowMs) troubles.push({ piece: 'engine', from: from - slowMs, to: Date.now() + recoveryMs / 2 })
    last = Date.now()
    await sleep(50)
  }
}

/** Waits until both APIs show the present state out of the index. Answers what they still show otherwise after a minute. */
async function untilInStep<Change>(
  world: World,
  subject: Subject<Change>,
  truth: Model,
  note: (text: string) => void,
): Promise<string | null> {
  const deadline = Date.now() + healLimitMs
  for (;;) {
    const finals = await Promise.all(world.apis.map((api) => ask(api, subject.finalQuestion)))
    const problem = finals.map((answer) => subject.judgeFinal(answer, truth)).find((reason) => reason !== null)
    if (problem === undefined) {
      note('in step')
      return null
    }
    if (Date.now() > deadline) return problem
    await sleep(100)
  }
}

/** What the comparison of every document finds; nothing may be left pending either. */
async function drift(world: World): Promise<string[]> {
  const db = openDatabase(world.databaseUrl, { connections: 2 })
  try {
    const target = { db, engine: openEngine(world.engineUrl, world.masterKey), indexName, engineName: 'main' }
    const { missing, stale, extra } = await verify(target)
    return Object.entries({ missing, stale, extra })
      .filter(([, ids]) => ids.length > 0)
      .map(([kind, ids]) => `verify: ${kind}: ${ids.join(', ')}`)
  } finally {
    await db.destroy()
  }
}

async function alone(world: World, work: (client: PoolClient) => Promise<void>): Promise<void> {
  const pool = openPool(world.databaseUrl, { connections: 1 })
  const client = await pool.connect()
  try {
    await work(client)
  } finally {
    client.release()
    await pool.end()
  }
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error))
