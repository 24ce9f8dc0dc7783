// How long the indexer waits after errors, and what it logs about them.
import t from 'tap'
import { requireTaskSuccess, TaskTimedOut } from '../../src/indexing/engine/engine-tasks.ts'
import { ErrorBackoff, firstBackoffMs, maxBackoffMs } from '../../src/indexing/error-backoff.ts'
import { LeaseLost, ServerReplaced } from '../../src/indexing/lease/indexer-lease.ts'

const stopped = AbortSignal.abort()
const disconnection = new Error('Connection terminated unexpectedly')
const minuteMs = 60_000

/** A backoff whose clock the test sets, and what it has logged. Its pauses end at once. */
function startBackoff() {
  const lines: { line: string; level: string | undefined }[] = []
  const clock = { ms: 0 }
  const log = (line: string, level?: string) => void lines.push({ line, level })
  const backoff = new ErrorBackoff(log, () => clock.ms)
  return { backoff, lines, clock, fail: (error: unknown) => backoff.wait(error, stopped) }
}

t.test('logs each cause once until everything works again', async (t) => {
  const { backoff, lines, fail } = startBackoff()
  t.notOk(backoff.isFailing)
  for (let n = 0; n < 3; n++) await fail(disconnection)
  t.ok(backoff.isFailing)
  t.same(lines, [
    {
      line: 'Indexing failed (PostgreSQL): Connection terminated unexpectedly. Trying again.',
      level: 'warn',
    },
  ])
  for (let n = 0; n < 3; n++) {
    await fail(new LeaseLost())
    await fail(disconnection)
  }
  t.equal(lines.length, 2, 'also if two causes alternate')
  backoff.reset()
  t.notOk(backoff.isFailing)
  await fail(new LeaseLost())
  t.equal(lines.length, 3)
})

t.test('a failed task is the same error as the failed task of the last attempt', async (t) => {
  const { lines, fail } = startBackoff()
  const failTask = (uid: number) => {
    try {
      requireTaskSuccess({
        uid,
        type: 'documentAdditionOrUpdate',
        indexUid: 'products',
        status: 'failed',
        error: { message: 'No space left on device.', code: 'no_space_left', type: '', link: '' },
      })
    } catch (error) {
      return fail(error)
    }
    throw new Error('The task has succeeded.')
  }
  for (const uid of [17, 18, 19]) await failTask(uid)
  t.same(lines, [
    {
      line:
        'Indexing failed (task 17): Meilisearch: documentAdditionOrUpdate of products failed: ' +
        'No space left on device. Trying again.',
      level: 'warn',
    },
  ])
  for (const uid of [20, 21]) await fail(new TaskTimedOut(uid, 1_000))
  t.equal(lines.length, 2)
})

t.test('repeats the line while the same error lasts', async (t) => {
  const { backoff, lines, clock, fail } = startBackoff()
  for (; clock.ms <= 65 * minuteMs; clock.ms += minuteMs) await fail(disconnection)
  const reminder = (minutes: number) =>
    `Indexing still fails after ${minutes} minutes (PostgreSQL): ` +
    'Connection terminated unexpectedly. Trying again.'
  t.same(
    lines.slice(1).map(({ line }) => line),
    [reminder(30), reminder(60)],
  )
  backoff.reset()
  await fail(disconnection)
  t.notMatch(lines.at(-1)?.line, 'still fails')
})

t.test('logs the stack of a bug and of its causes', async (t) => {
  const { lines, fail } = startBackoff()
  const cause = new RangeError('too far')
  const bug = new TypeError('x is not a function', { cause })
  await fail(bug)
  t.match(lines, [
    { line: /^Indexing failed: x is not a function\. Trying again\.\n/, level: 'error' },
  ])
  t.match(lines[0]?.line, 'TypeError: x is not a function\n    at ')
  t.match(lines[0]?.line, 'Caused by: RangeError: too far\n    at ')
  t.match(lines[0]?.line, 'error-backoff.test.ts')
  // A cycle of causes must not repeat for ever.
  cause.cause = bug
  await fail(new Error('another', { cause }))
  t.equal(lines.length, 2)
})

t.test('names what happened when the lease was lost', async (t) => {
  const { lines, fail } = startBackoff()
  await fail(new ServerReplaced({ cause: disconnection }))
  t.match(
    lines[0]?.line,
    /^Indexing failed: PostgreSQL was restarted or has failed over: Connection terminated /,
  )
})

t.test('waits twice as long after each error, up to a limit', async (t) => {
  const { backoff } = startBackoff()
  const signal = new AbortController().signal
  const measurePause = async () => {
    const startedMs = performance.now()
    await backoff.wait(disconnection, signal)
    return performance.now() - startedMs
  }
  // A timer may fire a millisecond early.
  t.ok((await measurePause()) >= firstBackoffMs - 1)
  t.ok((await measurePause()) >= 2 * firstBackoffMs - 1)
  t.ok((await measurePause()) >= 4 * firstBackoffMs - 1)
  t.ok((await measurePause()) >= maxBackoffMs - 1)
  t.equal(maxBackoffMs, 1_000)
})
