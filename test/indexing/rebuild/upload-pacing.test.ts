// How much of a rebuild is uploaded at once, with and without changes meanwhile.
import t from 'tap'
import { quietPeriodMs, UploadPacing } from '../../../src/indexing/rebuild/upload-pacing.ts'

const quietMs = quietPeriodMs + 1
const nothing = { uploads: 0, documents: 0, bytes: 0 }
const few = { uploads: 1, documents: 2_500, bytes: 1_000 }
const many = { uploads: 1, documents: 2_501, bytes: 1_000 }

/** A pacing whose clock the test sets. */
function startPacing() {
  const clock = { ms: 0 }
  return { clock, pacing: new UploadPacing(() => clock.ms) }
}

t.test('without changes, large uploads fill the queue up to 512 MB', async (t) => {
  const { pacing } = startPacing()
  t.equal(pacing.chooseUploadSize(), 20_000)
  t.ok(pacing.hasCapacity({ uploads: 100, documents: 2_000_000, bytes: 511_999_999 }))
  t.notOk(pacing.hasCapacity({ uploads: 100, documents: 2_000_000, bytes: 512_000_000 }))
})

t.test('after a change, one upload at a time takes 2.5 s at the measured rate', async (t) => {
  const { pacing } = startPacing()
  pacing.handleChange(nothing, { isUrgent: false })
  t.equal(pacing.chooseUploadSize(), 2_500, 'the initial rate is 1,000 documents a second')
  pacing.noteThroughput(4_000, 2_000)
  t.equal(pacing.chooseUploadSize(), 5_000)
  pacing.noteThroughput(1, 1_000)
  t.equal(pacing.chooseUploadSize(), 2_500, 'not fewer')
  pacing.noteThroughput(1_000_000, 1_000)
  t.equal(pacing.chooseUploadSize(), 20_000, 'not more')
  t.ok(pacing.hasCapacity(nothing))
  t.notOk(pacing.hasCapacity(few), 'a second one must wait')
})

t.test('after a quiet time, as much is queued as the engine processes in it', async (t) => {
  const { pacing, clock } = startPacing()
  pacing.noteThroughput(2_000, 1_000)
  pacing.handleChange(nothing, { isUrgent: false })
  clock.ms += quietMs - 1
  t.notOk(pacing.hasCapacity(few), 'the quiet time is not over')
  clock.ms += 1
  t.equal(pacing.chooseUploadSize(), 20_000)
  t.ok(pacing.hasCapacity({ ...few, documents: 20_000 }))
  t.notOk(pacing.hasCapacity({ ...few, documents: 20_003 }))
  clock.ms += quietMs
  t.ok(pacing.hasCapacity({ ...few, documents: 40_000 }), 'twice as much in twice the time')
})

t.test('a change cancels many queued documents, and few only if it has waited', async (t) => {
  const { pacing, clock } = startPacing()
  t.equal(pacing.handleChange(few, { isUrgent: false }), 'keep_queued')
  clock.ms += quietMs
  t.equal(pacing.handleChange(many, { isUrgent: false }), 'cancel_queued', 'the first change')
  t.equal(
    pacing.handleChange(many, { isUrgent: false }),
    'keep_queued',
    'the upload was made for changes',
  )
  t.equal(pacing.handleChange(few, { isUrgent: true }), 'keep_queued', 'it ends soon')
  t.equal(
    pacing.handleChange(many, { isUrgent: true }),
    'cancel_queued',
    'the change has waited too long',
  )
})

t.test('a cancellation lowers the assumed rate', async (t) => {
  const { pacing, clock } = startPacing()
  pacing.noteThroughput(8_000, 1_000)
  t.equal(pacing.handleChange(many, { isUrgent: false }), 'cancel_queued')
  t.equal(pacing.chooseUploadSize(), 2_500, 'after a quiet time: the initial rate')
  pacing.noteThroughput(4_000, 1_000)
  t.equal(pacing.chooseUploadSize(), 10_000)
  clock.ms += 1
  t.equal(pacing.handleChange(many, { isUrgent: true }), 'cancel_queued')
  t.equal(pacing.chooseUploadSize(), 5_000, 'otherwise: half of it')
})
