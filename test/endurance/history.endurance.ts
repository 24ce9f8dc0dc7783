// Plays hundreds of random histories. HISTORIES sets how many (200), HISTORY_SEED the first seed
// (by default a new one each time), HISTORY_STEPS how long each one is (200). A failing one is
// played again with HISTORIES=1 and its seed. HISTORY_RESTORE=1 puts the database back in each one.
import t from 'tap'
import { startCluster } from '../history/cluster.ts'
import { playHistory } from '../history/play-history.ts'

const count = Number(process.env.HISTORIES || 200)
const firstSeed = Number(process.env.HISTORY_SEED || 1 + Math.floor(Math.random() * 1_000_000))
const steps = Number(process.env.HISTORY_STEPS || 200)
const restoresDatabase = process.env.HISTORY_RESTORE === '1'
const timeoutMsPerHistory = 120_000
const printedLogCharacters = 3_000

t.setTimeout(count * timeoutMsPerHistory)
t.test(`every response of ${count} histories from seed ${firstSeed} is correct`, async (t) => {
  const cluster = await startCluster(t)
  for (let seed = firstSeed; seed < firstSeed + count; seed++) {
    const { violations, eventLog } = await playHistory(cluster, seed, steps, { restoresDatabase })
    t.same(violations.slice(0, 10), [], `seed ${seed}`)
    if (violations.length === 0) continue
    t.comment(eventLog.join('\n'))
    for (const [name, log] of Object.entries(cluster.readLogs(printedLogCharacters)))
      t.comment(`--- ${name}\n${log}`)
  }
})
