// A task that is repeated in the background: it goes on after a failure, until it is stopped.
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { repeatInBackground } from '../../../src/stats/summary/repeated-task.ts'
import { eventually } from '../../support/eventually.ts'

t.test('a task that fails is reported and runs again', async (t) => {
  const failures: unknown[] = []
  let runs = 0
  const task = repeatInBackground({
    pauseMs: 1,
    async run() {
      runs += 1
      if (runs === 1) throw new Error('failed')
      return 1
    },
    reportFailure: (error) => failures.push(error),
  })
  await eventually(
    async () => runs,
    (count) => count > 2,
  )
  await task.stop()
  t.match(failures, [{ message: 'failed' }])
  const runsBefore = runs
  await sleep(20)
  t.equal(runs, runsBefore, 'not after it was stopped')
})

t.test('stop waits for the current run', async (t) => {
  const { promise: isAllowedToEnd, resolve: end } = Promise.withResolvers<void>()
  let hasBegun = false
  const task = repeatInBackground({
    pauseMs: 1,
    async run() {
      hasBegun = true
      await isAllowedToEnd
      return 1
    },
    reportFailure: (error) => t.fail(String(error)),
  })
  await eventually(async () => hasBegun, Boolean)
  let isStopped = false
  const stopping = task.stop().then(() => {
    isStopped = true
  })
  await sleep(20)
  t.notOk(isStopped)
  end()
  await stopping
})
