// Plays hundreds of random histories. HISTORIES sets how many (200), HISTORY_SEED the first seed
// (by default a new one each time).
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { startCluster } from '../history/cluster.ts'
import { playHistory } from '../history/play-history.ts'

const count = Number(process.env.HISTORIES || 200)
const firstSeed = Number(process.env.HISTORY_SEED || 1 + Math.floor(Math.random() * 1_000_000))
const steps = 200
const timeoutMsPerHistory = 120_000

t.setTimeout(count * timeoutMsPerHistory)
t.test(`every response of ${count} histories from seed ${firstSeed} is correct`, async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'tqs-history-'))
  await chmod(directory, 0o755)
  const cluster = await startCluster(directory)
  t.teardown(async () => {
    await cluster.stop()
    await rm(directory, { recursive: true, force: true })
  })
  for (let seed = firstSeed; seed < firstSeed + count; seed++) {
    const { violations, eventLog } = await playHistory(cluster, seed, steps)
    t.same(violations.slice(0, 10), [], `node test/history/run.ts --seed ${seed} --steps ${steps}`)
    if (violations.length > 0) t.comment(eventLog.join('\n'))
  }
})
