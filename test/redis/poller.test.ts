// Which value a process knows while it polls PostgreSQL in turn with others.
import t, { type Test } from 'tap'
import { idleAfter, idlePoll, Poller, type PollerOptions } from '../../src/redis/poller.ts'
import type { PollResult } from '../../src/redis/shared-polling.ts'
import { eventually } from '../support/eventually.ts'
import { replaceUntilEnd } from '../support/replace-until-end.ts'

type Reading = { database: string; value: number; readAt: number }

/** Starts a poller. Its value counts the reads, unless `options` replaces `read`. */
function startPoller(t: Test, options: Partial<PollerOptions<Reading>> = {}) {
  let reads = 0
  const newer: number[] = []
  const poller = new Poller<Reading>({
    sharing: null,
    read: async (readAt) => ({ database: 'a', value: ++reads, readAt }),
    scopeOf: ({ database }) => database,
    format: ({ value }) => String(value),
    parse: ({ text, readAt }, known) => ({ ...known, value: Number(text), readAt }),
    onNewer: ({ value }) => newer.push(value),
    mayIdle: false,
    pauses: { aloneMs: 1, sharedMs: 1 },
    ...options,
  })
  t.teardown(() => poller.stop())
  poller.start()
  return { poller, newer, countReads: () => reads }
}

/** Redis, in which another process publishes values and holds the lock. */
function otherProcess() {
  let published: PollResult['published'] = null
  let polls = 0
  return {
    publish(value: number) {
      published = { text: String(value), readAt: performance.now() }
    },
    countPolls: () => polls,
    async poll(): Promise<PollResult> {
      polls += 1
      return { published, lock: null }
    },
  }
}

t.test('uses what another process publishes', async (t) => {
  const sharing = otherProcess()
  const { poller, newer, countReads } = startPoller(t, { sharing })
  await eventually(async () => poller.latest()?.value, Boolean)
  sharing.publish(100)
  await eventually(
    async () => poller.latest()?.value,
    (value) => value === 100,
  )
  t.same(newer, [1, 100])
  t.equal(countReads(), 1, 'it reads itself only until it knows the database')
})

t.test('keeps a published value that is newer than what its own query returns', async (t) => {
  const sharing = otherProcess()
  const answers: (() => void)[] = []
  const { poller } = startPoller(t, {
    sharing,
    read: (readAt) =>
      new Promise((resolve) => {
        const value = answers.length + 1
        answers.push(() => resolve({ database: 'a', value, readAt }))
      }),
  })
  await eventually(async () => answers.length, Boolean)
  answers[0]?.()
  await eventually(async () => poller.latest()?.value, Boolean)
  poller.readInBackground()
  t.equal(answers.length, 2)
  sharing.publish(100)
  await eventually(
    async () => poller.latest()?.value,
    (value) => value === 100,
  )
  answers[1]?.()
  t.match(await poller.readIfOlderThan(0), { value: 2 }, 'the query has answered')
  t.equal(poller.latest()?.value, 100)
})

t.test('does not use what was read from another database', async (t) => {
  const sharing = otherProcess()
  let database = 'a'
  const { poller, newer } = startPoller(t, {
    sharing,
    read: async (readAt) => ({ database, value: 1, readAt }),
    parse: ({ text, readAt }) => ({ database: 'a', value: Number(text), readAt }),
  })
  await eventually(async () => poller.latest(), Boolean)
  database = 'b'
  t.match(await poller.readIfOlderThan(0), { database: 'b' })
  sharing.publish(100)
  const before = sharing.countPolls()
  await eventually(
    async () => sharing.countPolls(),
    (polls) => polls > before + 2,
  )
  t.match(poller.latest(), { database: 'b', value: 1 })
  t.same(newer, [1, 1])
})

t.test('polls less often while no request needs the value, and a request ends that', async (t) => {
  replaceUntilEnd(t, idleAfter, { ms: 20 })
  replaceUntilEnd(t, idlePoll, { ms: 3_600_000 })
  const { poller, countReads } = startPoller(t, { mayIdle: true })
  const untilIdle = async () => {
    let before = -1
    while (before !== countReads()) {
      before = countReads()
      await new Promise((resolve) => setTimeout(resolve, 300))
    }
    return before
  }
  const idleAt = await untilIdle()
  poller.latest()
  await eventually(
    async () => countReads(),
    (reads) => reads > idleAt,
  )
  t.pass()
})

t.test('fails while the last query has failed, or the running one does not answer', async (t) => {
  let state: 'ok' | 'broken' | 'silent' = 'ok'
  const { poller } = startPoller(t, {
    read: async (readAt) => {
      if (state === 'broken') throw new Error('no connection')
      if (state === 'silent') await new Promise((resolve) => setTimeout(resolve, 200))
      return { database: 'a', value: 1, readAt }
    },
  })
  await eventually(async () => poller.latest(), Boolean)
  t.equal(poller.isFailing(1_000), false)
  state = 'broken'
  await eventually(async () => poller.isFailing(1_000), Boolean)
  t.equal(await poller.readIfOlderThan(0), null)
  t.match(poller.latest(), { value: 1 }, 'it still knows what it read last')
  state = 'silent'
  await eventually(async () => !poller.isFailing(1_000), Boolean)
  await eventually(async () => poller.isFailing(20), Boolean)
})
