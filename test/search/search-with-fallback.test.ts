// What answers a search if engines fail or relax nothing: another engine, or PostgreSQL.
import { getEventListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { openDatabase, openSearchPool } from '../../src/database/postgres-pool.ts'
import type { LogFields } from '../../src/http/request-log.ts'
import { ConcurrencyLimit } from '../../src/overload/concurrency-limit.ts'
import { defectLogInterval, SearchLog } from '../../src/search/metrics-and-log.ts'
import { RelaxationForecast } from '../../src/search/relaxation/relaxation-forecast.ts'
import {
  maxRelaxing,
  RelaxationQueue,
  relaxationTimeout,
} from '../../src/search/relaxation/relaxation-queue.ts'
import { searchWithFallback } from '../../src/search/search-with-fallback.ts'
import { CircuitBreaker } from '../../src/search-engine/circuit-breaker.ts'
import type { WatchedEngine } from '../../src/search-engine/engine-selection.ts'
import { EngineError, EngineTimeout } from '../../src/search-engine/request-outcome.ts'
import {
  type EngineHit,
  type EngineQuery,
  type EngineResult,
  engineTimeout,
  requestResults,
} from '../../src/search-engine/search-client.ts'
import { parseQuery } from '../../src/text/parse-query.ts'
import { testDatabase } from '../support/database/test-database.ts'
import { replaceUntilEnd } from '../support/replace-until-end.ts'
import { createStubEngine, exampleHit, noHits } from '../support/stub-engine.ts'

type Answer = (
  queries: EngineQuery[],
  signal?: AbortSignal,
) => EngineResult[] | Promise<EngineResult[]>

const { db: ownerDb, roles } = await testDatabase(t)
await ownerDb.insertInto('products').values({ sku: 'PG-1', name: 'Martillo' }).execute()
const db = openDatabase(roles.api)
const pool = openSearchPool(roles.api)
t.teardown(async () => {
  await db.destroy()
  await pool.end()
})

const answerNothing: Answer = (queries) => queries.map(() => noHits)
const breakDown: Answer = () => Promise.reject(new Error('no connection'))
const isCount = ({ limit }: EngineQuery) => limit === 0
/** Only a relaxed query is searched for products that match all words of a text. */
const isSubquery = (query: EngineQuery) => query.matchingStrategy === 'all' && !isCount(query)

/** The first request of a search finds a product with one of its two words. */
const answerFirstRequest: Answer = (queries) =>
  queries.map(({ q }) =>
    q === '' ? noHits : { hits: [hitWithOneOfTwoWords], estimatedTotalHits: 1 },
  )
const hitWithOneOfTwoWords: EngineHit = {
  ...exampleHit,
  sku: 'E-1',
  _rankingScoreDetails: { words: { matchingWords: 1, maxMatchingWords: 2 } },
}

const hitWithAllWords: EngineHit = {
  ...hitWithOneOfTwoWords,
  _rankingScoreDetails: { words: { matchingWords: 2, maxMatchingWords: 2 } },
}

function toWatchedEngine(t: Test, engineName: string, answer: Answer): WatchedEngine {
  const breaker = new CircuitBreaker({ probe: async () => undefined, onChange: () => undefined })
  t.teardown(() => breaker.stop())
  const engine = createStubEngine(async (queries, signal) =>
    Promise.race([
      answer(queries, signal),
      new Promise<never>((_, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason)),
      ),
    ]),
  )
  const state = { indexedAt: null, version: null, isOfThisDatabase: true }
  return {
    registrationName: engineName,
    engineName,
    engine,
    breaker,
    getLastKnownState: () => state,
  }
}

const connected = new AbortController().signal

const failToLog = () => {
  throw new Error('this line belongs to a request, so its logger must write it')
}
const noLogger = { info: failToLog, warn: failToLog, error: failToLog }

/** Searches in engines with these answers. Returns what answered, and what was logged. */
async function searchIn(
  t: Test,
  answers: Answer[],
  {
    text = 'martillo',
    relaxationQueue = new RelaxationQueue(),
    relaxationForecast = new RelaxationForecast(),
    disconnected = connected,
  } = {},
) {
  const engines = answers.map((answer, n) => toWatchedEngine(t, `engine ${n + 1}`, answer))
  const attemptOutcomes: string[] = []
  const log: string[] = []
  const recorded: string[] = []
  for (const { breaker } of engines) {
    const record = breaker.record.bind(breaker)
    breaker.record = (outcome, error) => {
      recorded.push(outcome)
      record(outcome, error)
    }
  }
  const write = (values: { err?: unknown }, message: string) =>
    void log.push(`${message}: ${String(values.err)}`)
  const fallbacks: LogFields[] = []
  const answer = await searchWithFallback(
    {
      engineSearch: { indexName: 'products', relaxationQueue, relaxationForecast },
      database: { db, pool },
      fallbackLimit: new ConcurrencyLimit({ maxRunning: 1, maxQueued: 1 }),
      observer: {
        countResponse: () => undefined,
        countDegraded: () => undefined,
        countEngineAttempt: (name, outcome) => void attemptOutcomes.push(`${name} ${outcome}`),
        setEngineAvailable: () => undefined,
      },
      log: new SearchLog(noLogger),
    },
    engines,
    { text, query: parseQuery(text), limit: 8, offset: 0, facets: [] },
    {
      disconnected,
      logger: { info: write, warn: write, error: write },
      onFallback: (logFields) => void fallbacks.push(logFields),
    },
  )
  const openBreakers = engines.filter(({ breaker }) => breaker.isOpen)
  return {
    answer,
    log,
    fallbacks,
    attemptOutcomes,
    recorded,
    openBreakers: openBreakers.map((each) => each.engineName),
  }
}

t.test('the second engine answers if the first one fails', async (t) => {
  const { answer, attemptOutcomes, openBreakers } = await searchIn(t, [breakDown, answerNothing])
  t.match(answer, {
    source: 'index',
    engine: { engineName: 'engine 2' },
    attempts: 2,
    failedAttempt: 'engine outage',
  })
  t.equal(answer?.degradedReason, null)
  t.same(attemptOutcomes, ['engine 1 outage', 'engine 2 answered'])
  t.same(openBreakers, ['engine 1'])
})

t.test('PostgreSQL answers if two engines fail, and a third one is not tried', async (t) => {
  const { answer } = await searchIn(t, [breakDown, breakDown, answerNothing])
  t.match(answer, {
    source: 'database',
    attempts: 2,
    degradedReason: 'engine outage',
    result: { hits: [{ sku: 'PG-1' }] },
  })
})

t.test('if two engines fail, the answer and the log say why each has failed', async (t) => {
  const timeOut: Answer = () => Promise.reject(new EngineTimeout(300))
  const { answer, fallbacks } = await searchIn(t, [timeOut, breakDown])
  t.match(answer, { failedAttempt: 'engine timeout', degradedReason: 'engine outage' })
  t.same(fallbacks, [{ attempts: 2, failedAttempt: 'engine timeout', reason: 'engine outage' }])

  const { answer: answerAfterOne, fallbacks: fallbacksAfterOne } = await searchIn(t, [breakDown])
  t.equal(answerAfterOne?.failedAttempt, null)
  t.same(fallbacksAfterOne, [{ attempts: 1, reason: 'engine outage' }])
})

t.test('PostgreSQL answers if an engine leaves a query unanswered', async (t) => {
  const answerFewer: Answer = (queries) => answerNothing(queries.slice(1))
  const { answer, openBreakers } = await searchIn(t, [answerFewer])
  t.match(answer, { source: 'database', degradedReason: 'engine outage' })
  t.same(openBreakers, ['engine 1'])
  for (const isIncomplete of [isCount, isSubquery]) {
    const { answer } = await searchIn(
      t,
      [(queries) => (queries.some(isIncomplete) ? answerFewer : answerNothing)(queries)],
      { text: 'martillo bola' },
    )
    t.match(answer, { source: 'database', degradedReason: 'engine outage' })
  }
})

t.test('a defect of the service is no failure of the engine', async (t) => {
  // The code that uses the hit throws.
  const unusableHit: EngineHit = {
    ...hitWithOneOfTwoWords,
    id: '2',
    get name(): string {
      throw new TypeError('a defect')
    },
  }
  const answerUnusable: Answer = (queries) =>
    queries.map(() => ({ hits: [unusableHit], estimatedTotalHits: 1 }))

  t.test('PostgreSQL answers, and no other engine is tried', async (t) => {
    const { answer, log, attemptOutcomes, openBreakers, recorded } = await searchIn(t, [
      answerUnusable,
      answerNothing,
    ])
    t.match(answer, {
      source: 'database',
      attempts: 1,
      degradedReason: 'internal error',
      result: { hits: [{ sku: 'PG-1' }] },
    })
    t.same(attemptOutcomes, ['engine 1 defect'])
    t.same(openBreakers, [])
    t.same(recorded, [], 'the breakers get nothing')
    t.equal(log.length, 1)
    t.match(log[0], /because of a defect of this service: TypeError/)
  })

  t.test('PostgreSQL answers if the defect is met before the engine is asked', async (t) => {
    const relaxationForecast = new RelaxationForecast()
    relaxationForecast.shouldCountEarly = () => {
      throw new TypeError('a defect')
    }
    const { signal: disconnected } = new AbortController()
    const { answer, attemptOutcomes } = await searchIn(t, [answerNothing], {
      relaxationForecast,
      disconnected,
    })
    t.match(answer, { source: 'database', attempts: 1, degradedReason: 'internal error' })
    t.same(attemptOutcomes, ['engine 1 defect'])
    t.same(getEventListeners(disconnected, 'abort'), [], 'the time limit has ended')
  })

  t.test('the first request answers if relaxing the query meets the defect', async (t) => {
    const answerRelaxationUnusable: Answer = (queries) =>
      (queries.some(isSubquery) ? answerUnusable : answerFirstRequest)(queries)
    const text = 'martillo bola'
    const { answer, log, attemptOutcomes, openBreakers } = await searchIn(
      t,
      [answerRelaxationUnusable],
      { text },
    )
    t.match(answer, {
      source: 'index',
      degradedReason: 'internal error',
      result: { hits: [{ sku: 'E-1' }], total: 1 },
    })
    t.same(attemptOutcomes, ['engine 1 defect'])
    t.same(openBreakers, [])
    t.equal(log.length, 1)
  })
})

t.test('a defect is logged once for each cause and interval', async (t) => {
  const logged: unknown[] = []
  const write = (values: object) => void logged.push(values)
  const logger = { info: write, warn: write, error: write }
  const log = new SearchLog(noLogger)
  const defects = ['a', 'a', 'b'].map((message) => new TypeError(message))
  for (const defect of defects) log.logDefect(logger, defect)
  t.same(logged, [
    { err: defects[0], alsoFailed: 0 },
    { err: defects[2], alsoFailed: 1 },
  ])

  replaceUntilEnd(t, defectLogInterval, { ms: 0 })
  log.logDefect(logger, defects[1])
  t.same(logged.slice(2), [{ err: defects[1], alsoFailed: 0 }])
})

t.test('the time limit ends with the last request of a search', async (t) => {
  replaceUntilEnd(t, engineTimeout, { ms: 50 })
  let signal: AbortSignal | undefined
  const answerHitsAnd =
    (answerCounts: () => Promise<EngineResult[]>): Answer =>
    (queries, ownSignal) => {
      signal = ownSignal
      return queries.some(isCount)
        ? answerCounts()
        : queries.map(() => ({ hits: [hitWithAllWords], estimatedTotalHits: 1 }))
    }
  const stall = () => new Promise<never>(() => undefined)
  const answerSoon = async () => {
    await sleep(10)
    return ['martillo', 'bola', 'acero'].map(() => noHits)
  }
  for (const [text, answerCounts, isLimited] of [
    ['martillo', stall, false],
    ['martillo bola', stall, false],
    // The words are counted early, and the answer does not wait for them.
    ['martillo bola acero', stall, true],
    ['martillo bola acero', answerSoon, false],
  ] as const) {
    const { signal: disconnected } = new AbortController()
    const { answer } = await searchIn(t, [answerHitsAnd(answerCounts)], { text, disconnected })
    t.equal(answer?.degradedReason, null, text)
    t.equal(signal?.aborted, false, text)
    await sleep(150)
    t.equal(signal?.reason instanceof EngineTimeout, isLimited, text)
    t.same(getEventListeners(disconnected, 'abort'), [], text)
  }
})

t.test('a search that has failed aborts all its requests at once', async (t) => {
  let signal: AbortSignal | undefined
  const failButCount: Answer = (queries, ownSignal) => {
    signal = ownSignal
    return queries.some(isCount) ? new Promise(() => undefined) : breakDown(queries)
  }
  await searchIn(t, [failButCount], { text: 'martillo bola acero' })
  t.equal(signal?.aborted, true)
  t.notOk(signal?.reason instanceof EngineTimeout)
})

t.test('the error of an unanswered query says how many results are missing', async (t) => {
  const watched = toWatchedEngine(t, 'main', (queries) => answerNothing(queries.slice(1)))
  const queries = ['a', 'b'].map((q) => ({
    indexUid: 'products',
    q,
    limit: 1,
    attributesToRetrieve: ['id'] as const,
  }))
  const resultOf = await requestResults(watched.engine, queries, new AbortController().signal)
  t.equal(resultOf(queries[0] as EngineQuery), noHits)
  t.throws(() => resultOf(queries[1] as EngineQuery), {
    cause: { message: 'the search engine returned 1 results for 2 queries' },
  })
})

t.test('without its relaxation, a search is answered with what was found before', async (t) => {
  const text = 'martillo bola'
  const found = { source: 'index', result: { hits: [{ sku: 'E-1' }], total: 1 } }

  const waits = [
    ['it waits too long', { relaxationMs: 10, engineMs: 10_000 }],
    ['the time limit of the search ends while it waits', { relaxationMs: 10_000, engineMs: 50 }],
  ] as const
  for (const [how, { relaxationMs, engineMs }] of waits)
    t.test(`not relaxed: too many other queries are relaxed, and ${how}`, async (t) => {
      replaceUntilEnd(t, relaxationTimeout, { ms: relaxationMs })
      replaceUntilEnd(t, engineTimeout, { ms: engineMs })
      const relaxationQueue = new RelaxationQueue()
      const { promise, resolve } = Promise.withResolvers<void>()
      for (let n = 0; n < maxRelaxing; n++) void relaxationQueue.run(2, connected, () => promise)
      const options = { text, relaxationQueue }
      const startedAt = performance.now()
      const { answer, attemptOutcomes } = await searchIn(t, [answerFirstRequest], options)
      t.ok(performance.now() - startedAt < 5_000)
      t.match(answer, { ...found, degradedReason: 'not relaxed' })
      t.same(attemptOutcomes, ['engine 1 answered'])
      resolve()
    })

  t.test('relaxation failed: the engine rejects it', async (t) => {
    const rejectCounts: Answer = (queries) =>
      queries.some(isCount)
        ? Promise.reject(new EngineError(400, '{"code":"invalid_search_q"}'))
        : answerFirstRequest(queries)
    const { answer, log, attemptOutcomes } = await searchIn(t, [rejectCounts], { text })
    t.match(answer, { ...found, degradedReason: 'engine rejected' })
    t.same(attemptOutcomes, ['engine 1 rejected'])
    t.same(log, [
      'search engine rejected a search as invalid: ' +
        'Error: Meilisearch answered 400 (invalid_search_q)',
    ])
  })

  t.test('relaxation failed: it takes longer than the limit', async (t) => {
    replaceUntilEnd(t, engineTimeout, { ms: 50 })
    const stallCounts: Answer = (queries) =>
      queries.some(isCount) ? new Promise(() => undefined) : answerFirstRequest(queries)
    const { answer, attemptOutcomes, openBreakers, recorded } = await searchIn(t, [stallCounts], {
      text,
    })
    t.match(answer, { ...found, degradedReason: 'engine timeout' })
    t.same(attemptOutcomes, ['engine 1 timeout'])
    t.same(recorded, ['answered'])
    t.same(openBreakers, [])
  })
})
