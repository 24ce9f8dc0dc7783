// A process without Redis that gets no searches reads the state of the indexes less often.
import {
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
} from 'kysely'
import t from 'tap'
import type { Tables } from '../../src/database/table-types.ts'
import { idleAfter, idlePoll } from '../../src/redis/poller.ts'
import { IndexStateFollower } from '../../src/search-engine/index-state-follower.ts'
import { replaceUntilEnd } from '../support/replace-until-end.ts'

const idlePollMs = 20
const measuredMs = 400
const fewestReads = 10
/** More than there are between the end of a read and the timer for the next one. */
const maxSteps = 12

const row = {
  name: 'main',
  indexedAt: null,
  isUpToDate: true,
  version: '1',
  isOfThisDatabase: true,
  wordsVersion: '1',
  identity: 'database',
}

/** Answers every query at once with the state of one index. */
class ImmediateDriver extends DummyDriver {
  override async acquireConnection() {
    return {
      executeQuery: async <Row>() => ({ rows: [row as unknown as Row] }),
      streamQuery(): never {
        throw new Error('No query is streamed.')
      },
    }
  }
}

const db = new Kysely<Tables>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new ImmediateDriver(),
    createIntrospector: (kysely) => new PostgresIntrospector(kysely),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
})

t.test('a search while a process becomes idle does not double its reads', async (t) => {
  replaceUntilEnd(t, idleAfter, { ms: -1 })
  replaceUntilEnd(t, idlePoll, { ms: idlePollMs })
  const startedAt = performance.now()
  const reads = Array.from({ length: maxSteps }, () => 0)
  const followers = reads.map((_, steps) => {
    const follower = new IndexStateFollower({
      db,
      registrationNames: ['main'],
      async onCompanyWordsVersion() {
        reads[steps] = (reads[steps] ?? 0) + 1
        // The first read also records that the index is used, which takes longer.
        if (reads[steps] !== 2) return
        for (let step = 0; step < steps; step++) await undefined
        follower.getLastKnownState('main')
      },
    })
    t.teardown(() => follower.stop())
    follower.start()
    return follower
  })
  do await new Promise((resolve) => setTimeout(resolve, measuredMs))
  while (reads.some((count) => count < fewestReads))
  await Promise.all(followers.map((follower) => follower.stop()))
  // The first read, and the one that the search causes, are not preceded by a pause.
  const most = (performance.now() - startedAt) / idlePollMs + 2
  for (const [steps, count] of reads.entries())
    t.ok(count <= most, `${count} reads if a search comes ${steps} steps after a read`)
})
