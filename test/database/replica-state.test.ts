// Which replica may be read, by what is known about it and the primary.
import t from 'tap'
import { PrimaryHistory, type PrimaryState } from '../../src/database/replica/primary-history.ts'
import { type ReplicaState, replicaStatusOf } from '../../src/database/replica/replica-state.ts'

t.test('a replica is judged by its database, timeline and position', async (t) => {
  const primary = (readAt: number, position: number, timeline = 1): PrimaryState => ({
    databaseId: 'a',
    timeline,
    position,
    version: { generation: 'g', changeCount: position },
    readAt,
  })
  const history = new PrimaryHistory()
  const state = (changes: Partial<ReplicaState>): ReplicaState => ({
    ...{ databaseId: 'a', timeline: 1, position: 100, isInRecovery: true, readAt: 10_000 },
    ...changes,
  })
  const statusOf = (changes: Partial<ReplicaState>, earlier: ReplicaState | null = null) =>
    replicaStatusOf(state(changes), earlier, history)
  t.equal(statusOf({}), 'unknown')
  history.add(primary(1_000, 50))
  history.add(primary(2_500, 90))
  history.add(primary(3_000, 100))
  t.equal(statusOf({}), 'up')
  t.equal(statusOf({ position: 95 }), 'up', 'half a second')
  t.equal(statusOf({ position: 60 }), 'behind', 'two seconds')
  t.equal(statusOf({ position: 10 }), 'behind')
  t.equal(statusOf({ isInRecovery: false }), 'promoted')
  t.equal(statusOf({ databaseId: 'b' }), 'other database')
  t.equal(statusOf({ timeline: 2 }), 'other timeline')
  t.equal(statusOf({ position: 110, readAt: 2_000 }), 'ahead')
  t.equal(statusOf({}, state({ position: 110, readAt: 2_000 })), 'ahead')
  t.equal(statusOf({ position: 110 }), 'up', 'the state of the primary is older')

  history.recordCachedPosition(98)
  t.notOk(history.includesCachedPositions(state({ position: 95 })))
  t.ok(history.includesCachedPositions(state({})))
  history.add(primary(4_000, 70, 2))
  t.equal(statusOf({}), 'other timeline', 'after a failover')
  t.equal(statusOf({ timeline: 2 }), 'up')
  t.equal(history.latestContainedIn(state({})), undefined, 'the lost timeline is forgotten')
  t.ok(history.includesCachedPositions(state({ timeline: 2, position: 70 })))
})
