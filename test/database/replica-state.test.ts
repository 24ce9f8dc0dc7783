// Which replica may be read, by what is known about it and the primary.
import t from 'tap'
import { PrimaryHistory, type PrimaryReading } from '../../src/database/replica/primary-history.ts'
import { judgeReplica, type ReplicaState } from '../../src/database/replica/replica-state.ts'

t.test('a replica is judged by its database, timeline and position', async (t) => {
  const reading = (readAt: number, position: number, timeline = 1): PrimaryReading => ({
    databaseId: 'a',
    timeline,
    position,
    version: { generation: 'g', changes: position },
    readAt,
  })
  const history = new PrimaryHistory()
  const state = (changes: Partial<ReplicaState>): ReplicaState => ({
    ...{ databaseId: 'a', timeline: 1, position: 100, isInRecovery: true, readAt: 10_000 },
    ...changes,
  })
  const judge = (changes: Partial<ReplicaState>, earlier: ReplicaState | null = null) =>
    judgeReplica(state(changes), earlier, history)
  t.equal(judge({}), 'unknown')
  history.add(reading(1_000, 50))
  history.add(reading(2_500, 90))
  history.add(reading(3_000, 100))
  t.equal(judge({}), 'up')
  t.equal(judge({ position: 95 }), 'up', 'half a second')
  t.equal(judge({ position: 60 }), 'behind', 'two seconds')
  t.equal(judge({ position: 10 }), 'behind')
  t.equal(judge({ isInRecovery: false }), 'promoted')
  t.equal(judge({ databaseId: 'b' }), 'other database')
  t.equal(judge({ timeline: 2 }), 'other timeline')
  t.equal(judge({ position: 110, readAt: 2_000 }), 'ahead')
  t.equal(judge({}, state({ position: 110, readAt: 2_000 })), 'ahead')
  t.equal(judge({ position: 110 }), 'up', 'the reading is older than the state')

  history.recordSentPosition(98)
  t.notOk(history.includesSentPositions(state({ position: 95 })))
  t.ok(history.includesSentPositions(state({})))
  history.add(reading(4_000, 70, 2))
  t.equal(judge({}), 'other timeline', 'after a failover')
  t.equal(judge({ timeline: 2 }), 'up')
  t.equal(history.latestContainedIn(state({})), undefined, 'the lost timeline is forgotten')
  t.ok(history.includesSentPositions(state({ timeline: 2, position: 70 })))
})
