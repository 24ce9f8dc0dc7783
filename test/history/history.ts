// Plays one history: writers, faults and questions at once; then judges every answer against what was committed.
import { setTimeout as sleep } from 'node:timers/promises'
import { openDatabase } from '../../src/database/postgres-pool.ts'
import { verify } from '../../src/indexing/index-verification.ts'
import { openEngine } from '../../src/indexing/meilisearch-client.ts'
import { findDifferences } from '../../src/stats/verify-summary.ts'
import { company } from '../support/company.ts'
import { type Model, model } from './model.ts'
import { type Fault, makePlan } from './plan.ts'
import { type Random, random } from './random.ts'
import type { Answer, Question, Scene, Subject } from './subject.ts'
import { makeSubjects } from './subjects.ts'
import { makeTroubles, type Troubles, watchEngine } from './troubles.ts'
import { indexName, type PieceName, type World, wipe } from './world.ts'
import { alone, type Note, playWriter } from './writer.ts'

export type Verdict = {
  seed: number
  /** What is wrong, in words; empty for a history that holds. */
  wrong: string[]
  answers: number
  /** How many answers of which kind. */
  kinds: Record<string, number>
  commits: number
  faults: number
  /** What happened, a line each. */
  events: string[]
}

const answerLimitMs = 4_000
/** How long it may take until everything is in step again, faults over: a takeover, and a rebuild. */
const healLimitMs = 60_000

/** Plays the history that this seed plans. Everything must be up when it begins, and is when it ends. */
export async function playHistory(world: World, seed: number, steps: number): Promise<Verdict> {
  const subjects = makeSubjects()
  const plan = makePlan(subjects, seed, steps)
  const begunAt = Date.now()
  const seconds = (ms: number) => ((ms - begunAt) / 1000).toFixed(3)
  const events: string[] = []
  const note = (text: string) => events.push(`${seconds(Date.now()).padStart(8)}  ${text}`)
  const truth = model()
  const troubles = makeTroubles()
  const answers: { subject: Subject; answer: Answer }[] = []
  const wrong: string[] = []

  await alone(world, async (client) => {
    for (const subject of subjects) await subject.clear(client)
    await client.query('delete from history_commits')
  })
  const startedAt = Date.now() + 1
  const scene = makeScene(world, truth, troubles, startedAt, answers)
  await untilInStep(world, subjects, scene, note)

  let isOver = false
  async function asker(api: World['apis'][number], subject: Subject, draw: Random): Promise<void> {
    const bodies = new Map<string, string>()
    while (!isOver) {
      const question = subject.question(draw, world.clock)
      if (question) answers.push({ subject, answer: await ask(api, question, bodies) })
      await sleep(subject.askEveryMs)
    }
  }
  const watching = watchEngine(world, troubles, () => isOver)
  const asking = world.apis.flatMap((api, n) =>
    subjects.map((subject, m) => asker(api, subject, random(seed + 10 * n + m + 1))),
  )
  const busy = new Set<PieceName>()
  let statements = 0
  const writers = plan.writers.map((own) => playWriter(world, own, truth, () => ++statements, note))
  await Promise.all(plan.faults.map((one) => playFault(world, one, busy, troubles, note)))
  note('all faults are over')
  const commits = (await Promise.all(writers)).reduce((sum, own) => sum + own, 0)
  note('all is written')
  const problem = await untilInStep(world, subjects, scene, note)
  if (problem !== null)
    wrong.push(`not in step ${healLimitMs / 1000} s after the last fault: ${problem}`)
  else wrong.push(...(await drift(world)))
  isOver = true
  await Promise.all([...asking, watching])

  const kinds: Record<string, number> = {}
  for (const { subject, answer } of answers) {
    const kind = `${subject.name} ${answer.status === null ? 'none' : subject.kind(answer)}`
    kinds[kind] = (kinds[kind] ?? 0) + 1
    const reason = subject.judge(answer, scene)
    if (reason === null) continue
    const { api, path, sentAt, endedAt } = answer
    wrong.push(`${api} ${path} at ${seconds(sentAt)}, for ${endedAt - sentAt} ms: ${reason}`)
  }
  wrong.push(...world.deaths.splice(0))
  return {
    seed,
    wrong,
    answers: answers.length,
    kinds,
    commits,
    faults: plan.faults.length,
    events,
  }
}

function makeScene(
  world: World,
  model: Model,
  troubles: Troubles,
  startedAt: number,
  answers: { answer: Answer }[],
): Scene {
  return {
    model,
    clock: world.clock,
    startedAt,
    inTrouble: (piece, { sentAt, endedAt }) => troubles.during(piece, sentAt, endedAt),
    answeredBefore({ api, path, sentAt, endedAt }) {
      const isGood = (other: Answer) =>
        other.api === api && other.path === path && (other.status === 200 || other.status === 304)
      const before = answers.findLast(
        ({ answer }) => isGood(answer) && answer.endedAt <= sentAt,
      )?.answer
      return before !== undefined && !troubles.during(api, before.sentAt, endedAt)
    },
  }
}

async function playFault(
  world: World,
  { afterMs, piece, kind, forMs }: Fault,
  busy: Set<PieceName>,
  troubles: Troubles,
  note: Note,
) {
  await sleep(afterMs)
  if (busy.has(piece)) return
  busy.add(piece)
  const over = troubles.begin(piece)
  note(`${kind} ${piece} for ${forMs} ms`)
  const target = world.pieces[piece]
  if (kind === 'wipe') await target.kill(forMs, () => wipe(world))
  else await target[kind](forMs)
  over()
  note(`${piece} is back`)
  busy.delete(piece)
}

/** Asks one API. `bodies`: what was answered under which ETag; a 304 stands for that. */
async function ask(
  { name, url }: World['apis'][number],
  { path, headers = {} }: Question,
  bodies = new Map<string, string>(),
): Promise<Answer> {
  const sentAt = Date.now()
  const answered = (rest: Pick<Answer, 'status' | 'headers' | 'body'>): Answer => ({
    api: name,
    path,
    sentAt,
    endedAt: Date.now() + 1,
    ...rest,
  })
  try {
    const response = await fetch(url + path, {
      headers,
      signal: AbortSignal.timeout(answerLimitMs),
    })
    // Byte by byte: a PDF is no text.
    const body = path.endsWith('=pdf')
      ? Buffer.from(await response.arrayBuffer()).toString('latin1')
      : await response.text()
    const tag = response.headers.get('etag')
    if (tag !== null && response.status === 200) bodies.set(tag, body)
    const known = response.status === 304 ? bodies.get(tag ?? '') : undefined
    return answered({
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: known ?? body,
    })
  } catch (error) {
    return answered({
      status: null,
      headers: {},
      body: error instanceof Error ? error.message : String(error),
    })
  }
}

/** Waits until both APIs show the present state of everything. Answers what they still show otherwise after a minute. */
async function untilInStep(
  world: World,
  subjects: Subject[],
  scene: Scene,
  note: Note,
): Promise<string | null> {
  const deadline = Date.now() + healLimitMs
  for (;;) {
    const asked = world.apis.flatMap((api) =>
      subjects.flatMap((subject) =>
        subject.finalQuestions().map((question) => ({ api, subject, question })),
      ),
    )
    const problems = await Promise.all(
      asked.map(async ({ api, subject, question }) => {
        const problem = subject.judgeFinal(await ask(api, question), scene)
        return problem === null ? [] : [`${api.name} ${question.path}: ${problem}`]
      }),
    )
    const [problem] = problems.flat()
    if (problem === undefined) {
      note('in step')
      return null
    }
    if (Date.now() > deadline) return problem
    await sleep(100)
  }
}

/** What the comparison of every document and of every figure finds. */
async function drift(world: World): Promise<string[]> {
  const db = openDatabase(world.databaseUrl, { connections: 2 })
  try {
    const target = {
      db,
      engine: openEngine(world.engineUrl, world.masterKey),
      indexName,
      engineName: 'main',
    }
    const { missing, stale, extra } = await verify(target)
    const [today = ''] = world.clock.days(Date.now(), Date.now())
    const differences = await findDifferences(db, company, today)
    return [
      ...Object.entries({ missing, stale, extra })
        .filter(([, ids]) => ids.length > 0)
        .map(([kind, ids]) => `verify: ${kind}: ${ids.join(', ')}`),
      ...differences.map((difference) => `stats verify: ${difference}`),
    ]
  } finally {
    await db.destroy()
  }
}
