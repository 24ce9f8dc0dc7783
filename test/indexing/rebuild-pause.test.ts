// What prevents endless rebuilds: settings are compared without further defaults, and a rebuild
// that does not help is not repeated at once.
import { mock } from 'node:test'
import t from 'tap'
import { requestRebuild } from '../../src/indexing/index-status.ts'
import { RebuildPause } from '../../src/indexing/rebuild/rebuild-pause.ts'
import { isPartOf } from '../../src/indexing/rebuild/rebuild-reason.ts'
import { registerEngine } from '../../src/indexing/register-engine.ts'
import { testDatabase } from '../support/test-service.ts'

t.test('further members with defaults are no difference', async (t) => {
  const expected = { typo: { enabled: true, sizes: { one: 4 } }, rules: ['words', 'typo'] }
  t.ok(isPartOf(expected, structuredClone(expected)))
  t.ok(isPartOf(expected, { ...expected, typo: { ...expected.typo, newDefault: null }, more: 1 }))
  t.notOk(isPartOf(expected, { ...expected, rules: ['words'] }))
  t.notOk(isPartOf(expected, { ...expected, rules: ['words', 'typo', 'more'] }))
  t.notOk(isPartOf(expected, { ...expected, typo: { enabled: true, sizes: {} } }))
  t.notOk(isPartOf(expected, {}))
})

t.test('a rebuild is not repeated at once for a reason that it did not remove', async (t) => {
  const lines: string[] = []
  const pause = new RebuildPause((line) => lines.push(line))
  t.ok(pause.mayRebuild('settings_changed'))
  for (let n = 0; n < 20; n++) t.notOk(pause.mayRebuild('settings_changed'))
  t.equal(lines.length, 1, 'logged once')
  t.ok(pause.mayRebuild('rebuild_requested'), 'a request is always followed')
  t.ok(pause.mayRebuild('engine_restored'))
  t.ok(pause.mayRebuild('count_mismatch'), 'another reason')
})

t.test('a request for a rebuild has the clock of the database', async (t) => {
  const { db } = await testDatabase(t)
  await registerEngine(db, 'main')
  // The clock of the caller is ahead.
  mock.timers.enable({ apis: ['Date'], now: Date.now() + 20_000 })
  await requestRebuild(db, 'main').finally(() => mock.timers.reset())
  const { isPast } = await db
    .selectFrom('search_engines')
    .select((eb) => eb('rebuild_asked_at', '<=', eb.fn<Date>('now')).as('isPast'))
    .executeTakeFirstOrThrow()
  t.ok(isPast)
})
